/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * crowd: more connections in one epoll instance than it looks at one by one. A
 * wake-up that does not come stops the game, and the watchdog says so.
 *
 *   crowd refused CONNECTIONS ROUNDS SEED	a thread sleeps, and another one
 *						meets a full ring
 *   crowd poll|select ...			the same in one thread, which
 *						sleeps outside of the instance
 *   crowd turns ...				all are ready, and the array is
 *						short: each has its turn
 *   crowd heirs ...				children wait for one inherited
 *						connection each
 */
#include <errno.h>
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
#include <unistd.h>

#include "remote_process.h"
#include "socket_helpers.h"

#define STILL_SECONDS 90
#define BATCH         16
#define HEIRS         6

struct game {
	struct remote remote;
	int epoll;
	int rounds;
	uint64_t random;
};

static void watch(const struct game *g, int i, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = i};

	check(!epoll_ctl(g->epoll, op, g->remote.fds[i], &e), "epoll_ctl");
}

static void watch_all(const struct game *g, uint32_t events)
{
	for (int i = 0; i < g->remote.count; i++)
		watch(g, i, EPOLL_CTL_ADD, events);
}

/* Until a write is refused: how many bytes. */
static size_t fill(int fd)
{
	static char bytes[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL)) > 0)
		sum += (size_t)n;
	check(n < 0 && errno == EAGAIN, "send");
	return sum;
}

/* ---- a thread that sleeps ---- */

static int told[2]; /* events, one after another */

static void *sleep_on(void *argument)
{
	const struct game *g = argument;
	struct epoll_event e[BATCH];

	for (;;) {
		int n = epoll_wait(g->epoll, e, BATCH, -1);

		for (int k = 0; k < n; k++)
			check(write(told[1], &e[k], sizeof(e[k])) ==
				  sizeof(e[k]),
			      "pipe");
	}
	return NULL;
}

static int next_output(void)
{
	struct epoll_event e;

	do
		check(read(told[0], &e, sizeof(e)) == sizeof(e), "pipe");
	while (!(e.events & EPOLLOUT));
	return e.data.fd;
}

static void play_refused(struct game *g)
{
	pthread_t thread;

	check(!pipe(told), "pipe");
	watch_all(g, EPOLLIN | EPOLLOUT | (uint32_t)EPOLLET);
	check(!pthread_create(&thread, NULL, sleep_on, g), "thread");
	for (int i = 0; i < g->remote.count; i++)
		next_output();
	for (int r = 0; r < g->rounds; r++) {
		int i = (int)dice(&g->random, (uint32_t)g->remote.count);
		size_t n = fill(g->remote.fds[i]);

		/* Asleep again, or about to be. */
		if (r % 2)
			nap_us(2000);
		remote_do(&g->remote, REMOTE_TAKE, i, n);
		while (next_output() != i)
			;
	}
}

/* ---- a sleep outside of the instance ---- */

static void sleep_in_poll(const struct game *g)
{
	struct pollfd p = {.fd = g->epoll, .events = POLLIN};

	check(poll(&p, 1, -1) == 1, "poll");
}

static void sleep_in_select(const struct game *g)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(g->epoll, &set);
	check(select(g->epoll + 1, &set, NULL, NULL, NULL) == 1, "select");
}

