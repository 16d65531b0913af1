/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_sleep: moves in which a thread sleeps in a call while the other side,
 * or its own, does something; and those that move more than buffers hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "duel.h"

#define SETTLE_MS  300
#define STREAM_MAX ((1u << 20) + 1)

static struct sleeper {
	pthread_t thread;
	volatile pid_t tid;
	volatile bool begun, over;
	unsigned how;
	int fd, ep, flags;
	size_t size;
	long ret;
	int error;
	unsigned bits;
	uint32_t sum;
	unsigned char *bytes;
} sleeper;

static void fall_asleep(struct sleeper *s)
{
	struct pollfd p = {s->fd, POLLIN | POLLRDHUP, 0};
	struct iovec part = {s->bytes, s->size};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct epoll_event e = {0};
	fd_set set;

	FD_ZERO(&set);
	if (s->fd >= 0 && s->fd < FD_SETSIZE)
		FD_SET(s->fd, &set);
	switch (s->how) {
	case 0:
		s->ret = recv(s->fd, s->bytes, s->size, s->flags);
		break;
	case 1:
		s->ret = read(s->fd, s->bytes, s->size);
		break;
	case 2:
		s->ret = recvmsg(s->fd, &m, s->flags);
		break;
	case 3:
		s->ret = poll(&p, 1, -1);
		s->bits = (unsigned short)p.revents;
		break;
	case 4:
		s->ret = select(s->fd + 1, &set, NULL, NULL, NULL);
		s->bits = s->ret == 1;
		break;
	case 5:
		s->ret = epoll_wait(s->ep, &e, 1, -1);
		s->bits = e.events;
		break;
	default:
		s->ret = accept(s->fd, NULL, NULL);
	}
	s->error = errno;
}

static void *sleeper_main(void *of)
{
	struct sleeper *s = of;

	s->tid = (pid_t)syscall(SYS_gettid);
	s->begun = true;
	fall_asleep(s);
	s->over = true;
	return NULL;
}

static void sleep_begin(struct game *g, struct random *r, int slot)
{
	struct sleeper *s = &sleeper;
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP};

	memset(s, 0, sizeof(*s));
	s->fd = in(g, slot);
	s->how = pick(r, 6);
	s->size = 1 + pick(r, 400);
	s->flags = chance(r, 30) ? MSG_WAITALL : chance(r, 15) ? MSG_PEEK : 0;
	s->ep = -1;
	s->bytes = g->bytes + BYTES / 2;
	if (chance(r, 5)) {
		s->fd = in(g, LISTENER);
		s->how = 6;
	}
	if (s->how == 5) {
		if (chance(r, 30))
			e.events |= EPOLLET;
		s->ep = epoll_create1(0);
		epoll_ctl(s->ep, EPOLL_CTL_ADD, s->fd, &e);
	}
	say(g, "sleep %d fd=%d how=%u size=%zu flags=%x", slot, s->fd, s->how,
	    s->size, (unsigned)s->flags);
	pthread_create(&s->thread, NULL, sleeper_main, s);
	while (!s->begun)
		usleep(200);
	say(g, " %s", thread_rests(s->tid, &s->over) ? "rests" : "is over");
}

/* What one does to a descriptor on which somebody sleeps. */
static void disturb(struct game *g, struct random *r, int slot, bool own)
{
	int fd = in(g, slot);
	struct linger l = {1, 0};
	unsigned how = pick(r, own ? 5 : 7);
	size_t size = sendable(g, fd, 1 + pick(r, 500));
	long ret = 0;

	switch (how) {
	case 0:
		if (own)
			ret = shutdown(fd, SHUT_RD);
		else
			ret = shutdown(fd, SHUT_WR);
		break;
	case 1:
		ret = shutdown(fd, SHUT_RDWR);
		break;
	case 2:
		if (!own && chance(r, 30))
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
		if (!own) {
			known_as(g, fd, 0, 0);
			ret = close(fd);
		}
		break;
	case 3:
	case 4:
		if (own)
			break;
		/* fall through */
	default:
		pattern(g, g->bytes, size);
		ret = send(fd, g->bytes, size, MSG_NOSIGNAL);
		was_sent(g, fd, ret);
	}
	say(g, "disturb %d fd=%d how=%u", slot, fd, how);
	say_result(g, ret);
}

