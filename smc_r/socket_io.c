/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_io: what a program means when it reads or writes. */
#include "socket_io.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "demote.h"
#include "epoll_set.h"
#include "handshake.h"
#include "lock.h"
#include "process.h"
#include "real.h"
#include "reason.h"
#include "segment.h"
#include "stream.h"
#include "sys.h"
#include "wait.h"

/* Buffers that go to the kernel at a time, where a copy of them is needed. */
#define REST_BUFFERS 16

size_t socket_bytes(const struct iovec *v, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += v[i].iov_len;
	return n < CALL_BYTES_MAX ? n : CALL_BYTES_MAX;
}

static size_t good_buffers(const struct iovec *v, size_t count)
{
	size_t i = 0;

	while (i < count &&
	       (v[i].iov_len == 0 || (socket_address(v[i].iov_base) &&
				      v[i].iov_len <= ADDRESS_MOST)))
		i++;
	return i;
}

/* A flag that was set behind our back is found before the first sleep. */
bool socket_waits(struct connection *c, int flags)
{
	return !(flags & MSG_DONTWAIT) &&
	       !(atomic_load_explicit(&c->slot->socket_flags,
				      memory_order_relaxed) &
		 SOCKET_NONBLOCK);
}

/* NULL: for ever. */
static const struct timespec *time_out(struct connection *c, int fd, int name,
				       uint32_t bit, struct timespec *out)
{
	struct timeval t = {0, 0};
	socklen_t n = sizeof(t);

	if (!(atomic_load_explicit(&c->slot->socket_flags,
				   memory_order_relaxed) &
	      bit))
		return NULL;
	if (SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, name, &t, &n, 0) < 0 ||
	    (t.tv_sec == 0 && t.tv_usec == 0))
		return NULL;
	out->tv_sec = t.tv_sec;
	out->tv_nsec = t.tv_usec * 1000;
	return out;
}

static ssize_t fail(int error)
{
	errno = error;
	return -1;
}

/* A sleep takes rings. Others who wait for the same in an epoll instance look
 * again, as theirs may have been among them. */
static void wake_instances(struct connection *c)
{
	if (__builtin_expect(c->members != NULL, 0))
		epoll_poke(c);
}

/* ---- receiving ---- */

static size_t low_water(struct connection *c, int fd, size_t want, int flags)
{
	int mark = 1;
	socklen_t n = sizeof(mark);

	if (flags & MSG_WAITALL)
		return want;
	if (!(atomic_load_explicit(&c->slot->socket_flags,
				   memory_order_relaxed) &
	      SOCKET_RCVLOWAT))
		return 1;
	SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVLOWAT, &mark, &n, 0);
	if (mark < 1)
		mark = 1;
	return (size_t)mark < want ? (size_t)mark : want;
}

/* The error of a reset is told once, and then it is the end of file. */
static ssize_t pending_error(struct connection *c)
{
	if (atomic_load(&c->slot->rx.flags) & STREAM_BROKEN)
		return fail(ECONNRESET);
	if (atomic_exchange(&c->slot->error, 0))
		return fail(ECONNRESET);
	return 0;
}

struct receive {
	struct connection *c;
	int fd;
	int flags;
	struct place place;
	size_t want;
	size_t need;
	size_t done;
};

/* What is left of the buffers, from the i-th, as many as v has room for. */
static size_t copy_buffers(struct iovec *v, const struct place *at, size_t i)
{
	size_t count = at->count - i;

	if (count > REST_BUFFERS)
		count = REST_BUFFERS;
	memcpy(v, at->v + i, count * sizeof(*v));
	if (i == 0) {
		v[0].iov_base = (char *)v[0].iov_base + at->offset;
		v[0].iov_len -= at->offset;
	}
	return count;
}

/* TCP's bytes, if there are any, or all of them are waited for. An error is for
 * the next call, which a look here would take. */
