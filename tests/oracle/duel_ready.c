/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_ready: moves that ask what is ready.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "duel.h"

#define ASKED_MAX  8
#define EVENTS_MAX 16

static const unsigned poll_bits[] = {
    POLLIN,     POLLIN,     POLLOUT,    POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM,
    POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLMSG, POLLERR, POLLHUP,   POLLNVAL};

static void make_poll(struct game *g, struct random *r)
{
	struct pollfd p[ASKED_MAX];
	unsigned count = 1 + pick(r, ASKED_MAX - 1);
	struct timespec t = {0, 0};
	int ms = chance(r, 85) ? 0 : (int)pick(r, 30), n;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	t.tv_nsec = ms * 1000000;
	for (unsigned i = 0; i < count; i++) {
		p[i].fd = chance(r, 5) ? -1 : in(g, any_slot(g, r));
		p[i].events = (short)SOME(r, poll_bits);
		if (chance(r, 30))
			p[i].events |= POLLIN | POLLOUT;
		p[i].revents = (short)pick(r, 1 << 14);
	}
	guard_set();
	if (chance(r, 60))
		n = poll(p, count, ms);
	else
		n = ppoll(p, count, &t, chance(r, 50) ? &mask : NULL);
	guard_end();
	say(g, "poll %d", ms);
	say_result(g, n);
	for (unsigned i = 0; i < count; i++)
		say(g, " %d:%x:%x", p[i].fd, (unsigned short)p[i].events,
		    (unsigned short)p[i].revents);
}

static void say_set(struct game *g, const char *name, const fd_set *set,
		    int count)
{
	say(g, " %s", name);
	for (int fd = 0; fd < count; fd++)
		if (FD_ISSET(fd, set))
			say(g, ",%d", fd);
}

static void make_select(struct game *g, struct random *r)
{
	fd_set sets[3];
	fd_set *given[3] = {&sets[0], &sets[1], &sets[2]};
	int count = 0, n, entries = 1 + (int)pick(r, 5);
	long ms = chance(r, 85) ? 0 : pick(r, 30);
	struct timeval t = {0, ms * 1000};
	struct timespec pt = {0, ms * 1000000};

	for (int i = 0; i < 3; i++) {
		FD_ZERO(&sets[i]);
		if (chance(r, 25))
			given[i] = NULL;
	}
	while (entries--) {
		int fd = in(g, any_slot(g, r));

		if (fd < 0)
			continue;
		for (int i = 0; i < 3; i++)
			if (chance(r, 50))
				FD_SET(fd, &sets[i]);
		count = fd >= count ? fd + 1 : count;
	}
	if (chance(r, 10))
		count = chance(r, 50) ? count / 2 : count + (int)pick(r, 40);
	guard_set();
	n = chance(r, 60)
		? select(count, given[0], given[1], given[2], &t)
		: pselect(count, given[0], given[1], given[2], &pt, NULL);
	guard_end();
	say(g, "select %ld count=%d", ms, count);
	say_result(g, n);
	for (int i = 0; i < 3; i++)
		if (given[i])
			say_set(g,
				i == 0   ? "r"
				: i == 1 ? "w"
					 : "x",
				given[i], FD_MAX);
}

static const unsigned epoll_bits[] = {
    EPOLLIN,     EPOLLIN,     EPOLLIN,  EPOLLOUT, EPOLLOUT,     EPOLLRDHUP,
    EPOLLPRI,    EPOLLET,     EPOLLET,  EPOLLET,  EPOLLONESHOT, EPOLLRDNORM,
    EPOLLWRNORM, EPOLLWAKEUP, EPOLLERR, EPOLLHUP};

static int instance(struct game *g, struct random *r)
{
	int slot = EPOLL + (int)pick(r, 2);

	if (in(g, slot) < 0) {
		put(g, slot, epoll_create1(chance(r, 50) ? EPOLL_CLOEXEC : 0));
		known_as(g, in(g, slot), 0, 0);
		say(g, "(new %d)", in(g, slot));
	}
	return in(g, slot);
}

static void make_control(struct game *g, struct random *r)
{
	static const int actions[] = {EPOLL_CTL_ADD,
				      EPOLL_CTL_ADD,
				      EPOLL_CTL_ADD,
				      EPOLL_CTL_MOD,
				      EPOLL_CTL_MOD,
				      EPOLL_CTL_DEL,
				      7};
	int ep = instance(g, r), fd, action = PICK(r, actions), ret;
	struct epoll_event e = {.events = SOME(r, epoll_bits)};

	fd = in(g, chance(r, 85) ? socket_slot(g, r) : any_slot(g, r));
	if (chance(r, 60))
		e.events |= EPOLLIN;
	if (chance(r, 5))
		e.events |= EPOLLEXCLUSIVE;
	e.data.u64 = ((uint64_t)pick(r, 1 << 30) << 32) | (unsigned)g->move;
	if (chance(r, 2))
		ep = in(g, any_slot(g, r));
	ret = epoll_ctl(ep, action, fd,
			action == EPOLL_CTL_DEL && chance(r, 50) ? NULL : &e);
	say(g, "epoll_ctl %d %d fd=%d %x", ep, action, fd, e.events);
	say_result(g, ret);
}

static int by_data(const void *a, const void *b)
{
	const struct epoll_event *x = a, *y = b;

	return x->data.u64 < y->data.u64 ? -1 : x->data.u64 > y->data.u64;
}

static void make_wait(struct game *g, struct random *r)
{
	struct epoll_event e[EVENTS_MAX];
	int ep = instance(g, r), n, ms, max = EVENTS_MAX;
	struct timespec t = {0, 0};
	unsigned how = pick(r, 4);

	ms = chance(r, 85) ? 0 : (int)pick(r, 30);
	t.tv_nsec = ms * 1000000;
	if (chance(r, 5))
		max = (int)pick(r, 3) - 1;
	if (chance(r, 2))
		ep = in(g, any_slot(g, r));
	memset(e, 0xee, sizeof(e));
	guard_set();
	if (how == 0)
		n = epoll_pwait(ep, e, max, ms, NULL);
	else if (how == 1)
		n = epoll_pwait2(ep, e, max, &t, NULL);
	else
		n = epoll_wait(ep, e, max, ms);
	guard_end();
	say(g, "epoll_wait %d max=%d %d", ep, max, ms);
	say_result(g, n);
	if (n > 0)
		qsort(e, (size_t)n, sizeof(e[0]), by_data);
	for (int i = 0; i < n; i++)
		say(g, " %u:%x", (unsigned)e[i].data.u64, e[i].events);
}

/* Waits until every end that has an event was reported: edges that are left
 * show. */
static void make_waits(struct game *g, struct random *r)
{
	struct epoll_event e[EVENTS_MAX];
	int ep = instance(g, r);

	say(g, "epoll_waits %d", ep);
	for (int i = 0; i < 3; i++) {
		int n = epoll_wait(ep, e, EVENTS_MAX, 0);

		say_result(g, n);
		if (n > 0)
			qsort(e, (size_t)n, sizeof(e[0]), by_data);
		for (int j = 0; j < n; j++)
			say(g, " %u:%x", (unsigned)e[j].data.u64, e[j].events);
	}
}

const struct kind ready_kinds[] = {
    {"poll", 1, 14, make_poll},         {"select", 1, 6, make_select},
    {"epoll_ctl", 1, 20, make_control}, {"epoll_wait", 1, 16, make_wait},
    {"epoll_waits", 1, 4, make_waits},  {0}};
