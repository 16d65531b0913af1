/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * silent: a member of an epoll instance that reports nothing, however much
 * comes for it, beside one that is asked now and then. Rings for the first must
 * not take the wake-up of the second; one that is lost stops the game for good,
 * and the watchdog says so.
 *
 *   silent WAY KIND MEMBERS ROUNDS SEED
 *
 * WAY, how the server sleeps: "wait" in the instance itself, "poll" and
 * "select" on its descriptor. KIND, why the member reports nothing: "none" of
 * its events is asked for, its EPOLLONESHOT is "spent", it was taken "out".
 * Pauses between questions are long, so that the bells of the first fill up and
 * are emptied before the server sleeps.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "socket_helpers.h"

#define TOKEN         64
#define MEMBERS_MAX   128
#define STILL_SECONDS 6
#define PAUSE_US      4000
#define GAP_NS        20000

enum way {
	WAIT,
	POLL,
	SELECT,
	WAYS
};

enum kind {
	NONE,
	SPENT,
	OUT,
	KINDS
};

static const char *const way_names[WAYS] = {"wait", "poll", "select"};
static const char *const kind_names[KINDS] = {"none", "spent", "out"};

static struct silent {
	enum way way;
	enum kind kind;
	int members, rounds;
	uint64_t seed;
	int fds[MEMBERS_MAX];
} game;

/* The last two, which are far from the first where there are many. */
static int flooded_fd(void)
{
	return game.fds[game.members - 2];
}

static int asked_fd(void)
{
	return game.fds[game.members - 1];
}

static void start(void *(*body)(void *))
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, body, NULL), "thread");
}

/* A byte each way: what becomes of the connection is decided then. */
static void begin(int fd, bool starts)
{
	char c = 0;
	int on = 1;

	check(fd >= 0, "a connection");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (starts)
		send_all(fd, &c, 1);
	check(recv_all(fd, &c, 1) == 1, "a byte");
	if (!starts)
		send_all(fd, &c, 1);
}

/* ---- the server ---- */

static void control(int epoll, int op, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = fd};

	check(!epoll_ctl(epoll, op, fd, &e), "epoll_ctl");
}

/* -1: nothing was there. */
static int wait_for_one(int epoll, int ms)
{
	struct epoll_event e;
	int n = epoll_wait(epoll, &e, 1, ms);

	check(n >= 0 || errno == EINTR, "epoll_wait");
	return n == 1 ? e.data.fd : -1;
}

static void add_silent(int epoll, int fd)
{
	switch (game.kind) {
	case NONE:
		control(epoll, EPOLL_CTL_ADD, fd, 0);
		break;
	case SPENT:
		control(epoll, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT);
		check(wait_for_one(epoll, -1) == fd, "the one shot");
		break;
	case OUT:
		control(epoll, EPOLL_CTL_ADD, fd, EPOLLIN);
		control(epoll, EPOLL_CTL_DEL, fd, 0);
		break;
	case KINDS:
		break;
	}
}

/* Makes room; nobody sleeps in a call on the connection. */
static void *drain(void *unused)
{
	char bytes[4096];

	for (;;) {
		while (recv(flooded_fd(), bytes, sizeof(bytes), MSG_DONTWAIT) >
		       0)
			;
		nap_us(2000);
	}
	return unused;
}

static void answer(int fd)
{
	char token[TOKEN];
	ssize_t n;

	check(fd == asked_fd(), "an event of one that was not asked");
	n = recv(fd, token, TOKEN, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	/* A client that has gone may show as a reset. */
	if (n <= 0)
		_exit(0);
	check(n == TOKEN, "half a token");
	send_all(fd, token, TOKEN);
}

/* Sleeps from outside until the instance tells something. */
static void sleep_outside(int epoll)
{
	struct pollfd p = {epoll, POLLIN, 0};
	fd_set set;

	if (game.way == POLL) {
		poll(&p, 1, -1);
	} else {
		FD_ZERO(&set);
		FD_SET(epoll, &set);
		select(epoll + 1, &set, NULL, NULL, NULL);
	}
}

_Noreturn static void server(int listener)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int fd;

	for (int i = 0; i < game.members; i++) {
		game.fds[i] = accept(listener, NULL, NULL);
		begin(game.fds[i], false);
	}
	add_silent(epoll, flooded_fd());
	for (int i = 0; i < game.members; i++)
		if (game.fds[i] != flooded_fd())
			control(epoll, EPOLL_CTL_ADD, game.fds[i], EPOLLIN);
	start(drain);
	for (;;) {
		if (game.way != WAIT)
			sleep_outside(epoll);
		while ((fd = wait_for_one(epoll, game.way == WAIT ? -1 : 0)) >=
		       0)
			answer(fd);
	}
}

/* ---- the client ---- */

static void spin_ns(int64_t ns)
{
	struct timespec now, from;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec -
		   from.tv_nsec <
	       ns);
}

/* Not by send_all(): this is no progress. */
static void *flood(void *unused)
{
	uint64_t random = game.seed;

	while (send(flooded_fd(), "x", 1, MSG_NOSIGNAL) == 1)
		spin_ns(dice(&random, GAP_NS));
	return unused;
}

static void client(int port)
{
	uint64_t random = game.seed + 1;
	char token[TOKEN];
	size_t wrong;

	for (int i = 0; i < game.members; i++) {
		game.fds[i] = helper_connect(port);
		begin(game.fds[i], true);
	}
	bytes_fill(token, TOKEN, 7, 0);
	start(flood);
	for (int i = 0; i < game.rounds; i++) {
		send_all(asked_fd(), token, TOKEN);
		check(recv_all(asked_fd(), token, TOKEN) == TOKEN, "the end");
		check(bytes_match(token, TOKEN, 7, 0, &wrong), "token");
		nap_us((long)dice(&random, PAUSE_US));
	}
}

/* The place of a word among others; their number if it is none of them. */
static unsigned find(const char *word, const char *const *names, unsigned count)
{
	unsigned i = 0;

	while (i < count && strcmp(names[i], word) != 0)
		i++;
	return i;
}

int main(int argc, char **argv)
{
	int port, listener;
	pid_t child;

	game.way = argc == 6 ? find(argv[1], way_names, WAYS) : WAYS;
	game.kind = argc == 6 ? find(argv[2], kind_names, KINDS) : KINDS;
	if (game.way == WAYS || game.kind == KINDS) {
		fprintf(stderr, "usage: silent wait|poll|select none|spent|out "
				"MEMBERS ROUNDS SEED\n");
		return 2;
	}
	game.members = atoi(argv[3]);
	game.rounds = atoi(argv[4]);
	game.seed = strtoul(argv[5], NULL, 10);
	check(game.members > 1 && game.members <= MEMBERS_MAX, "MEMBERS");
	listener = helper_listen(&port);
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server(listener);
	}
	close(listener);
	watchdog_start(STILL_SECONDS);
	client(port);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
