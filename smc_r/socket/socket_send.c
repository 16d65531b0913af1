/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_send: what a program means when it writes. */
#include "smc_r/socket/socket_io.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "smc_r/epoll/epoll_member.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_call.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/ring_memory.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/direction.h"
#include "smc_r/wait/stall.h"
#include "smc_r/wait/wait.h"

static ssize_t broken_pipe(int flags)
{
	if (!(flags & MSG_NOSIGNAL))
		SYS_CALL3(SYS_tgkill, sys_getpid(), process_tid(), SIGPIPE);
	return socket_fail(EPIPE);
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

		h.msg_iovlen = socket_copy_buffers(v, at, i);
		if (tcp_error_waits(fd))
			break;
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
	return error && error != EPIPE ? socket_fail(error)
				       : broken_pipe(flags);
}

static ssize_t reset_pipe(struct connection *c, int flags)
{
	uint32_t error = atomic_exchange(&c->slot->error, 0);

	connection_end(c, ENDS_ERROR_IS_TOLD);
	return error && error != EPIPE ? socket_fail((int)error)
				       : broken_pipe(flags);
}

/* After the peer's last close TCP knows best what a writer gets, but for an end
 * that it did not see. False: that one is told of now. */
static bool leave_dead_peer(struct connection *c, int fd)
{
	if (stream_is_shut(c) && tcp_error(c, fd))
		return false;
	/* Not without a word, if it is the end of a peer that went back to TCP
	 * and waits for ours. */
	demote_serve(c, fd);
	connection_end(c, ENDS_WRITES_TCP);
	return true;
}

/* A call, and what it needs to wait. */
struct sending {
	struct connection *c;
	int fd;
	int flags;
	bool waits; /* as it was when the call began */
	struct sleeper call;
	struct call_time time;
};

/* The ring takes nothing any more. */
static ssize_t send_fails(const struct sending *s, ssize_t error)
{
	return s->c->closing.disconnected ? broken_pipe(s->flags)
					  : socket_fail((int)-error);
}

/* There is room, and now memory for it; or none, and TCP takes the rest. */
static bool has_got_memory(const struct sending *s)
{
	struct connection *c = s->c;

	if (!ring_memory_is_missing(c) || stream_free(c) == 0)
		return false;
	if (!ring_memory_get(c))
		demote(c, connection_fd(c, s->fd), REASON_MEMORY);
	return true;
}

/* The overflow ring is for that. A program that does not wait may come back
 * only when it has made all of its messages. */
static bool is_avoided(struct sending *s, size_t done, size_t left)
{
	return stall_is_avoided(s->c) ||
	       (!s->waits && done && stall_is_avoided_at_once(s->c, left));
}

/* `left` bytes of memory wait for room, or 0: those of a file. */
static bool send_waits(struct sending *s, size_t done, size_t left,
		       ssize_t *result)
{
	struct connection *c = s->c;
	int error;

	demote_serve(c, s->fd);
	if (has_got_memory(s) || is_avoided(s, done, left))
		return true;
	atomic_fetch_add(&c->slot->tx.blocked, 1);
	if (!s->waits) {
		segment_count(buffer_full);
		epoll_refused(c);
		if (output_is_ready(c, s->fd) ||
		    (!done && tcp_ends_now(c, s->fd)))
			return true;
		*result = done ? (ssize_t)done : socket_fail(EAGAIN);
		return false;
	}
	error = wait_for_output(
	    c, s->fd, socket_time_left(c, s->fd, SO_SNDTIMEO, &s->time),
	    done > 0, &s->call);
	s->fd = connection_fd(c, s->fd);
	socket_wake_instances(c);
	if (error == 0)
		return true;
	*result = done ? (ssize_t)done : socket_fail(-error);
	return false;
}

/* The program is shown only that the peer has closed. The first write to
 * a closed peer succeeds, and is answered by a reset; the kernel's came
 * before. */
static bool is_first_after_end(struct connection *c, int fd)
{
	if (!connection_was_left(c) || !connection_end(c, ENDS_LEFT_IS_OVER))
		return false;
	/* What the peer had sent before is there to be read. */
	if (stream_fill(c) == 0)
		demote_input(c, fd);
	atomic_store(&c->slot->error, EPIPE);
	connection_end(c, ENDS_PEER_RESETS);
	return true;
}

