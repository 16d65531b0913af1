/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_new: moves whose call ends in its middle: by a bad message, a timer, a
 * time-out; and readiness that several registrations share, or that is armed
 * anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "duel.h"

#define TICK_NS 20000000

static void say_ready(struct game *g, int fd)
{
	struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

	poll(&p, 1, 0);
	say(g, " ready=%x", (unsigned)p.revents);
}

/* What a socket tells next. */
static void say_next(struct game *g, struct random *r, int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);
	ssize_t n;

	switch (pick(r, 4)) {
	case 0:
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
		say(g, " error=%d", error);
		return;
	case 1:
		n = recv(fd, g->bytes, 1 + pick(r, 200), MSG_DONTWAIT);
		was_taken(g, fd, n);
		break;
	case 2:
		pattern(g, g->bytes, 10);
		n = sendable(g, fd, 10) == 10
			? send(fd, g->bytes, 10, MSG_NOSIGNAL | MSG_DONTWAIT)
			: 0;
		was_sent(g, fd, n);
		break;
	default:
		say_ready(g, fd);
		return;
	}
	say_result(g, n);
}

/* recvmmsg of which a message cannot be received. */
static void make_several(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), n;
	unsigned bad = pick(r, 3), how = pick(r, 3);
	int flags = chance(r, 70) ? MSG_DONTWAIT : MSG_DONTWAIT | MSG_PEEK;
	struct iovec parts[3];
	struct mmsghdr m[3];

	memset(m, 0, sizeof(m));
	for (unsigned i = 0; i < 3; i++) {
		parts[i] = (struct iovec){g->bytes + 1000 * i, 1 + pick(r, 60)};
		m[i].msg_hdr.msg_iov = &parts[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	if (how == 0)
		parts[bad].iov_base = g->bytes + BYTES;
	else if (how == 1)
		m[bad].msg_hdr.msg_iov = (void *)(g->bytes + BYTES);
	else
		m[bad].msg_hdr.msg_iovlen = 5000;
	say(g, "several %d fd=%d bad=%u how=%u flags=%x", slot, fd, bad, how,
	    (unsigned)flags);
	n = recvmmsg(fd, m, 3, flags, NULL);
	say_result(g, n);
	for (int i = 0; i < n; i++) {
		say(g, " %u", m[i].msg_len);
		if (!(flags & MSG_PEEK))
			was_taken(g, fd, m[i].msg_len);
	}
	for (int i = 0; i < 3; i++)
		say_next(g, r, fd);
}

static void on_tick(int number)
{
	(void)number;
}

/* A timer's signal in a call that may have moved something already. */
static void make_tick(struct game *g, struct random *r)
{
	static const int flags_of[] = {0, MSG_WAITALL, MSG_WAITALL,
				       MSG_PEEK | MSG_WAITALL, MSG_PEEK};
	int slot = socket_slot(g, r), fd = in(g, slot), flags;
	struct sigaction a = {.sa_handler = on_tick};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL};
	struct itimerspec once = {{0, 0}, {0, TICK_NS}};
	struct timeval limit = {0, 120000}, none = {0, 0};
	bool limited = chance(r, 50), parts = chance(r, 30);
	size_t size = 1 + pick(r, 3000);
	struct iovec v[3] = {{g->bytes, size / 3},
			     {NULL, 0},
			     {g->bytes + size / 3, size - size / 3}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 3};
	timer_t timer;
	ssize_t n;

	flags = PICK(r, flags_of);
	a.sa_flags = chance(r, 50) ? SA_RESTART : 0;
	if (limited &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		limited = false;
	e.sigev_signo = SIGRTMIN + 5;
	sigaction(e.sigev_signo, &a, NULL);
	if (timer_create(CLOCK_MONOTONIC, &e, &timer))
		return;
	say(g, "tick %d fd=%d size=%zu flags=%x restart=%x limited=%d", slot,
	    fd, size, (unsigned)flags, (unsigned)a.sa_flags, limited);
	guard_set();
	timer_settime(timer, 0, &once, NULL);
	n = parts ? recvmsg(fd, &m, flags) : recv(fd, g->bytes, size, flags);
	guard_end();
	timer_delete(timer);
	if (!(flags & MSG_PEEK))
		was_taken(g, fd, n);
	say_result(g, n);
	say(g, " %08x", sum(g->bytes, n > 0 ? (size_t)n : 0));
	if (limited)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
}

/* A mark that is not reached, and a limit. */
static void make_limit(struct game *g, struct random *r)
{
	static const unsigned bits[] = {MSG_PEEK, MSG_WAITALL, MSG_WAITALL,
					MSG_TRUNC};
	int slot = socket_slot(g, r), fd = in(g, slot), flags;
	int mark = 1 + (int)pick(r, 2000), one = 1;
	struct timeval limit = {0, 30000}, none = {0, 0};
	size_t size = pick(r, 2500);
	ssize_t n;

	flags = (int)SOME(r, bits);
	say(g, "limit %d fd=%d size=%zu mark=%d flags=%x", slot, fd, size, mark,
	    (unsigned)flags);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return;
	if (chance(r, 60))
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark));
	say_ready(g, fd);
	guard_set();
	n = recv(fd, g->bytes, size, flags);
	guard_end();
	if (!(flags & MSG_PEEK))
		was_taken(g, fd, n);
	say_result(g, n);
	say(g, " %08x",
	    sum(g->bytes, n > 0 && !(flags & MSG_TRUNC) ? (size_t)n : 0));
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
}

