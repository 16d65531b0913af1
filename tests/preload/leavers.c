/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * leavers: threads that share one epoll instance, one of which leaves it just
 * when it is woken. What woke it is there for the others; if none of them wakes
 * up, the game stops for good, and the watchdog says so.
 *
 *   leavers cancel THREADS ROUNDS SEED	  it is cancelled
 *   leavers jump THREADS ROUNDS SEED	  a handler of a signal jumps out
 *
 * The thread that came last is the one that the kernel wakes. Nobody comes in
 * its place before the token is back, as a newcomer would find the token.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "socket_helpers.h"

#define TOKEN         64
#define CONNECTIONS   4
#define STILL_SECONDS 6

static struct leavers {
	bool jumps;
	int epoll;
	int near[CONNECTIONS], far[CONNECTIONS];
	int spare;               /* a connection on which nothing comes */
	pthread_barrier_t begin; /* of a leaver's wait */
} game;

/* -1: nothing was there. */
static int wait_for_one(void)
{
	struct epoll_event e;
	int n = epoll_wait(game.epoll, &e, 1, -1);

	check(n >= 0 || errno == EINTR, "epoll_wait");
	return n == 1 ? e.data.fd : -1;
}

/* Level-triggered, several may be told of one token. */
static void serve(int fd)
{
	char token[TOKEN];
	ssize_t n;

	if (fd < 0)
		return;
	n = recv(fd, token, TOKEN, MSG_DONTWAIT);
	check(n == TOKEN || (n < 0 && errno == EAGAIN), "recv");
	if (n == TOKEN)
		send_all(fd, token, TOKEN);
}

static void *stay(void *unused)
{
	for (;;)
		serve(wait_for_one());
	return unused;
}

/* ---- one that leaves ---- */

static _Thread_local sigjmp_buf out;
static _Thread_local volatile sig_atomic_t may_jump;

static void on_signal(int number)
{
	(void)number;
	if (may_jump)
		siglongjmp(out, 1);
}

/* Deeper than its caller, which by that is known to have left. */
static __attribute__((noinline)) int wait_deep(void)
{
	volatile char deep[8192];
	int fd;

	deep[0] = 0;
	may_jump = 1;
	fd = wait_for_one();
	may_jump = 0;
	return fd + deep[0];
}

/* It lives on, and sleeps elsewhere. */
static void *jump(void *unused)
{
	struct pollfd elsewhere = {game.spare, POLLIN, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_barrier_wait(&game.begin);
	if (sigsetjmp(out, 1) == 0) {
		int fd = wait_deep();

		pthread_sigmask(SIG_BLOCK, &set, NULL);
		serve(fd);
	}
	may_jump = 0;
	poll(&elsewhere, 1, 1);
	return unused;
}

static void *be_cancelled(void *unused)
{
	int old, fd;

	pthread_barrier_wait(&game.begin);
	fd = wait_for_one();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	serve(fd);
	return unused;
}

/* ---- the game ---- */

/* What becomes of a connection is decided by its first bytes. */
static void make_pair(int ends[2])
{
	int on = 1;
	char c;

	helper_pair(ends);
	for (int k = 0; k < 2; k++)
		setsockopt(ends[k], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (int k = 0; k < 2; k++) {
		send_all(ends[k], "x", 1);
		check(recv_all(ends[!k], &c, 1) == 1, "a byte");
	}
}

static void make_connections(void)
{
	int spare[2];

	make_pair(spare);
	game.spare = spare[0];
	game.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event e = {.events = EPOLLIN};
		int ends[2];

		make_pair(ends);
		game.near[i] = ends[0];
		game.far[i] = ends[1];
		e.data.fd = ends[0];
		check(!epoll_ctl(game.epoll, EPOLL_CTL_ADD, ends[0], &e),
		      "epoll_ctl");
	}
}

static void play(uint64_t *random)
{
	int far = game.far[dice(random, CONNECTIONS)];
	char token[TOKEN];
	pthread_t leaver;
	size_t wrong;

	check(!pthread_create(&leaver, NULL, game.jumps ? jump : be_cancelled,
			      NULL),
	      "thread");
	pthread_barrier_wait(&game.begin);
	/* It is asleep by then, or just about to be. */
	nap_us(100 + (long)dice(random, 200));
	bytes_fill(token, TOKEN, 7, 0);
	send_all(far, token, TOKEN);
	if (dice(random, 2))
		nap_us((long)dice(random, 60));
	if (game.jumps)
		pthread_kill(leaver, SIGUSR1);
	else
		pthread_cancel(leaver);
	check(recv_all(far, token, TOKEN) == TOKEN, "the end");
	check(bytes_match(token, TOKEN, 7, 0, &wrong), "token");
	/* A signal that came in front of its sleep has ended nothing. */
	while (pthread_tryjoin_np(leaver, NULL) != 0) {
		if (game.jumps)
			pthread_kill(leaver, SIGUSR1);
		nap_us(50);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	uint64_t random;

	if (argc != 5 ||
	    (strcmp(argv[1], "cancel") != 0 && strcmp(argv[1], "jump") != 0)) {
		fprintf(stderr, "usage: leavers cancel|jump THREADS ROUNDS "
				"SEED\n");
		return 2;
	}
	game.jumps = !strcmp(argv[1], "jump");
	random = strtoul(argv[4], NULL, 10);
	sigaction(SIGUSR1, &action, NULL);
	pthread_barrier_init(&game.begin, NULL, 2);
	watchdog_start(STILL_SECONDS);
	make_connections();
	for (int i = atoi(argv[2]); i > 0; i--) {
		pthread_t thread;

		check(!pthread_create(&thread, NULL, stay, NULL), "thread");
	}
	for (int i = atoi(argv[3]); i > 0; i--)
		play(&random);
	return 0;
}