/* What an end that was told of leaves of a call: what it has done, or an error.
 * 0: it goes on. */
static ssize_t send_ends(struct sending *s, size_t done)
{
	struct connection *c = s->c;

	tcp_end_watch(c, s->fd);
	if (__builtin_expect(stream_out_is_plain(c), 1))
		return 0;
	switch (connection_out(c)) {
	case OUT_RING:
	case OUT_ASKED:
	case OUT_TCP:
		return 0;
	case OUT_SHUT:
		return done ? (ssize_t)done : shut_pipe(c, s->fd, s->flags);
	case OUT_RESET:
		return done ? (ssize_t)done : reset_pipe(c, s->flags);
	case OUT_LEFT:
	case OUT_GONE:
		break;
	}
	if (leave_dead_peer(c, s->fd))
		return 0;
	return done ? (ssize_t)done : broken_pipe(s->flags);
}

static ssize_t send_ring(struct sending *s, struct place *place, size_t want)
{
	struct connection *c = s->c;
	size_t done = 0;
	ssize_t result;

	for (;;) {
		ssize_t n;

		if (done == 0 && is_first_after_end(c, s->fd))
			return (ssize_t)want;
		result = send_ends(s, done);
		if (result)
			return result;
		n = stream_put(c, place, want - done);
		if (n > 0) {
			done += (size_t)n;
			/* Asked since the call began: nobody else may come
			 * to serve it for long. */
			demote_serve(c, s->fd);
			if (done == want)
				return (ssize_t)done;
			continue;
		}
		if (n == -EPIPE) {
			demote_serve(c, s->fd);
			demote_settle(c);
			return send_rest(c, s->fd, place, done, s->flags);
		}
		if (n < 0)
			return done ? (ssize_t)done : send_fails(s, n);
		if (!send_waits(s, done, want - done, &result))
			return result;
	}
}

/* Its end is told by the error queue, which only the kernel has. Without the
 * option the kernel does not know the flag. */
static bool is_zero_copy(int fd, int flags)
{
	return (flags & MSG_ZEROCOPY) && sys_socket_option(fd, SO_ZEROCOPY);
}

/* TCP, which did not see the peer's end, would tell another error. */
static bool is_reset_behind(struct connection *c, int fd)
{
	return stream_is_shut(c) && tcp_error(c, fd);
}

/* Moves nothing on TCP either, but tells an error. */
static ssize_t send_nothing(struct sending *s)
{
	struct connection *c = s->c;

	switch (connection_out(c)) {
	case OUT_SHUT:
		return shut_pipe(c, s->fd, s->flags);
	case OUT_RESET:
		return reset_pipe(c, s->flags);
	case OUT_RING:
	case OUT_ASKED:
	case OUT_TCP:
	case OUT_GONE:
	case OUT_LEFT:
		break;
	}
	return is_reset_behind(c, s->fd) ? broken_pipe(s->flags)
					 : SOCKET_KERNEL;
}

/* Over rings. */
static ssize_t send_active(struct sending *s, const struct iovec *v,
			   size_t count)
{
	struct connection *c = s->c;
	size_t want = socket_bytes(v, count);
	struct place place;

	output_watch(c, s->fd);
	if (want == 0)
		return send_nothing(s);
	place_init(&place, v, count);
	return send_ring(s, &place, want);
}

/* Our message was met by the end, and a reset: to TCP nothing can be sent any
 * more, and the first bytes of the program would have been. */
static ssize_t send_native(struct connection *c, const struct iovec *v,
			   size_t count)
{
	size_t want = socket_bytes(v, count);

	if (want == 0 || !connection_was_left(c) ||
	    !connection_end(c, ENDS_LEFT_IS_OVER))
		return SOCKET_KERNEL;
	return (ssize_t)want;
}

ssize_t socket_send_demoted(struct connection *c, int fd, int flags,
			    uint32_t reason)
{
	if (connection_phase(c) == PHASE_ACTIVE && tcp_was_reset(c, fd))
		return reset_pipe(c, flags);
	if (connection_phase(c) == PHASE_ACTIVE && is_reset_behind(c, fd))
		return broken_pipe(flags);
	demote(c, fd, reason);
	return SOCKET_KERNEL;
}

