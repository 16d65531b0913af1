/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control: the command's side of the conversation with the core.
 */
#include "ofed_core/base/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ofed_core/base/ofed_rundir.h"

int control_open(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int rc = ofed_rundir_path_of(a.sun_path, sizeof(a.sun_path), name,
				     "control");
	int fd;

	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		rc = -errno;
	else if (!ofed_rundir_has_core(fd))
		rc = -EPERM;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

static int send_line(int fd, const char *request)
{
	char line[CONTROL_LINE_BYTES];
	int n = snprintf(line, sizeof(line), "%s\n", request);
	size_t done = 0;

	if (n < 0 || (size_t)n >= sizeof(line) || strchr(request, '\n'))
		return -EINVAL;
	while (done < (size_t)n) {
		ssize_t k =
		    send(fd, line + done, (size_t)n - done, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		done += (size_t)k;
	}
	return 0;
}

/* One byte at a time: no byte of the next answer may be taken. */
static int receive_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		ssize_t k = recv(fd, line + n, 1, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			return -EPIPE;
		if (line[n] == '\n')
			break;
		if (++n == size)
			return -EPROTO;
	}
	line[n] = '\0';
	return 0;
}

static int refused(const char *text, char *error, size_t error_bytes)
{
	char *words;
	long code = strtol(text, &words, 10);

	if (code <= 0 || code > 4095)
		return -EPROTO;
	if (error && error_bytes)
		snprintf(error, error_bytes, "%s", *words ? words + 1 : words);
	return (int)-code;
}

int control_call(int fd, const char *request,
		 void (*line)(void *owner, const char *text), void *owner,
		 char *error, size_t error_bytes)
{
	char text[CONTROL_LINE_BYTES];
	int rc = send_line(fd, request);

	if (error && error_bytes)
		*error = '\0';
	/* A core that refuses the connection has said why. */
	if (rc == -EPIPE)
		rc = 0;
	while (rc == 0) {
		rc = receive_line(fd, text, sizeof(text));
		if (rc < 0)
			return rc;
		if (*text == '=') {
			if (line)
				line(owner, text + 1);
			continue;
		}
		if (strcmp(text, "ok") == 0)
			return 0;
		if (strncmp(text, "error ", 6) == 0)
			return refused(text + 6, error, error_bytes);
		return -EPROTO;
	}
	return rc;
}

int control_wait_gone(int fd)
{
	char byte;
	ssize_t n;

	do
		n = recv(fd, &byte, 1, 0);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno != ECONNRESET ? -errno : 0;
}
