/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* crowd: see crowd.h. */
#include "crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/bench/line.h"

#define EVENTS         128
#define SIZE_MAX_BYTES 65536

static void start(struct crowd *c, unsigned count)
{
	struct rlimit r;

	/* Two processes' worth of other descriptors fit in 64. */
	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < count + 64) {
		r.rlim_cur = count + 64;
		if (r.rlim_max < r.rlim_cur)
			r.rlim_max = r.rlim_cur;
		if (setrlimit(RLIMIT_NOFILE, &r) < 0)
			measure_fail("cannot have that many descriptors");
	}
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->count = 0;
	c->fd = calloc(count + 1, sizeof(*c->fd));
	if (c->epoll_fd < 0 || !c->fd)
		measure_fail("cannot make an epoll");
}

static void add(struct crowd *c, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = c->count};

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		measure_fail("cannot make a socket nonblocking");
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		measure_fail("cannot add a socket to the epoll");
	c->fd[c->count++] = fd;
}

void crowd_accept(struct crowd *c, struct trial *t, unsigned count)
{
	int listener = line_listen_fd(t);
	unsigned i;

	start(c, count);
	trial_ready(t);
	for (i = 0; i < count; i++)
		add(c, line_accept_fd(t, listener));
	line_listen_end(t, listener);
}

void crowd_connect(struct crowd *c, const struct trial *t, unsigned count)
{
	unsigned i;

	start(c, count);
	for (i = 0; i < count; i++)
		add(c, line_connect_fd(t));
}

/* Messages are small against any socket buffer, so they move whole. */
static void put(int fd, const char *m, size_t len)
{
	if (write(fd, m, len) != (ssize_t)len)
		measure_fail("a message did not go out whole");
}

/* Takes one message; false: the connection was closed, or nothing is there. */
static bool get(struct crowd *c, unsigned i, char *m, size_t len)
{
	ssize_t n = read(c->fd[i], m, len);
	ssize_t more;

	while (n > 0 && (size_t)n < len) {
		more = read(c->fd[i], m + n, len - (size_t)n);
		if (more > 0)
			n += more;
		else if (!more || errno != EAGAIN)
			measure_fail("a message did not arrive whole");
	}
	if (n < 0 && errno != EAGAIN)
		measure_fail("cannot receive");
	if (!n) {
		close(c->fd[i]);
		c->fd[i] = -1;
	}
	return n > 0;
}

uint64_t crowd_echo(struct crowd *c, const struct trial *t, uint64_t most)
{
	struct epoll_event ready[EVENTS];
	char m[SIZE_MAX_BYTES];
	unsigned open = c->count;
	uint64_t count = 0;
	int n;
	int i;

	while (open && (!most || count < most)) {
		n = epoll_wait(c->epoll_fd, ready, EVENTS, -1);
		if (n < 0 && errno != EINTR)
			measure_fail("cannot wait for the sockets");
		for (i = 0; i < n; i++) {
			unsigned at = ready[i].data.u32;

			if (get(c, at, m, t->size)) {
				put(c->fd[at], m, t->size);
				count++;
			} else if (c->fd[at] < 0) {
				open--;
			}
		}
	}
	return count;
}

uint64_t crowd_ask(struct crowd *c, const struct trial *t, unsigned busy,
		   uint64_t length, uint64_t *took_ns)
{
	struct epoll_event ready[EVENTS];
	char m[SIZE_MAX_BYTES];
	uint64_t begin = measure_now_ns();
	uint64_t count = 0;
	bool more = length > 0;
	unsigned out;
	int n;
	int i;

	memset(m, 'c', sizeof(m));
	for (out = 0; out < busy; out++)
		put(c->fd[out], m, t->size);
	while (out) {
		n = epoll_wait(c->epoll_fd, ready, EVENTS, -1);
		if (n < 0 && errno != EINTR)
			measure_fail("cannot wait for the sockets");
		for (i = 0; i < n; i++) {
			unsigned at = ready[i].data.u32;

			if (!get(c, at, m, t->size)) {
				if (c->fd[at] < 0)
					measure_fail("the server closed");
				continue;
			}
			count += more;
			if (more)
				put(c->fd[at], m, t->size);
			else
				out--;
		}
		if (more)
			*took_ns = measure_now_ns() - begin;
		more = more && *took_ns < length;
	}
	return count;
}

void crowd_close(struct crowd *c)
{
	unsigned i;

	for (i = 0; i < c->count; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
	close(c->epoll_fd);
	free(c->fd);
}
