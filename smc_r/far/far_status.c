/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* far_status: a command's end of the question. */
#include "smc_r/far/far_status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "smc_r/status/printable.h"

#define ANSWER_MS 1000

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* The run directory's path may be longer than an address. */
static int connect_to(int fd, int directory)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	unsigned long long cookie = 0;
	socklen_t n = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &n) < 0)
		return -errno;
	snprintf(a.sun_path, sizeof(a.sun_path),
		 "/proc/self/fd/%d/" FAR_SOCKET "%llu", directory, cookie);
	return connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno
								       : 0;
}

int far_status_connect(const char *rundir)
{
	int directory = open(rundir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error, fd;

	if (directory < 0)
		return -errno;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	error = fd < 0 ? -errno : connect_to(fd, directory);
	close(directory);
	if (!error)
		return fd;
	if (fd >= 0)
		close(fd);
	return error;
}

int far_status_check(struct far_status *s, size_t bytes)
{
	if (bytes < far_status_bytes(0) || s->magic != FAR_MAGIC ||
	    s->version != FAR_VERSION || s->ports > FAR_PORTS_MAX ||
	    s->groups > FAR_GROUPS_MAX || s->groups > s->groups_all ||
	    bytes != far_status_bytes(s->groups))
		return -EPROTO;
	memset(&s->port[s->ports], 0,
	       (FAR_PORTS_MAX - s->ports) * sizeof(s->port[0]));
	memset((char *)s + bytes, 0, sizeof(*s) - bytes);
	for (uint32_t i = 0; i < s->ports; i++) {
		printable_make(s->port[i].device, sizeof(s->port[i].device));
		printable_make(s->port[i].interface,
			       sizeof(s->port[i].interface));
	}
	for (uint32_t i = 0; i < s->groups; i++)
		printable_make(s->group[i].interface,
			       sizeof(s->group[i].interface));
	return s->refused ? -EPERM : 0;
}

int far_status_ask(int channel, enum far_kind kind, struct far_status *out)
{
	const struct far_hello hello = {
	    .magic = FAR_MAGIC, .version = FAR_VERSION, .kind = kind};
	struct pollfd p = {.fd = channel, .events = POLLIN};
	ssize_t n;

	if (send(channel, &hello, sizeof(hello), MSG_NOSIGNAL) < 0)
		return -errno;
	if (poll(&p, 1, ANSWER_MS) != 1)
		return -ETIMEDOUT;
	n = recv(channel, out, sizeof(*out), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return -errno;
	return far_status_check(out, (size_t)n);
}
