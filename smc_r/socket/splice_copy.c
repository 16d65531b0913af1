/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* splice_copy: splice(2) and sendfile(2) between a ring and a pipe. */
#include "smc_r/socket/splice_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

#include "smc_r/connection/connection.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/stream/stream.h"

#define COPY_BYTES 16384
/* Others the kernel refuses before it looks at anything. */
#define FLAGS_KNOWN                                                            \
	(SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT)

/* False: errno says why not now. *c is NULL when the descriptor is the
 * kernel's. What waits does so behind the pipe, in the call that takes bytes,
 * or gives some. */
static bool ring_of(int fd, bool write, struct connection **c)
{
	enum way way = WAY_RING;

	*c = connection_of(fd);
	if (!*c)
		return true;
	if (connection_phase(*c) == PHASE_NATIVE)
		way = WAY_KERNEL;
	else if (connection_phase(*c) != PHASE_ACTIVE && !write)
		way = handshake_for_read(*c, fd, false, NULL);
	if (way == WAY_KERNEL)
		*c = NULL;
	return way != WAY_ERROR;
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

static bool is_pipe(int fd)
{
	return SYS_CALL3(SYS_fcntl, fd, F_GETPIPE_SZ, 0) > 0;
}

/* The kernel refuses what cannot be read from, or written to. */
static bool is_open_for(int fd, int other_way)
{
	long real_flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);

	return real_flags >= 0 && (real_flags & O_ACCMODE) != other_way;
}

/* And bytes of a pipe for what only appends. */
static bool appends(const struct connection *c)
{
	return c && (atomic_load(&c->slot->socket_flags) & SOCKET_APPENDS);
}

/*
 * What a pipe takes for certain, without waiting. It has room for so many
 * pages, and any byte in it may keep a page from all others: how many do, it
 * does not tell. When poll says so, one is free.
 */
static size_t pipe_room(int fd)
{
	size_t page = getauxval(AT_PAGESZ);
	size_t pages = (size_t)SYS_CALL3(SYS_fcntl, fd, F_GETPIPE_SZ, 0) / page;
	size_t room;
	int used = 0;

	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &used);
	room = (size_t)used < pages ? (pages - (size_t)used) * page : page;
	return room < COPY_BYTES ? room : COPY_BYTES;
}

/* Waits, if that is wanted, until a pipe is ready. 1; 0: nobody is at its other
 * end; -1 with errno. */
static int await_pipe(int fd, short events, unsigned flags)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n = real.poll(&p, 1, pipe_waits(fd, flags) ? -1 : 0);

	if (n == 0)
		errno = EAGAIN;
	if (n <= 0)
		return -1;
	return p.revents & events && !(p.revents & POLLERR);
}

/* The bytes have left the ring: they go into the pipe, even if another thread
 * filled it meanwhile. */
static ssize_t fill_pipe(int fd, const char *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		ssize_t r = real.write(fd, bytes + done, n - done);

		if (r > 0)
			done += (size_t)r;
		else if (errno == EAGAIN)
			real.poll(&p, 1, -1);
		else if (errno != EINTR)
			return done ? (ssize_t)done : -1;
	}
	return (ssize_t)done;
}

/* What the pipe has room for, of what is there; the first piece is waited for.
 */
static ssize_t copy_to_pipe(struct connection *c, int in, int out, size_t n,
			    int flags)
{
	char bytes[COPY_BYTES];
	size_t room = pipe_room(out);
	struct iovec v = {bytes, n < room ? n : room};
	ssize_t got = socket_receive(c, in, &v, 1, flags);

	return got > 0 ? fill_pipe(out, bytes, (size_t)got) : got;
}

static ssize_t ring_to_pipe(struct connection *c, int in, int out, size_t n,
			    unsigned flags)
{
	int ready = await_pipe(out, POLLOUT, flags);
	ssize_t done, got;

	if (ready < 0)
		return -1;
	if (ready == 0) {
		SYS_CALL3(SYS_tgkill, sys_getpid(), process_tid(), SIGPIPE);
		errno = EPIPE;
		return -1;
	}
	done = copy_to_pipe(c, in, out, n, 0);
	/* An end or an error is for the next call, which a look would take. */
	while (done > 0 && (size_t)done < n &&
	       connection_phase(c) == PHASE_ACTIVE && stream_fill(c) > 0 &&
	       await_pipe(out, POLLOUT, SPLICE_F_NONBLOCK) > 0) {
		got = copy_to_pipe(c, in, out, n - (size_t)done, MSG_DONTWAIT);
		if (got <= 0)
			break;
		done += got;
	}
	return done;
}

/* Straight into the ring, so that what it has no room for stays in the pipe. */
static ssize_t pipe_to_ring(struct connection *c, int in, int out, size_t n,
			    unsigned flags)
{
	int ready = await_pipe(in, POLLIN, flags);
	int there = 0;

	if (ready <= 0)
		return ready;
	SYS_CALL3(SYS_ioctl, in, FIONREAD, &there);
	if (there <= 0)
		return SOCKET_KERNEL;
	return socket_send_file(c, out, in, NULL,
				n < (size_t)there ? n : (size_t)there);
}

ssize_t splice_copy(int in, int out, size_t n, unsigned flags)
{
	struct connection *from;
	struct connection *to;

	if (n == 0)
		return 0;
	if (flags & ~(unsigned)FLAGS_KNOWN || (ssize_t)n < 0)
		return SOCKET_KERNEL;
	if (!is_pipe(in) == !is_pipe(out) || !is_open_for(in, O_WRONLY) ||
	    !is_open_for(out, O_RDONLY))
		return SOCKET_KERNEL;
	if (!ring_of(in, false, &from) || !ring_of(out, true, &to))
		return -1;
	if (from && !to)
		return ring_to_pipe(from, in, out, n, flags);
	if (to && !from && !appends(to))
		return pipe_to_ring(to, in, out, n, flags);
	return SOCKET_KERNEL;
}