static ssize_t take_behind(const struct receive *r, struct iovec *v,
			   size_t count)
{
	struct msghdr h = {.msg_iov = v, .msg_iovlen = count};
	int there = 0;
	int at_mark = 0;

	if (!(r->flags & MSG_WAITALL) &&
	    (real.ioctl(r->fd, FIONREAD, &there) < 0 || there <= 0))
		return 0;
	/* No call reads across the mark of urgent data (SO_OOBINLINE). */
	if (real.ioctl(r->fd, SIOCATMARK, &at_mark) == 0 && at_mark)
		return 0;
	return real.recvmsg(r->fd, &h, r->flags);
}

/* The bytes before were the ring's, those after are TCP's: one call. What is
 * thrown away (MSG_TRUNC) touches no buffer. */
static ssize_t receive_rest(const struct receive *r)
{
	const struct place *at = &r->place;
	size_t done = r->done;
	struct iovec v[REST_BUFFERS];
	size_t count;
	ssize_t n;

	if (done == 0)
		return SOCKET_KERNEL;
	if (r->flags & MSG_TRUNC) {
		v[0] = (struct iovec){NULL, r->want - done};
		n = take_behind(r, v, 1);
		return (ssize_t)done + (n > 0 ? n : 0);
	}
	for (size_t i = 0; i < at->count; i += count) {
		count = copy_buffers(v, at, i);
		n = take_behind(r, v, count);
		done += n > 0 ? (size_t)n : 0;
		/* What was only looked at would come again. */
		if (n < (ssize_t)socket_bytes(v, count) ||
		    (r->flags & MSG_PEEK))
			break;
	}
	return (ssize_t)done;
}

/* A peer that was killed after it went back to TCP left some there, too. */
static bool has_bytes_behind(struct connection *c, int fd)
{
	int there = 0;

	return stream_is_sealed(c) && stream_fill(c) == 0 &&
	       real.ioctl(fd, FIONREAD, &there) == 0 && there > 0;
}

/* Nothing more for now. True: try again; false: *result is the answer. */
static bool receive_waits(struct receive *r, ssize_t *result)
{
	struct connection *c = r->c;
	struct timespec storage;
	size_t need = r->flags & MSG_PEEK ? r->need : 1;
	int error;

	if (need > c->size)
		need = c->size;
	switch (input_state(c, r->fd, need)) {
	case INPUT_DATA:
		/* Less than needed, and no more will come. */
		if ((r->flags & MSG_PEEK) && r->done > 0)
			break;
		return true;
	case INPUT_END:
		break;
	case INPUT_ERROR:
		if (has_bytes_behind(c, r->fd))
			*result = receive_rest(r);
		else
			*result = r->done ? (ssize_t)r->done : pending_error(c);
		return false;
	case INPUT_KERNEL:
		demote_settle(c);
		*result = receive_rest(r);
		return false;
	case INPUT_NONE:
		c->streak = 0;
		demote_serve(c, r->fd);
		if (!socket_waits(c, r->flags)) {
			*result = r->done ? (ssize_t)r->done : fail(EAGAIN);
			return false;
		}
		error = wait_for_input(
		    c, r->fd, need,
		    time_out(c, r->fd, SO_RCVTIMEO, SOCKET_RCVTIMEO, &storage),
		    r->done > 0);
		wake_instances(c);
		if (error == 0)
			return true;
		*result = r->done ? (ssize_t)r->done : fail(-error);
		return false;
	}
	*result = (ssize_t)r->done;
	return false;
}

/* Room for nothing: TCP waits for a byte all the same. */
static ssize_t receive_nothing(struct receive *r)
{
	ssize_t result;

	r->need = 1;
	place_init(&r->place, NULL, 0);
	while (stream_fill(r->c) == 0)
		if (!receive_waits(r, &result))
			return result;
	return 0;
}

