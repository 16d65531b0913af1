/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* line: see line.h. */
#include "line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_TRIES    200
#define CONNECT_PAUSE_US 10000
#define LISTEN_BACKLOG   4096

union name {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static socklen_t name_of(const struct trial *t, union name *n)
{
	memset(n, 0, sizeof(*n));
	if (t->transport == TRANSPORT_UNIX) {
		n->un.sun_family = AF_UNIX;
		snprintf(n->un.sun_path, sizeof(n->un.sun_path), "%s", t->path);
		return sizeof(n->un);
	}
	if (inet_pton(AF_INET, t->address, &n->in.sin_addr) == 1) {
		n->in.sin_family = AF_INET;
		n->in.sin_port = htons((uint16_t)t->port);
		return sizeof(n->in);
	}
	if (inet_pton(AF_INET6, t->address, &n->in6.sin6_addr) == 1) {
		n->in6.sin6_family = AF_INET6;
		n->in6.sin6_port = htons((uint16_t)t->port);
		return sizeof(n->in6);
	}
	fprintf(stderr, "-a: \"%s\" is neither IPv4 nor IPv6\n", t->address);
	exit(2);
}

static void set_no_delay(const struct trial *t, int fd)
{
	int on = 1;

	if (!t->no_delay || t->transport != TRANSPORT_TCP)
		return;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		measure_fail("cannot set TCP_NODELAY");
}

int line_listen_fd(const struct trial *t)
{
	union name n;
	socklen_t len = name_of(t, &n);
	int on = 1;
	int fd = socket(n.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		measure_fail("cannot make a socket");
	if (t->transport == TRANSPORT_UNIX)
		unlink(t->path);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (t->shape == SHAPE_REUSE)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (bind(fd, &n.any, len) < 0)
		measure_fail("cannot bind to the server's address");
	if (listen(fd, LISTEN_BACKLOG) < 0)
		measure_fail("cannot listen");
	return fd;
}

void line_listen_end(const struct trial *t, int listener)
{
	close(listener);
	if (t->transport == TRANSPORT_UNIX)
		unlink(t->path);
}

int line_accept_fd(const struct trial *t, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		measure_fail("cannot accept");
	set_no_delay(t, fd);
	return fd;
}

int line_connect_fd(const struct trial *t)
{
	union name n;
	socklen_t len = name_of(t, &n);
	int tries;
	int fd;

	for (tries = 0; tries < CONNECT_TRIES; tries++) {
		fd = socket(n.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			measure_fail("cannot make a socket");
		set_no_delay(t, fd);
		if (!connect(fd, &n.any, len))
			return fd;
		if (errno != ECONNREFUSED && errno != ENOENT)
			break;
		close(fd);
		usleep(CONNECT_PAUSE_US);
	}
	measure_fail("cannot connect to the server");
}

static void prepare(struct line *l, const struct trial *t, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	l->fd = fd;
	l->epoll_fd = -1;
	l->waiting = t->waiting;
	if (l->waiting == WAIT_BLOCK)
		return;
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		measure_fail("cannot make the socket nonblocking");
	if (l->waiting != WAIT_EPOLL && l->waiting != WAIT_EPOLL_EDGE)
		return;
	if (l->waiting == WAIT_EPOLL_EDGE)
		e.events |= EPOLLET;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		measure_fail("cannot make an epoll");
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		measure_fail("cannot add the socket to the epoll");
}

static void attach(struct line *l, struct trial *t, bool is_server)
{
	l->is_ring = true;
	l->fd = -1;
	l->epoll_fd = -1;
	ring_attach(&l->in, is_server ? t->to_server : t->to_client,
		    t->ring_waiting, t->piece);
	ring_attach(&l->out, is_server ? t->to_client : t->to_server,
		    t->ring_waiting, t->piece);
}

void line_accept(struct line *l, struct trial *t)
{
	int listener;

	memset(l, 0, sizeof(*l));
	if (t->transport == TRANSPORT_RING) {
		attach(l, t, true);
		trial_ready(t);
		return;
	}
	listener = line_listen_fd(t);
	trial_ready(t);
	prepare(l, t, line_accept_fd(t, listener));
	line_listen_end(t, listener);
}

void line_connect(struct line *l, struct trial *t)
{
	memset(l, 0, sizeof(*l));
	if (t->transport == TRANSPORT_RING)
		attach(l, t, false);
	else
		prepare(l, t, line_connect_fd(t));
}

void line_close(struct line *l)
{
	if (l->is_ring)
		ring_close(&l->out);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->fd >= 0)
		close(l->fd);
}

/* Sleeps until the socket may be read (POLLIN) or written (POLLOUT). */
static void sleep_until(struct line *l, short events)
{
	struct epoll_event ready;
	struct pollfd p = {.fd = l->fd, .events = events};
	int n;

	/* The epoll asks for input only; no room is rare here. */
	if (l->epoll_fd >= 0 && events == POLLIN)
		n = epoll_wait(l->epoll_fd, &ready, 1, -1);
	else
		n = poll(&p, 1, -1);
	if (n < 0 && errno != EINTR)
		measure_fail("cannot wait for the socket");
}

void line_send(struct line *l, const void *bytes, size_t len)
{
	const char *from = bytes;
	ssize_t n;

	if (l->is_ring) {
		ring_write(&l->out, bytes, len);
		return;
	}
	while (len) {
		if (l->waiting == WAIT_BLOCK)
			n = send(l->fd, from, len, 0);
		else
			n = write(l->fd, from, len);
		if (n > 0) {
			from += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			if (l->waiting != WAIT_BUSY)
				sleep_until(l, POLLOUT);
		} else if (errno != EINTR) {
			measure_fail("cannot send");
		}
	}
}

size_t line_receive_some(struct line *l, void *bytes, size_t len)
{
	ssize_t n;

	if (l->is_ring)
		return ring_read(&l->in, bytes, len);
	for (;;) {
		if (l->waiting == WAIT_BLOCK)
			n = recv(l->fd, bytes, len, 0);
		else
			n = read(l->fd, bytes, len);
		if (n >= 0)
			return (size_t)n;
		if (errno == EAGAIN && l->waiting != WAIT_BUSY)
			sleep_until(l, POLLIN);
		else if (errno != EINTR && errno != EAGAIN)
			measure_fail("cannot receive");
	}
}

/*
 * One message as an event loop takes it: wait, then read. Level-triggered
 * loops read once for each wake-up; edge-triggered ones must read until the
 * kernel says there is no more.
 */
static bool receive_by_event(struct line *l, char *to, size_t len)
{
	size_t done = 0;
	ssize_t n;
	char spare;

	while (done < len && !l->ended) {
		sleep_until(l, POLLIN);
		do {
			if (done < len)
				n = read(l->fd, to + done, len - done);
			else
				n = read(l->fd, &spare, 1);
			if (n > 0)
				done += (size_t)n;
			l->ended = !n;
		} while (n > 0 && l->waiting == WAIT_EPOLL_EDGE);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			measure_fail("cannot receive");
	}
	return done == len;
}

bool line_receive(struct line *l, void *bytes, size_t len)
{
	char *to = bytes;
	size_t done = 0;
	size_t n;

	if (!l->is_ring && l->waiting != WAIT_BLOCK && l->waiting != WAIT_BUSY)
		return receive_by_event(l, to, len);
	while (done < len) {
		n = line_receive_some(l, to + done, len - done);
		if (!n)
			return false;
		done += n;
	}
	return true;
}
