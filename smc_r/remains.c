/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* remains: a new connection with the bytes of one whose peer is gone. */
#include "remains.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>

#include "stream.h"
#include "sys.h"

#define BUFFER_BYTES (1 << 20)

/* All of a connection to ourselves; -1 where there is nothing. */
struct loop {
	int listener;
	int sender;
	int receiver;
};

static void set_no_port(struct sockaddr_storage *a)
{
	/* At the same place in IPv4 and in IPv6. */
	((struct sockaddr_in *)(void *)a)->sin_port = 0;
}

static int open_at(struct sockaddr_storage *a, socklen_t bytes)
{
	int fd = (int)SYS_CALL3(SYS_socket, a->ss_family,
				SOCK_STREAM | SOCK_CLOEXEC, 0);
	int size = BUFFER_BYTES;

	if (fd < 0)
		return -1;
	SYS_CALL6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUF, &size,
		  sizeof(size), 0);
	SYS_CALL6(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, &size,
		  sizeof(size), 0);
	set_no_port(a);
	if (SYS_CALL3(SYS_bind, fd, a, bytes) == 0)
		return fd;
	sys_close(fd);
	return -1;
}

static bool loop_open(struct loop *l, int fd)
{
	struct sockaddr_storage own, other;
	socklen_t own_bytes = sizeof(own), other_bytes = sizeof(other);

	if (SYS_CALL3(SYS_getsockname, fd, &own, &own_bytes) < 0 ||
	    SYS_CALL3(SYS_getpeername, fd, &other, &other_bytes) < 0)
		return false;
	l->listener = open_at(&own, own_bytes);
	l->sender = open_at(&other, other_bytes);
	if (l->listener < 0 || l->sender < 0 ||
	    SYS_CALL3(SYS_listen, l->listener, 1, 0) < 0 ||
	    SYS_CALL3(SYS_getsockname, l->listener, &own, &own_bytes) < 0 ||
	    SYS_CALL3(SYS_connect, l->sender, &own, own_bytes) < 0)
		return false;
	l->receiver =
	    (int)SYS_CALL4(SYS_accept4, l->listener, 0, 0, SOCK_CLOEXEC);
	return l->receiver >= 0;
}

static void loop_close(struct loop *l)
{
	if (l->listener >= 0)
		sys_close(l->listener);
	if (l->sender >= 0)
		sys_close(l->sender);
	if (l->receiver >= 0)
		sys_close(l->receiver);
}

static bool send_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		long sent = SYS_CALL6(SYS_sendto, fd, bytes, n,
				      MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

		if (sent <= 0)
			return false;
		bytes += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool send_ring(struct connection *c, int fd)
{
	size_t at =
	    (size_t)(atomic_load(&c->slot->rx.position) & (c->size - 1));
	size_t n = stream_fill(c);
	size_t first = c->size - at < n ? c->size - at : n;

	return send_all(fd, c->in + at, first) &&
	       send_all(fd, c->in, n - first);
}

static bool take_place(struct connection *c, int from, int fd)
{
	long status = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFD, 0);

	if (status < 0 || flags < 0)
		return false;
	SYS_CALL3(SYS_fcntl, from, F_SETFL, status & O_NONBLOCK);
	if (atomic_load(&c->slot->tx.flags) & STREAM_SHUT)
		SYS_CALL3(SYS_shutdown, from, SHUT_WR, 0);
	return SYS_CALL3(SYS_dup3, from, fd,
			 flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
}

bool remains_pass_on(struct connection *c, int fd)
{
	struct loop l = {-1, -1, -1};
	bool done;

	done = loop_open(&l, fd) && send_ring(c, l.sender);
	/* The end of the stream goes before the place is taken. */
	if (l.sender >= 0)
		sys_close(l.sender);
	l.sender = -1;
	done = done && take_place(c, l.receiver, fd);
	loop_close(&l);
	return done;
}