static void sleep_end(struct game *g)
{
	struct sleeper *s = &sleeper;

	say(g, "woken? %s",
	    thread_rests(s->tid, &s->over) ? "rests" : "is over");
	for (int i = 0; !s->over; i++) {
		pthread_kill(s->thread, SIGUSR1);
		usleep(10000);
	}
	pthread_join(s->thread, NULL);
	if (s->how < 3 && !(s->flags & MSG_PEEK))
		was_taken(g, s->fd, s->ret);
	errno = s->error;
	say_result(g, s->ret);
	if (s->how < 3)
		say(g, " %08x", sum(s->bytes, s->ret > 0 ? (size_t)s->ret : 0));
	else
		say(g, " %x", s->ret > 0 ? s->bits : 0);
	if (s->how == 6)
		close((int)s->ret);
	if (s->ep >= 0)
		close(s->ep);
}

static void make_sleep(struct game *g, struct random *r)
{
	int slot = (int)pick(r, g->crowd);
	bool own = chance(r, 20);

	if (g->phase == 0) {
		sleep_begin(g, r, slot);
		say_end(g);
		if (own)
			disturb(g, r, slot, true);
	} else if (g->phase == 1) {
		if (!own && chance(r, 85))
			disturb(g, r, slot, false);
	} else {
		sleep_end(g);
		/* A signal may have come once or twice. */
	}
}

static struct stream {
	pthread_t thread;
	int fd;
	size_t size, piece, done;
	int error;
	unsigned char *bytes;
} stream;

static void *stream_main(void *of)
{
	struct stream *s = of;

	while (s->done < s->size) {
		struct pollfd p = {s->fd, POLLOUT, 0};
		size_t n =
		    s->size - s->done < s->piece ? s->size - s->done : s->piece;
		ssize_t sent = send(s->fd, s->bytes + s->done, n,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN && poll(&p, 1, 2000) == 1)
			continue;
		if (sent < 0) {
			s->error = errno;
			break;
		}
		s->done += (size_t)sent;
	}
	return NULL;
}

/* Is there room, and does anybody read it? */
static bool can_stream(const struct game *g, int slot)
{
	int fd = in(g, slot), type = 0;
	unsigned c = connection_of(g, fd);
	int to = fd >= 0 && fd < FD_MAX ? !g->table->end[g->side][fd] : 0;
	struct pollfd p = {fd, POLLOUT | POLLRDHUP, 0};
	socklen_t len = sizeof(type);

	return c && !g->table->flight[c][to] && !g->table->odd[c] &&
	       connection_of(g, g->table->slots[g->side][slot]) ==
		   g->table
		       ->connection[!g->side]
				   [g->table->slots[!g->side][slot] < 0
					? 0
					: g->table->slots[!g->side][slot]] &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

static void stream_read(struct game *g, struct random *r, int slot, size_t size)
{
	int fd = in(g, slot);
	size_t done = 0, piece = 1 + pick(r, 200000);
	uint32_t s = 0;
	ssize_t n = 0;

	while (done < size) {
		struct pollfd p = {fd, POLLIN, 0};

		if (poll(&p, 1, 2000) != 1)
			break;
		n = recv(fd, g->bytes, piece, MSG_DONTWAIT);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			s = (s ^ g->bytes[i]) * 16777619u;
		done += (size_t)n;
	}
	say(g, "stream %d read %zu %08x", slot, done, s);
	say_result(g, n < 0 ? -1 : 0);
}

static void make_stream(struct game *g, struct random *r)
{
	static const size_t streams[] = {65535,   65536,   65537,   131072,
					 262143,  262144,  262145,  500000,
					 1048575, 1048576, 1048577, 49152};
	int slot = (int)pick(r, g->crowd);
	size_t size = PICK(r, streams);
	struct stream *s = &stream;

	if (g->phase == 0) {
		g->table->pieces[0][0] = can_stream(g, slot);
		if (!g->table->pieces[0][0])
			return;
		*s = (struct stream){.fd = in(g, slot), .size = size};
		s->piece = chance(r, 50) ? size : 1 + pick(r, 100000);
		s->bytes = malloc(size);
		pattern(g, s->bytes, size);
		pthread_create(&s->thread, NULL, stream_main, s);
	} else if (g->phase == 1) {
		if (g->table->pieces[0][0])
			stream_read(g, r, slot, size);
	} else if (g->table->pieces[0][0]) {
		struct pollfd p = {s->fd, POLLOUT, 0};

		pthread_join(s->thread, NULL);
		poll(&p, 1, 2000);
		say(g, "stream %d sent %zu of %zu, %d", slot, s->done, size,
		    s->error);
		g->table->pieces[0][0] = 0;
		if (s->done != size || s->error)
			g->table->odd[connection_of(g, s->fd)] = true;
		free(s->bytes);
	}
}

const struct kind sleep_kinds[] = {
    {"sleep", 3, 6, make_sleep}, {"stream", 3, 3, make_stream}, {0}};
