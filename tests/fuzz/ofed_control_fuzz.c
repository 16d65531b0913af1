/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_control_fuzz: any bytes as what somebody says to the RDMA core in the
 * place of ofedctrl. Each line gets one answer of the form in control.h.
 *
 * Input: how many bytes more than an eighth are said at once, then all of them.
 */
#include "ofed_core/service/control_server.h"

#include <sys/ioctl.h>

#include "ofed_core/base/control.h"
#include "tests/fuzz/core_place.h"

#define SAID_MAX   1024
#define PIECES_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct source *listener;

static void start(void)
{
	core_place_make();
	must(control_listen() == 0 && idle_worker.last);
	listener = idle_worker.last;
}

/* Reads what was answered; how many requests that were. */
static unsigned read_answers(int fd)
{
	static char text[1 << 18];
	unsigned answers = 0;
	char *next = text, *line;
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	must(n < (ssize_t)sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&next, "\n")) && next) {
		must(strlen(line) < CONTROL_LINE_BYTES);
		if (*line == '=')
			continue;
		must(strcmp(line, "ok") == 0 ||
		     (strncmp(line, "error ", 6) == 0 && line[6] >= '1' &&
		      line[6] <= '9'));
		answers++;
	}
	must(!line || !*line);
	return answers;
}

static bool has_more(const struct source *s)
{
	int bytes = 0;

	must(ioctl(s->fd, FIONREAD, &bytes) == 0);
	return bytes > 0;
}

/* Says it all; how many lines were answered. */
static unsigned say(int fd, const uint8_t *data, size_t size, size_t piece)
{
	unsigned answers = 0;

	while (size && idle_worker.last) {
		size_t n = piece < size ? piece : size;

		must(send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n);
		do
			idle_worker.last->ready(idle_worker.last, 0);
		while (idle_worker.last && has_more(idle_worker.last));
		answers += read_answers(fd);
		data += n;
		size -= n;
	}
	return answers;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned lines = 0, answers;
	int fd;

	if (!listener)
		start();
	if (size == 0 || size > SAID_MAX)
		return 0;
	log_level_set(-1);
	fd = core_place_connect(listener, "control", SOCK_STREAM);
	answers = say(fd, data + 1, size - 1, data[0] + 1 + size / PIECES_MAX);
	for (size_t i = 1; i < size; i++)
		lines += data[i] == '\n';
	/* After too long a line nothing is heard any more. */
	must(idle_worker.last ? answers == lines : answers <= lines);
	close(fd);
	if (idle_worker.last)
		idle_worker.last->ready(idle_worker.last, 0);
	must(!idle_worker.last);
	return 0;
}