static struct shared {
	int fd, instances[3];
	struct epoll_event asked[3];
} shared = {.instances = {-1, -1, -1}};

static void shared_look(struct game *g, struct shared *s, bool again)
{
	struct epoll_event e;

	for (int i = 0; i < 3; i++) {
		int n;

		e.events = 0;
		n = epoll_wait(s->instances[i], &e, 1, 0);
		say(g, " %d:%x", n, n == 1 ? e.events : 0);
		if (again)
			say_result(g, epoll_ctl(s->instances[i], EPOLL_CTL_MOD,
						s->fd, &s->asked[i]));
	}
}

/* One connection in several instances, asked before and behind what the peer
 * does, and armed anew. */
static void make_shared(struct game *g, struct random *r)
{
	static const unsigned bits[] = {
	    EPOLLOUT, EPOLLRDHUP,   EPOLLET,      EPOLLET,
	    EPOLLET,  EPOLLONESHOT, EPOLLONESHOT, EPOLLEXCLUSIVE};
	int slot = (int)pick(r, g->crowd), fd = in(g, slot);
	struct shared *s = &shared;
	size_t size;
	ssize_t n;

	if (g->phase == 1) {
		size = sendable(g, fd, 1 + pick(r, 300));
		pattern(g, g->bytes, size);
		say(g, "shared %d fd=%d", slot, fd);
		if (chance(r, 12)) {
			say_result(g, shutdown(fd, SHUT_WR));
			return;
		}
		n = send(fd, g->bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		was_sent(g, fd, n);
		say_result(g, n);
		return;
	}
	say(g, "shared %d fd=%d", slot, fd);
	if (g->phase == 0) {
		s->fd = fd;
		for (int i = 0; i < 3; i++) {
			s->instances[i] = epoll_create1(EPOLL_CLOEXEC);
			s->asked[i].events = EPOLLIN | SOME(r, bits);
			say(g, " %x", s->asked[i].events);
			say_result(g, epoll_ctl(s->instances[i], EPOLL_CTL_ADD,
						fd, &s->asked[i]));
		}
		shared_look(g, s, false);
		return;
	}
	shared_look(g, s, chance(r, 50));
	n = chance(r, 50) ? recv(fd, g->bytes, 1 + pick(r, 300), MSG_DONTWAIT)
			  : 0;
	was_taken(g, fd, n);
	shared_look(g, s, chance(r, 50));
	shared_look(g, s, false);
	for (int i = 0; i < 3; i++) {
		close(s->instances[i]);
		s->instances[i] = -1;
	}
}

/* From a connection through two pipes, and into another one. With SPLICE_F_MORE
 * the last piece would wait on TCP: smc_r(7). */
static void make_tee(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), other = in(g, 0);
	size_t size = 1 + pick(r, 5000);
	int first[2], second[2];
	ssize_t n, k;

	if (pipe2(first, O_NONBLOCK))
		return;
	if (pipe2(second, O_NONBLOCK)) {
		close(first[0]);
		close(first[1]);
		return;
	}
	say(g, "tee %d fd=%d size=%zu", slot, fd, size);
	guard_set();
	n = splice(fd, NULL, first[1], NULL, size, SPLICE_F_NONBLOCK);
	say_result(g, n);
	was_taken(g, fd, n);
	k = tee(first[0], second[1], size, SPLICE_F_NONBLOCK);
	say_result(g, k);
	if (k > 0 && sendable(g, other, (size_t)k) == (size_t)k) {
		k = splice(second[0], NULL, other, NULL, (size_t)k, 0);
		was_sent(g, other, k);
		say_result(g, k);
	}
	n = read(first[0], g->bytes, BYTES);
	say_result(g, n);
	say(g, " %08x", sum(g->bytes, n > 0 ? (size_t)n : 0));
	guard_end();
	for (int i = 0; i < 2; i++) {
		close(first[i]);
		close(second[i]);
	}
}

const struct kind new_kinds[] = {
    {"several", 1, 6, make_several}, {"tick", 1, 4, make_tick},
    {"limit", 1, 8, make_limit},     {"shared", 3, 8, make_shared},
    {"tee", 1, 3, make_tee},         {0}};
