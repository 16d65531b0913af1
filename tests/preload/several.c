/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * several: two that wait for the bytes of one connection, each in its own way,
 * and take one byte at a time. What one of them leaves the other is told of.
 *
 *   several processes|threads HOW HOW ROUNDS
 *
 * HOW: recv, timeout (SO_RCVTIMEO), poll, select, level (epoll), edge (epoll).
 * In a round both wait; then two bytes come at once, or one and, when that was
 * taken by either, another one. The one that has taken a byte makes no call
 * meanwhile.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define PATIENCE_MS 8000
#define SETTLE_US   3000

/* ---- one that waits ---- */

struct actor {
	const char *how;
	int fd;
	int instance;   /* of epoll */
	int orders[2];  /* a byte: take one */
	int answers[2]; /* a byte: it was taken */
};

static void watch(struct actor *a, uint32_t events)
{
	struct epoll_event e = {.events = events};

	a->instance = epoll_create1(0);
	check(!epoll_ctl(a->instance, EPOLL_CTL_ADD, a->fd, &e), "epoll_ctl");
}

static void begin(struct actor *a)
{
	struct timeval t = {PATIENCE_MS / 1000, 0};

	if (!strcmp(a->how, "level"))
		watch(a, EPOLLIN);
	if (!strcmp(a->how, "edge"))
		watch(a, EPOLLIN | EPOLLET);
	if (!strcmp(a->how, "timeout"))
		check(
		    !setsockopt(a->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)),
		    "SO_RCVTIMEO");
}

static void wait_for_bytes(const struct actor *a)
{
	struct pollfd p = {a->fd, POLLIN, 0};
	struct epoll_event e;
	fd_set in;

	if (!strcmp(a->how, "poll")) {
		check(poll(&p, 1, -1) == 1, "poll");
	} else if (!strcmp(a->how, "select")) {
		FD_ZERO(&in);
		FD_SET(a->fd, &in);
		check(select(a->fd + 1, &in, NULL, NULL, NULL) == 1, "select");
	} else {
		check(epoll_wait(a->instance, &e, 1, -1) == 1, "epoll_wait");
	}
}

static void take_one(const struct actor *a)
{
	bool sleeps = !strcmp(a->how, "recv") || !strcmp(a->how, "timeout");
	ssize_t n;
	char byte;

	do {
		if (!sleeps)
			wait_for_bytes(a);
		n = recv(a->fd, &byte, 1, sleeps ? 0 : MSG_DONTWAIT);
		/* The other one was first. */
	} while (n < 0 && errno == EAGAIN && !sleeps);
	check(n == 1, "recv");
}

static void *act(void *argument)
{
	struct actor *a = argument;
	char byte;

	begin(a);
	while (read(a->orders[0], &byte, 1) == 1) {
		take_one(a);
		check(write(a->answers[1], &byte, 1) == 1, "answer");
	}
	return NULL;
}

/* ---- the end that has both ---- */

static void host_processes(struct actor a[2])
{
	int status;
	pid_t pid = fork();

	/* With these open neither would hear the end of its orders. */
	close(a[0].orders[1]);
	close(a[1].orders[1]);
	act(&a[pid ? 0 : 1]);
	if (!pid)
		_exit(0);
	check(waitpid(pid, &status, 0) == pid && !status, "the child");
}

static void host_threads(struct actor a[2])
{
	pthread_t thread;

	close(a[0].orders[1]);
	close(a[1].orders[1]);
	check(!pthread_create(&thread, NULL, act, &a[1]), "thread");
	act(&a[0]);
	check(!pthread_join(thread, NULL), "join");
}

static pid_t start_host(struct actor a[2], int port, bool threads)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	a[0].fd = a[1].fd = helper_connect(port);
	/* Before the fork the handshake is over. */
	send_all(a[0].fd, "x", 1);
	check(recv_all(a[0].fd, &byte, 1) == 1, "the first byte");
	if (threads)
		host_threads(a);
	else
		host_processes(a);
	_exit(0);
}

/* ---- the peer, which gives the orders ---- */

static void order(const struct actor *a)
{
	check(write(a->orders[1], "", 1) == 1, "order");
}

/* Which of these has taken its byte. */
static int await_any(const struct actor a[2], bool first, bool second)
{
	struct pollfd p[2] = {{first ? a[0].answers[0] : -1, POLLIN, 0},
			      {second ? a[1].answers[0] : -1, POLLIN, 0}};
	char byte;
	int who;

	check(poll(p, 2, PATIENCE_MS) > 0, "a byte is there, nobody takes it");
	who = p[0].revents ? 0 : 1;
	check(read(a[who].answers[0], &byte, 1) == 1, "answer");
	return who;
}

static void play_round(const struct actor a[2], int fd, bool at_once)
{
	int who;

	order(&a[0]);
	order(&a[1]);
	nap_us(SETTLE_US);
	send_all(fd, "ab", at_once ? 2 : 1);
	who = await_any(a, true, true);
	if (!at_once) {
		nap_us(SETTLE_US);
		send_all(fd, "b", 1);
	}
	await_any(a, who != 0, who != 1);
	progress();
}

int main(int argc, char **argv)
{
	struct actor a[2];
	int port, listener, fd, status;
	pid_t host;
	char byte;

	if (argc != 5)
		return 2;
	watchdog_start(20);
	listener = helper_listen(&port);
	for (int i = 0; i < 2; i++) {
		a[i] = (struct actor){.how = argv[2 + i], .instance = -1};
		check(!pipe(a[i].orders) && !pipe(a[i].answers), "pipe");
	}
	host = start_host(a, port, !strcmp(argv[1], "threads"));
	fd = accept(listener, NULL, NULL);
	check(recv_all(fd, &byte, 1) == 1, "the first byte");
	send_all(fd, &byte, 1);
	for (int i = 0; i < atoi(argv[4]); i++)
		play_round(a, fd, i % 2);
	close(a[0].orders[1]);
	close(a[1].orders[1]);
	check(waitpid(host, &status, 0) == host && !status, "the other end");
	return 0;
}