static ssize_t receive_ring(struct receive *r, const struct iovec *v,
			    size_t count)
{
	unsigned how = (r->flags & MSG_PEEK ? TAKE_PEEK : 0) |
		       (r->flags & MSG_TRUNC ? TAKE_DISCARD : 0);
	ssize_t result;

	/* TCP counts the bytes then and touches no buffer. */
	if (how == (TAKE_PEEK | TAKE_DISCARD))
		count = 0;

	place_init(&r->place, v, count);
	for (;;) {
		ssize_t n =
		    stream_take(r->c, &r->place, r->want - r->done, 0, how);

		if (n > 0 && (how & TAKE_PEEK)) {
			r->done = (size_t)n;
			if (r->done < r->want && stream_is_sealed(r->c))
				return receive_rest(r);
			if (r->done >= r->need)
				return n;
			/* Look again from the start when there is more. */
			place_init(&r->place, v, count);
			if (!receive_waits(r, &result))
				return result;
			r->done = 0;
			continue;
		}
		if (n > 0) {
			r->done += (size_t)n;
			if (r->done >= r->need &&
			    (r->done == r->want || !stream_is_sealed(r->c)))
				return (ssize_t)r->done;
		} else if (n == -EPIPE) {
			demote_serve(r->c, r->fd);
			demote_settle(r->c);
			return receive_rest(r);
		} else if (n < 0) {
			return r->done ? (ssize_t)r->done : fail((int)-n);
		}
		if (!receive_waits(r, &result))
			return result;
	}
}

/* A buffer is where none can be: EFAULT, unless the bytes end before it. */
static ssize_t receive_beside(struct receive *r, const struct iovec *v,
			      size_t good)
{
	ssize_t result = receive_nothing(r);

	if (result != 0 || stream_fill(r->c) == 0)
		return result;
	r->want = socket_bytes(v, good);
	if (stream_fill(r->c) > r->want)
		return fail(EFAULT);
	r->need = 1;
	return receive_ring(r, v, good);
}

/* What a call returns before it comes to the ring. */
static ssize_t result_of_way(enum way way)
{
	switch (way) {
	case WAY_RING:
		return 0;
	case WAY_KERNEL:
		return SOCKET_KERNEL;
	case WAY_AGAIN:
		return fail(EAGAIN);
	case WAY_ERROR:
		return -1;
	}
	return SOCKET_KERNEL;
}

static ssize_t receive_before(struct connection *c, int fd, int flags)
{
	return result_of_way(handshake_for_read(c, fd, socket_waits(c, flags)));
}

ssize_t socket_receive(struct connection *c, int fd, const struct iovec *v,
		       size_t count, int flags)
{
	struct receive r = {.c = c, .fd = fd, .flags = flags};
	uint32_t phase = connection_phase(c);
	ssize_t result;
	size_t good;

	if (phase == PHASE_NATIVE || (flags & MSG_ERRQUEUE))
		return SOCKET_KERNEL;
	if (__builtin_expect(flags & MSG_OOB, 0)) {
		demote(c, fd, REASON_DEMOTED_URGENT);
		return SOCKET_KERNEL;
	}
	if (__builtin_expect(phase != PHASE_ACTIVE, 0)) {
		result = receive_before(c, fd, flags);
		if (result)
			return result;
	}
	r.want = socket_bytes(v, count);
	if (r.want == 0)
		return receive_nothing(&r);
	good = good_buffers(v, count);
	if (__builtin_expect(good < count, 0) && !(flags & MSG_TRUNC))
		return receive_beside(&r, v, good);
	r.need = low_water(c, fd, r.want, flags);
	result = receive_ring(&r, v, count);
	if (stream_is_sealed(c) || demote_is_guarded(c))
		demote_guard(c, fd);
	return result;
}

