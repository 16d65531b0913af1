/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * first: what the first connection of a process costs, from exec to exit.
 *
 * The client starts itself again and again, in turn as a process that makes one
 * connection and as one that makes no socket; the difference of two that follow
 * each other is one round. "first once PORT" and "first none" are these
 * processes.
 */
#include <arpa/inet.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/line.h"

#define BYTES      64
#define ROUNDS_MAX 100000u
#define QUIT       'q'

static double extra_ns[ROUNDS_MAX], once_ns[ROUNDS_MAX], none_ns[ROUNDS_MAX];
static unsigned rounds;

/* ---- the processes that are measured ---- */

static int once(const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)atoi(port)),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	char m[BYTES] = "m";
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return 1;
	if (write(fd, m, sizeof(m)) != (ssize_t)sizeof(m))
		return 2;
	return read(fd, m, sizeof(m)) > 0 ? 0 : 3;
}

/* ---- the ends ---- */

static void serve(struct trial *t)
{
	int listener = line_listen_fd(t);
	char m[BYTES] = "";

	trial_ready(t);
	while (m[0] != QUIT) {
		struct line l = {.fd = line_accept_fd(t, listener),
				 .epoll_fd = -1};

		char end;

		if (!line_receive(&l, m, sizeof(m)))
			measure_fail("the client closed too early");
		line_send(&l, m, sizeof(m));
		if (line_receive_some(&l, &end, 1))
			measure_fail("bytes that nobody sent");
		line_close(&l);
	}
	line_listen_end(t, listener);
}

static double run(const char *how, const char *port)
{
	char name[] = "first";
	char *argv[] = {name, (char *)(uintptr_t)how, (char *)(uintptr_t)port,
			NULL};
	uint64_t begin = measure_now_ns();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		measure_fail("a process that was started failed");
	return (double)(measure_now_ns() - begin);
}

static void ask(struct trial *t)
{
	uint64_t begin = measure_now_ns();
	struct line l;
	char m[BYTES] = {QUIT};
	char port[12];

	snprintf(port, sizeof(port), "%u", t->port);
	run("none", port);
	run("once", port);
	while (measure_now_ns() - begin < trial_length_ns(t) &&
	       rounds < ROUNDS_MAX) {
		none_ns[rounds] = run("none", port);
		once_ns[rounds] = run("once", port);
		extra_ns[rounds] = once_ns[rounds] - none_ns[rounds];
		rounds++;
	}
	l = (struct line){.fd = line_connect_fd(t), .epoll_fd = -1};
	line_send(&l, m, sizeof(m));
	if (!line_receive(&l, m, sizeof(m)))
		measure_fail("the server closed too early");
	line_close(&l);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_us(double *ns)
{
	qsort(ns, rounds, sizeof(*ns), compare);
	return ns[rounds / 2] / 1000;
}

int main(int argc, char **argv)
{
	struct trial t;

	if (argc == 3 && strcmp(argv[1], "once") == 0)
		return once(argv[2]);
	if (argc == 3 && strcmp(argv[1], "none") == 0)
		return 0;
	trial_options(&t, argc, argv, "CStp",
		      "a process with one connection beside one without");
	trial_run(&t, serve, ask);
	printf("extra_us=%.1f once_us=%.1f none_us=%.1f rounds=%u\n",
	       median_us(extra_ns), median_us(once_ns), median_us(none_ns),
	       rounds);
	return 0;
}
