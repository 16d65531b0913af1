/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* splice_copy: splice(2) and sendfile(2) between a ring and a pipe. */
#include "splice_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "connection.h"
#include "handshake.h"
#include "process.h"
#include "real.h"
#include "socket_io.h"
#include "stream.h"
#include "sys.h"

#define COPY_BYTES 16384
/* Others the kernel refuses before it looks at anything. */
#define FLAGS_KNOWN                                                            \
	(SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT)

/* False: errno says why not now. *c is NULL when the descriptor is the
 * kernel's. */
static bool ring_of(int fd, bool write, struct connection **c)
{
	enum way way = WAY_RING;

	*c = connection_of(fd);
	if (!*c)
		return true;
	if (connection_phase(*c) < PHASE_ACTIVE)
		way = write ? handshake_for_write(*c, fd, socket_waits(*c, 0))
			    : handshake_for_read(*c, fd, socket_waits(*c, 0));
	if (connection_phase(*c) != PHASE_ACTIVE)
		*c = NULL;
	if (way == WAY_AGAIN)
		errno = EAGAIN;
	return way == WAY_RING || way == WAY_KERNEL;
}

/* SPLICE_F_NONBLOCK is about the pipe; a TCP socket heeds only its own
 * O_NONBLOCK. A pipe that is written to heeds both. */
static bool pipe_waits(int fd, unsigned flags)
{
	long real_flags;

	if (flags & SPLICE_F_NONBLOCK)
		return false;
	real_flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	return real_flags >= 0 && !(real_flags & O_NONBLOCK);
}

/* How much a pipe takes at once without waiting: a page is always free when
 * poll says so, because only whole buffers count. */
static long pipe_room(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int used = 0;
	long size = SYS_CALL3(SYS_fcntl, fd, F_GETPIPE_SZ, 0);

	if (size < 0)
		return -EINVAL;
	if (SYS_CALL3(SYS_poll, &p, 1, 0) != 1)
		return 0;
	if (p.revents & POLLERR)
		return -EPIPE;
	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &used);
	return size - used >= COPY_BYTES + 4096 ? COPY_BYTES : 1;
}

/* One that cannot be written to has no room, either. */
static bool is_read_end(int fd)
{
	return (SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0) & O_ACCMODE) == O_RDONLY;
}

static ssize_t ring_to_pipe(struct connection *c, int in, int out, size_t n,
			    unsigned flags)
{
	char bytes[COPY_BYTES];
	struct iovec v = {bytes, n < sizeof(bytes) ? n : sizeof(bytes)};
	long room = pipe_room(out);
	ssize_t got;

	while (room == 0) {
		struct pollfd p = {.fd = out, .events = POLLOUT};

		if (is_read_end(out)) {
			errno = EBADF;
			return -1;
		}
		if (!pipe_waits(out, flags)) {
			errno = EAGAIN;
			return -1;
		}
		if (real.poll(&p, 1, -1) < 0)
			return -1;
		room = pipe_room(out);
	}
	if (room == -EPIPE)
		SYS_CALL3(SYS_tgkill, sys_getpid(), process_tid(), SIGPIPE);
	if (room < 0) {
		errno = (int)-room;
		return -1;
	}
	if (v.iov_len > (size_t)room)
		v.iov_len = (size_t)room;
	got = socket_receive(c, in, &v, 1, 0);
	if (got <= 0)
		return got;
	return real.write(out, bytes, (size_t)got);
}

/* Takes from the pipe only what the ring has room for. */
static ssize_t pipe_to_ring(struct connection *c, int in, int out, size_t n,
			    unsigned flags)
{
	char bytes[COPY_BYTES];
	size_t room = stream_free(c);
	struct iovec v = {bytes, 0};
	ssize_t got;
	int there = 0;

	if (n > sizeof(bytes))
		n = sizeof(bytes);
	if (room > 0 && n > room)
		n = room;
	if (room == 0 && !socket_waits(c, 0)) {
		errno = EAGAIN;
		return -1;
	}
	SYS_CALL3(SYS_ioctl, in, FIONREAD, &there);
	if (there == 0 && (flags & SPLICE_F_NONBLOCK)) {
		struct pollfd p = {.fd = in, .events = POLLIN};

		if (SYS_CALL3(SYS_poll, &p, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
	}
	got = real.read(in, bytes, n);
	if (got <= 0)
		return got;
	v.iov_len = (size_t)got;
	got = socket_send(c, out, &v, 1, 0);
	return got == SOCKET_KERNEL ? real.write(out, bytes, v.iov_len) : got;
}

ssize_t splice_copy(int in, int out, size_t n, unsigned flags)
{
	struct connection *from;
	struct connection *to;

	if (n == 0)
		return 0;
	if (flags & ~(unsigned)FLAGS_KNOWN)
		return SOCKET_KERNEL;
	if (!ring_of(in, false, &from) || !ring_of(out, true, &to))
		return -1;
	if (from && !to)
		return ring_to_pipe(from, in, out, n, flags);
	if (to && !from)
		return pipe_to_ring(to, in, out, n, flags);
	return SOCKET_KERNEL;
}