int socket_input_bytes(struct connection *c, int fd, int *out)
{
	int behind = 0;

	/* Pieces of a CLC message are no bytes of the program's. */
	if (connection_phase(c) != PHASE_ACTIVE) {
		switch (handshake_for_read(c, fd, false)) {
		case WAY_RING:
			break;
		case WAY_KERNEL:
			return real.ioctl(fd, FIONREAD, out);
		default:
			*out = 0;
			return 0;
		}
	}
	if (atomic_load(&c->slot->rx.flags) & STREAM_TCP)
		return real.ioctl(fd, FIONREAD, out);
	if (stream_is_sealed(c))
		demote_guard(c, fd);
	*out = (int)stream_fill(c);
	if (*out == 0 && input_state(c, fd, 1) == INPUT_KERNEL)
		return real.ioctl(fd, FIONREAD, out);
	/* Behind the end of a sealed ring the stream goes on. */
	if (stream_is_sealed(c) && real.ioctl(fd, FIONREAD, &behind) == 0)
		*out += behind;
	return 0;
}

/* As tcp_inq_hint(): a FIN that is here counts, so that it is read, too. */
int socket_input_hint(struct connection *c, int fd)
{
	int bytes = 0;
	uint32_t flags;

	socket_input_bytes(c, fd, &bytes);
	if (connection_phase(c) != PHASE_ACTIVE)
		return bytes;
	flags = atomic_load(&c->in_producer->flags);
	if (flags & PRODUCER_SEALED)
		return bytes + tcp_has_ended(c, fd);
	return bytes + ((flags & (PRODUCER_FIN | PRODUCER_CLOSED)) ||
			atomic_load(&c->tcp_ended));
}

/* ---- sending ---- */

static ssize_t broken_pipe(int flags)
{
	if (!(flags & MSG_NOSIGNAL))
		SYS_CALL3(SYS_tgkill, sys_getpid(), process_tid(), SIGPIPE);
	return fail(EPIPE);
}

static ssize_t send_rest(struct connection *c, int fd, const struct place *at,
			 size_t done, int flags)
{
	struct iovec v[REST_BUFFERS];
	struct msghdr h = {.msg_iov = v};

	if (done == 0)
		return SOCKET_KERNEL;
	for (size_t i = 0; i < at->count; i += h.msg_iovlen) {
		ssize_t n;

		h.msg_iovlen = copy_buffers(v, at, i);
		/* What was sent is told, and no signal with it. */
		n = real.sendmsg(fd, &h, flags | MSG_NOSIGNAL);
		done += n > 0 ? (size_t)n : 0;
		if (n < (ssize_t)socket_bytes(v, h.msg_iovlen)) {
			atomic_fetch_add(&c->slot->tx.blocked, 1);
			break;
		}
	}
	return (ssize_t)done;
}

/* As sk_stream_error(): an error that waits to be told goes before EPIPE. */
static ssize_t shut_pipe(struct connection *c, int fd, int flags)
{
	int error = (int)atomic_exchange(&c->slot->error, 0);

	if (!error)
		error = tcp_error(c, fd);
	return error && error != EPIPE ? fail(error) : broken_pipe(flags);
}

static bool was_reset(const struct connection *c)
{
	return __builtin_expect(
	    atomic_load_explicit(&c->slot->rx.flags, memory_order_relaxed) &
		STREAM_RESET,
	    0);
}

static ssize_t reset_pipe(struct connection *c, int flags)
{
	uint32_t error = atomic_exchange(&c->slot->error, 0);

	return error && error != EPIPE ? fail((int)error) : broken_pipe(flags);
}

/* After the peer's last close TCP knows best what a writer gets, but for an end
 * that it did not see. False: that one is told of now. */
static bool leave_dead_peer(struct connection *c, int fd)
{
	uint32_t flags =
	    atomic_load_explicit(&c->in_producer->flags, memory_order_relaxed);

	if (__builtin_expect(
		!(flags & (PRODUCER_CLOSED | PRODUCER_SHUT)) &&
		    !atomic_load_explicit(&c->tcp_ended, memory_order_relaxed),
		1))
		return true;
	if ((flags & PRODUCER_FIN) && tcp_error(c, fd))
		return false;
	atomic_fetch_or(&c->slot->tx.flags, STREAM_TCP);
	return true;
}