ssize_t socket_send(struct connection *c, int fd, const struct iovec *v,
		    size_t count, int flags)
{
	struct sending s = {
	    .c = c, .fd = fd, .flags = flags, .waits = socket_waits(c, flags)};
	uint32_t phase = connection_phase(c);
	ssize_t result = 0;

	if (phase == PHASE_NATIVE)
		return send_native(c, v, count);
	if (flags & MSG_FASTOPEN)
		return SOCKET_KERNEL;
	if (__builtin_expect(flags & MSG_OOB, 0))
		return socket_send_demoted(c, fd, flags, REASON_DEMOTED_URGENT);
	if (is_zero_copy(fd, flags))
		return socket_send_demoted(c, fd, flags, REASON_DEMOTED_CALL);
	s.call = socket_sleeper(c);
	if (__builtin_expect(phase != PHASE_ACTIVE, 0))
		result = socket_begin(
		    c, &s.fd, handshake_for_write(c, fd, s.waits, &s.call));
	if (result == SOCKET_KERNEL && connection_phase(c) == PHASE_NATIVE)
		result = send_native(c, v, count);
	else if (result == 0)
		result = send_active(&s, v, count);
	if (__builtin_expect(!s.call.begun, 1))
		return result;
	if (result == SOCKET_KERNEL)
		result = socket_by_kernel(c, s.fd, v, count, flags, true);
	sleeper_end(&s.call);
	return result;
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

static ssize_t send_file_rest(const struct sending *s, int in, off_t *offset,
			      size_t count, size_t done)
{
	ssize_t n;

	if (done == 0)
		return SOCKET_KERNEL;
	if (tcp_error_waits(s->fd))
		return (ssize_t)done;
	n = real.sendfile(s->fd, in, offset, count - done);
	return n > 0 ? (ssize_t)done + n : (ssize_t)done;
}

static ssize_t send_file(struct sending *s, int in, off_t *offset, size_t count)
{
	struct connection *c = s->c;
	size_t done = 0;
	ssize_t result;
	int error;

	while (done < count) {
		ssize_t n;

		result = send_ends(s, done);
		if (result)
			return result;
		n = fill_from_file(c, in, offset, count - done, &error);
		if (n > 0) {
			done += (size_t)n;
			demote_serve(c, s->fd);
			continue;
		}
		if (n == -ENODATA)
			return error && !done ? socket_fail(error)
					      : (ssize_t)done;
		if (n == -EPIPE) {
			demote_serve(c, s->fd);
			demote_settle(c);
			return send_file_rest(s, in, offset, count, done);
		}
		if (n < 0)
			return done ? (ssize_t)done : send_fails(s, n);
		if (!send_waits(s, done, 0, &result))
			return result;
	}
	return (ssize_t)done;
}

/* The kernel reads first, and of nothing it sends nothing: 0, whatever became
 * of the socket. */
static bool has_nothing(struct connection *c, int in, const off_t *offset)
{
	off_t at;
	char byte;

	if (!connection_writes_no_more(c) && !stream_close_was_told(c) &&
	    !connection_tcp_ended(c))
		return false;
	at = offset ? *offset : SYS_CALL3(SYS_lseek, in, 0, SEEK_CUR);
	return at >= 0 && SYS_CALL4(SYS_pread64, in, &byte, 1, at) == 0;
}

ssize_t socket_send_file(struct connection *c, int fd, int in, off_t *offset,
			 size_t count)
{
	struct sending s = {.c = c, .fd = fd, .waits = socket_waits(c, 0)};
	ssize_t result = 0;

	if (connection_phase(c) == PHASE_NATIVE)
		return SOCKET_KERNEL;
	s.call = socket_sleeper(c);
	if (connection_phase(c) != PHASE_ACTIVE)
		result = socket_begin(
		    c, &s.fd, handshake_for_write(c, fd, s.waits, &s.call));
	if (count > CALL_BYTES_MAX)
		count = CALL_BYTES_MAX;
	if (result == 0 && tcp_is_due(c))
		tcp_ask(c, s.fd);
	if (result == 0 && !has_nothing(c, in, offset))
		result = send_file(&s, in, offset, count);
	/* The number may mean something else by now, which the kernel does not
	 * know. */
	if (result == SOCKET_KERNEL && atomic_load(&c->closing.fd) > 0)
		result = real.sendfile(connection_fd(c, fd), in, offset, count);
	sleeper_end(&s.call);
	return result;
}
