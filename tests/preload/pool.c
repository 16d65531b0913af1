/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pool: threads that share one epoll instance, as a server's thread pool does.
 * A wake-up that one of them takes from another stops the game for good, and
 * the watchdog says so.
 *
 *   pool barrier THREADS ROUNDS SEED	a token for each thread, and each holds
 *					its own until all of them have one
 *   pool looks THREADS ROUNDS SEED	others look without waiting, between
 *   pool late THREADS ROUNDS SEED	connections come while the pool sleeps
 *   pool leader THREADS ROUNDS SEED	one waits, hands its place on, and
 *serves
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define TOKEN         64
#define THREADS_MAX   32
#define STILL_SECONDS 20

enum game {
	BARRIER,
	LOOKS,
	LATE,
	LEADER,
	GAMES
};

static const char *const names[GAMES] = {"barrier", "looks", "late", "leader"};

static struct pool {
	enum game game;
	int threads, rounds;
	uint64_t seed;
	int epoll;
	pthread_barrier_t all;
	pthread_mutex_t place; /* of the leader */
} pool;

/* ---- the server ---- */

/* Every other connection is edge-triggered. */
static uint32_t wanted(int fd)
{
	uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
	bool edge = ((uint64_t)fd + pool.seed) & 1;

	return edge ? events | (uint32_t)EPOLLET : events;
}

static void control(int op, int fd)
{
	struct epoll_event e = {.events = wanted(fd), .data.fd = fd};

	check(!epoll_ctl(pool.epoll, op, fd, &e), "epoll_ctl");
}

/* Takes a token, sends it back, and waits for the next one. */
static void serve(int op, int fd, bool waits)
{
	char token[TOKEN];
	size_t wrong;

	/* A client that has gone may show as a reset. */
	if (recv(fd, token, TOKEN, MSG_WAITALL) < TOKEN) {
		close(fd);
		return;
	}
	check(bytes_match(token, TOKEN, 7, 0, &wrong), "token");
	if (waits)
		pthread_barrier_wait(&pool.all);
	send_all(fd, token, TOKEN);
	control(op, fd);
}

static int wait_for_one(int ms)
{
	struct epoll_event e;
	int n;

	do
		n = epoll_wait(pool.epoll, &e, 1, ms);
	while (n < 0 && errno == EINTR);
	check(n >= 0, "epoll_wait");
	return n ? e.data.fd : -1;
}

static void *work(void *unused)
{
	int fd;

	for (;;) {
		if (pool.game == LEADER)
			pthread_mutex_lock(&pool.place);
		fd = wait_for_one(-1);
		if (pool.game == LEADER)
			pthread_mutex_unlock(&pool.place);
		serve(EPOLL_CTL_MOD, fd, pool.game == BARRIER);
	}
	return unused;
}

/* Looks whether there is something, as a thread that has just served does. */
static void look_once(void)
{
	int fd = wait_for_one(0);

	if (fd >= 0)
		serve(EPOLL_CTL_MOD, fd, false);
}

static void *look(void *unused)
{
	uint64_t random = pool.seed;

	for (;;) {
		look_once();
		nap_us((long)dice(&random, 60));
	}
	return unused;
}

static void start(void *(*body)(void *))
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, body, NULL), "thread");
}

static int accept_one(int listener)
{
	int on = 1, fd = accept(listener, NULL, NULL);

	check(fd >= 0, "accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

_Noreturn static void server(int listener)
{
	pool.epoll = epoll_create1(EPOLL_CLOEXEC);
	pthread_barrier_init(&pool.all, NULL, (unsigned)pool.threads);
	pthread_mutex_init(&pool.place, NULL);
	for (int i = 0; i < pool.threads; i++)
		start(work);
	if (pool.game == LOOKS)
		start(look);
	for (;;) {
		int fd = accept_one(listener);

		if (pool.game != LATE) {
			control(EPOLL_CTL_ADD, fd);
			continue;
		}
		serve(EPOLL_CTL_ADD, fd, false);
		look_once();
	}
}

/* ---- the client ---- */

static void send_token(int fd)
{
	char token[TOKEN];

	bytes_fill(token, TOKEN, 7, 0);
	send_all(fd, token, TOKEN);
}

static void take_token(int fd)
{
	char token[TOKEN];
	size_t wrong;

	check(recv_all(fd, token, TOKEN) == TOKEN, "the end");
	check(bytes_match(token, TOKEN, 7, 0, &wrong), "token");
	progress();
}

/* One connection after the other: the instance is empty in between. */
static void come_and_go(int port)
{
	uint64_t random = pool.seed;
	int fd;

	for (int i = 0; i < pool.rounds; i++) {
		fd = helper_connect(port);
		nap_us((long)dice(&random, 300));
		for (unsigned n = 1 + dice(&random, 3); n > 0; n--) {
			send_token(fd);
			take_token(fd);
		}
		close(fd);
	}
}

static void client(int port)
{
	uint64_t random = pool.seed;
	int fds[THREADS_MAX], on = 1;

	if (pool.game == LATE) {
		come_and_go(port);
		return;
	}
	for (int i = 0; i < pool.threads; i++) {
		fds[i] = helper_connect(port);
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	for (int round = 0; round < pool.rounds; round++) {
		for (int i = 0; i < pool.threads; i++) {
			send_token(fds[i]);
			if (!dice(&random, 4))
				nap_us((long)dice(&random, 150));
		}
		for (int i = 0; i < pool.threads; i++)
			take_token(fds[i]);
	}
}

int main(int argc, char **argv)
{
	int port, listener;
	pid_t child;

	pool.game = GAMES;
	for (unsigned i = 0; argc == 5 && i < GAMES; i++)
		if (!strcmp(names[i], argv[1]))
			pool.game = i;
	if (pool.game == GAMES) {
		fprintf(stderr, "usage: pool barrier|looks|late|leader "
				"THREADS ROUNDS SEED\n");
		return 2;
	}
	pool.threads = atoi(argv[2]);
	pool.rounds = atoi(argv[3]);
	pool.seed = strtoul(argv[4], NULL, 10);
	check(pool.threads > 0 && pool.threads <= THREADS_MAX, "threads");
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