static void play_outside(struct game *g, void (*sleep)(const struct game *g))
{
	uint32_t edge = EPOLLIN | EPOLLOUT | (uint32_t)EPOLLET;
	int instance = g->epoll;

	watch_all(g, edge);
	for (int r = 0; r < g->rounds; r++) {
		int i = (int)dice(&g->random, (uint32_t)g->remote.count);
		bool level = dice(&g->random, 2);
		size_t n = fill(g->remote.fds[i]);
		struct epoll_event e;
		int there;

		if (level)
			watch(g, i, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
		remote_tell(&g->remote, REMOTE_TAKE, i, n);
		do {
			sleep(g);
			there = epoll_wait(instance, &e, 1, 0);
		} while (!there || e.data.fd != i || !(e.events & EPOLLOUT));
		remote_await(&g->remote);
		if (level)
			watch(g, i, EPOLL_CTL_MOD, edge);
	}
}

static void play_poll(struct game *g)
{
	play_outside(g, sleep_in_poll);
}

static void play_select(struct game *g)
{
	play_outside(g, sleep_in_select);
}

/* ---- turns ---- */

/* The kernel goes round; we look from the last turn's end on. */
static void play_turns(struct game *g)
{
	struct epoll_event e[REMOTE_ENDS];
	int count = g->remote.count;

	watch_all(g, EPOLLOUT);
	for (int r = 0; r < g->rounds; r++) {
		bool seen[REMOTE_ENDS] = {false};
		int max = 1 + (int)dice(&g->random, (uint32_t)count);
		int left = count;
		int calls = 3 * (count / max + 1);

		for (; left > 0 && calls > 0; calls--) {
			int n = epoll_wait(g->epoll, e, max, -1);

			check(n > 0, "epoll_wait");
			for (int k = 0; k < n; k++) {
				left -= !seen[e[k].data.fd];
				seen[e[k].data.fd] = true;
			}
		}
		if (left > 0)
			fprintf(stderr, "%d of %d have no turn, %d a call\n",
				left, count, max);
		check(left == 0, "turns");
		progress();
	}
}

/* ---- heirs ---- */

/* One that was woken is busy for good: nobody else's wake-up may be its. */
static void be_heir(int fd, int out)
{
	struct epoll_event e = {.events = EPOLLIN};
	int instance = epoll_create1(EPOLL_CLOEXEC);
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check(!epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	check(write(out, "", 1) == 1, "pipe");
	check(epoll_wait(instance, &e, 1, -1) == 1, "epoll_wait");
	check(recv(fd, &c, 1, 0) == 1, "recv");
	check(write(out, "", 1) == 1, "pipe");
	for (;;)
		pause();
}

static void play_heirs(struct game *g)
{
	int lines[HEIRS][2];
	pid_t heirs[HEIRS];
	char c;

	for (int i = 0; i < HEIRS; i++) {
		check(!pipe(lines[i]), "pipe");
		heirs[i] = fork();
		if (heirs[i] == 0)
			be_heir(g->remote.fds[i], lines[i][1]);
	}
	for (int i = 0; i < HEIRS; i++)
		check(read(lines[i][0], &c, 1) == 1, "an heir");
	/* Most are asleep by then; none need be. */
	nap_us(100000);
	for (int i = 0; i < HEIRS; i++) {
		remote_do(&g->remote, REMOTE_WRITE, i, 1);
		check(read(lines[i][0], &c, 1) == 1, "an heir");
	}
	for (int i = 0; i < HEIRS; i++)
		kill(heirs[i], SIGKILL);
}

/* ---- */

static const struct {
	const char *name;
	void (*play)(struct game *g);
} games[] = {
    {"refused", play_refused}, {"poll", play_poll},   {"select", play_select},
    {"turns", play_turns},     {"heirs", play_heirs},
};

int main(int argc, char **argv)
{
	struct game g = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
	int count = argc == 5 ? atoi(argv[2]) : 0;

	for (size_t i = 0; i < sizeof(games) / sizeof(*games); i++) {
		if (count < HEIRS || count > REMOTE_ENDS ||
		    strcmp(argv[1], games[i].name) != 0)
			continue;
		g.rounds = atoi(argv[3]);
		g.random = strtoul(argv[4], NULL, 10);
		watchdog_start(STILL_SECONDS);
		remote_begin(&g.remote, count, 0);
		games[i].play(&g);
		return 0;
	}
	fprintf(stderr, "usage: crowd refused|poll|select|turns|heirs "
			"CONNECTIONS ROUNDS SEED\n");
	return 2;
}