static bool send_waits(struct connection *c, int fd, int flags, size_t done,
		       ssize_t *result)
{
	struct timespec storage;
	int error;

	demote_serve(c, fd);
	atomic_fetch_add(&c->slot->tx.blocked, 1);
	if (!socket_waits(c, flags)) {
		segment_count(buffer_full);
		epoll_stalled(c);
		if (output_is_ready(c, fd))
			return true;
		*result = done ? (ssize_t)done : fail(EAGAIN);
		return false;
	}
	error = wait_for_output(
	    c, fd, time_out(c, fd, SO_SNDTIMEO, SOCKET_SNDTIMEO, &storage),
	    done > 0);
	wake_instances(c);
	if (error == 0)
		return true;
	*result = done ? (ssize_t)done : fail(-error);
	return false;
}

/* One that the kernel would refuse is refused when there is room for it. */
static bool has_bad_buffer(struct connection *c, const struct place *p)
{
	return __builtin_expect(good_buffers(p->v, p->count) < p->count, 0) &&
	       !(atomic_load(&c->slot->tx.flags) & STREAM_TCP) &&
	       stream_free(c) > 0;
}

static ssize_t send_ring(struct connection *c, int fd, struct place *place,
			 size_t want, int flags)
{
	size_t done = 0;
	ssize_t result;

	for (;;) {
		ssize_t n;

		if (__builtin_expect(
			atomic_load_explicit(&c->slot->tx.flags,
					     memory_order_relaxed) &
			    STREAM_SHUT,
			0))
			return done ? (ssize_t)done : shut_pipe(c, fd, flags);
		if (was_reset(c))
			return done ? (ssize_t)done : reset_pipe(c, flags);
		if (!leave_dead_peer(c, fd))
			return done ? (ssize_t)done : broken_pipe(flags);
		if (has_bad_buffer(c, place))
			return done ? (ssize_t)done : fail(EFAULT);
		n = stream_put(c, place, want - done);
		if (n > 0) {
			done += (size_t)n;
			/* Asked since the call began: nobody else may come
			 * to serve it for long. */
			demote_serve(c, fd);
			if (done == want)
				return (ssize_t)done;
			continue;
		}
		if (n == -EPIPE) {
			demote_serve(c, fd);
			demote_settle(c);
			return send_rest(c, fd, place, done, flags);
		}
		if (n < 0)
			return done ? (ssize_t)done : fail((int)-n);
		if (!send_waits(c, fd, flags, done, &result))
			return result;
	}
}

static ssize_t send_before(struct connection *c, int fd, int flags)
{
	return result_of_way(
	    handshake_for_write(c, fd, socket_waits(c, flags)));
}

/* Its end is told by the error queue, which only the kernel has. Without the
 * option the kernel does not know the flag. */
static bool is_zero_copy(int fd, int flags)
{
	int on = 0;
	socklen_t n = sizeof(on);

	if (!(flags & MSG_ZEROCOPY))
		return false;
	SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_ZEROCOPY, &on, &n, 0);
	return on;
}

