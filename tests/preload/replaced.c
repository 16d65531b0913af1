/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * replaced: a thread writes without end to a connection, whose number another
 * thread gives to something else by dup2(), as virtual machines end a write.
 *
 *   replaced ROUNDS
 *
 * What the late writer still has to say must not turn up in the connection
 * that is made next, to which nobody writes.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define MOST 16 /* connections at a time */

/* ---- the server: every second connection is a silent one ---- */

struct guest {
	int fd;
	bool silent;
};

static bool hear(const struct guest *g)
{
	char bytes[4096];
	ssize_t n = recv(g->fd, bytes, sizeof(bytes), 0);

	check(n <= 0 || !g->silent, "a byte of another connection");
	return n > 0;
}

static void serve(int listener, int count)
{
	struct pollfd p[MOST + 1] = {{.fd = listener, .events = POLLIN}};
	struct guest guests[MOST];
	int n = 0, met = 0;

	while (met < count || n > 0) {
		p[0].events = met < count && n < MOST ? POLLIN : 0;
		check(poll(p, (nfds_t)n + 1, -1) > 0, "poll");
		for (int i = n; i > 0; i--) {
			if (!p[i].revents || hear(&guests[i - 1]))
				continue;
			close(guests[i - 1].fd);
			guests[i - 1] = guests[--n];
			p[i].fd = p[n + 1].fd;
		}
		if (p[0].revents) {
			guests[n].fd = accept(listener, NULL, NULL);
			check(guests[n].fd >= 0, "accept");
			guests[n].silent = met++ % 2;
			n++;
			p[n].fd = guests[n - 1].fd;
			p[n].events = POLLIN;
			p[n].revents = 0;
		}
	}
}

/* ---- the client ---- */

struct writer {
	int fd;
	_Atomic bool writes;
};

static void *write_for_ever(void *argument)
{
	struct writer *w = argument;

	while (write(w->fd, "A", 1) == 1)
		atomic_store(&w->writes, true);
	return NULL;
}

static void play(int port, int marker, uint64_t *state)
{
	struct writer w = {.fd = helper_connect(port)};
	pthread_t thread;
	int silent;

	check(!pthread_create(&thread, NULL, write_for_ever, &w), "a thread");
	while (!atomic_load(&w.writes))
		sched_yield();
	nap_us((long)dice(state, 500));
	check(dup2(marker, w.fd) == w.fd, "dup2");
	silent = helper_connect(port);
	nap_us(2000);
	close(silent);
	check(!pthread_join(thread, NULL), "the writer");
	close(w.fd);
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	int port, status, listener = helper_listen(&port);
	uint64_t state = 1;
	int marker[2];
	pid_t server;

	check(rounds > 0, "replaced ROUNDS");
	watchdog_start(20);
	signal(SIGPIPE, SIG_IGN);
	server = fork();
	check(server >= 0, "fork");
	if (server == 0) {
		serve(listener, 2 * rounds);
		_exit(0);
	}
	close(listener);
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, marker), "socketpair");
	close(marker[1]);
	for (int i = 0; i < rounds; i++) {
		play(port, marker[0], &state);
		progress();
	}
	check(waitpid(server, &status, 0) == server && !status, "the server");
	puts("well");
	return 0;
}