ssize_t socket_send(struct connection *c, int fd, const struct iovec *v,
		    size_t count, int flags)
{
	uint32_t phase = connection_phase(c);
	struct place place;
	size_t want;

	if (phase == PHASE_NATIVE || (flags & MSG_FASTOPEN))
		return SOCKET_KERNEL;
	if (__builtin_expect(flags & MSG_OOB, 0)) {
		demote(c, fd, REASON_DEMOTED_URGENT);
		return SOCKET_KERNEL;
	}
	if (is_zero_copy(fd, flags)) {
		demote(c, fd, REASON_DEMOTED_CALL);
		return SOCKET_KERNEL;
	}
	if (__builtin_expect(phase != PHASE_ACTIVE, 0)) {
		ssize_t result = send_before(c, fd, flags);

		if (result)
			return result;
	}
	want = socket_bytes(v, count);
	if (want == 0 && (atomic_load(&c->slot->tx.flags) & STREAM_SHUT))
		return broken_pipe(flags);
	if (want == 0)
		return SOCKET_KERNEL; /* moves nothing there either */
	output_watch(c, fd);
	place_init(&place, v, count);
	return send_ring(c, fd, &place, want, flags);
}

/* ---- sendfile ---- */

/* One flat piece, from *at on or, without it, from where the file stands.
 * Returns what was read; *end when there is no more. */
static size_t fill_piece(const struct iovec *piece, size_t want, int in,
			 const off_t *at, int *error, bool *end)
{
	size_t k = piece->iov_len < want ? piece->iov_len : want;
	long got;

	if (k == 0)
		return 0;
	got = at ? SYS_CALL4(SYS_pread64, in, piece->iov_base, k, *at)
		 : SYS_CALL3(SYS_read, in, piece->iov_base, k);
	if (got < (long)k)
		*end = true;
	if (got < 0)
		*error = (int)-got;
	return got > 0 ? (size_t)got : 0;
}

/* From the file straight into the ring. Bytes; 0: no room; -ENODATA: end of
 * the file, or *error. */
static ssize_t fill_from_file(struct connection *c, int in, off_t *offset,
			      size_t count, int *error)
{
	struct room room;
	size_t filled = 0;
	bool end = false;
	ssize_t free = stream_room_begin(c, &room);

	*error = 0;
	if (free < 0)
		return free;
	for (int i = 0; i < 2 && !end && filled < count; i++) {
		off_t at = offset ? *offset + (off_t)filled : 0;

		filled += fill_piece(&room.piece[i], count - filled, in,
				     offset ? &at : NULL, error, &end);
	}
	stream_room_end(c, &room, filled);
	if (offset)
		*offset += (off_t)filled;
	if (filled > 0)
		return (ssize_t)filled;
	return end ? -ENODATA : 0;
}

ssize_t socket_send_file(struct connection *c, int fd, int in, off_t *offset,
			 size_t count)
{
	size_t done = 0;
	ssize_t result;
	int error;

	if (connection_phase(c) == PHASE_NATIVE)
		return SOCKET_KERNEL;
	if (connection_phase(c) != PHASE_ACTIVE) {
		result = send_before(c, fd, 0);
		if (result)
			return result;
	}
	if (count > CALL_BYTES_MAX)
		count = CALL_BYTES_MAX;
	while (done < count) {
		ssize_t n;

		if (atomic_load(&c->slot->tx.flags) & STREAM_SHUT)
			return done ? (ssize_t)done : shut_pipe(c, fd, 0);
		if (was_reset(c))
			return done ? (ssize_t)done : reset_pipe(c, 0);
		if (!leave_dead_peer(c, fd))
			return done ? (ssize_t)done : broken_pipe(0);
		n = fill_from_file(c, in, offset, count - done, &error);
		if (n > 0) {
			done += (size_t)n;
			demote_serve(c, fd);
			continue;
		}
		if (n == -ENODATA)
			return error && !done ? fail(error) : (ssize_t)done;
		if (n == -EPIPE) {
			demote_serve(c, fd);
			demote_settle(c);
			if (done == 0)
				return SOCKET_KERNEL;
			result = real.sendfile(fd, in, offset, count - done);
			return result > 0 ? (ssize_t)done + result
					  : (ssize_t)done;
		}
		if (n < 0)
			return done ? (ssize_t)done : fail((int)-n);
		if (!send_waits(c, fd, 0, done, &result))
			return result;
	}
	return (ssize_t)done;
}
