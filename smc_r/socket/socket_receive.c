/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_receive: what a program means when it reads. */
#include "smc_r/socket/socket_io.h"

#include <errno.h>
#include <sys/ioctl.h>

#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/half_close.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_call.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/direction.h"
#include "smc_r/wait/wait.h"

/* The error of a reset is told once, and then it is the end of file. */
static ssize_t pending_error(struct connection *c)
{
	int owed = connection_owed_error(c);

	if (owed)
		return socket_fail(owed);
	if (stream_is_broken(c))
		return socket_fail(ECONNRESET);
	if (atomic_exchange(&c->slot->error, 0))
		return socket_fail(ECONNRESET);
	return 0;
}

struct receive {
	struct connection *c;
	int fd;
	int flags;
	bool waits; /* as it was when the call began */
	bool has_part;
	struct place place;
	size_t want;
	size_t need;
	size_t done;
	size_t seen; /* at the last look; somebody may have taken it */
	struct sleeper call;
	struct call_time time;
};

/* TCP's bytes, if there are any, or all of them are waited for. An error is for
 * the next call, which a look here would take. */
static ssize_t take_behind(const struct receive *r, struct iovec *v,
			   size_t count)
{
	struct msghdr h = {.msg_iov = v, .msg_iovlen = count};
	int at_mark = 0;

	if (!tcp_has_bytes(r->fd) &&
	    (!(r->flags & MSG_WAITALL) || tcp_error_waits(r->fd)))
		return 0;
	/* No call reads across the mark of urgent data (SO_OOBINLINE). */
	if (real.ioctl(r->fd, SIOCATMARK, &at_mark) == 0 && at_mark)
		return 0;
	return real.recvmsg(r->fd, &h, r->flags);
}

/* Shut both ways, and the peer died with bytes unread: TCP knows of an end. Or
 * it is an end to the program, and a reset to TCP. */
static ssize_t receive_tcp(const struct receive *r)
{
	struct ends_words w = connection_ends(r->c);

	if (ends_was_left(&w) && !tcp_has_bytes(r->fd))
		return 0;
	/* It is not told behind the peer's end. */
	if (connection_owes_error(r->c) && !tcp_has_bytes(r->fd) &&
	    !tcp_has_ended(r->c, r->fd))
		return pending_error(r->c);
	if (!ends_both_are_shut(&w) || !tcp_has_ended(r->c, r->fd) ||
	    !atomic_load(&r->c->slot->error) || tcp_has_bytes(r->fd))
		return SOCKET_KERNEL;
	return pending_error(r->c);
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
		return receive_tcp(r);
	if (r->flags & MSG_TRUNC) {
		v[0] = (struct iovec){NULL, r->want - done};
		n = take_behind(r, v, 1);
		return (ssize_t)done + (n > 0 ? n : 0);
	}
	for (size_t i = 0; i < at->count; i += count) {
		count = socket_copy_buffers(v, at, i);
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
	return stream_is_sealed(c) && stream_fill(c) == 0 && tcp_has_bytes(fd);
}

/* MSG_PEEK waits for one byte more than were seen: what ends a later sleep
 * finds all that came before it seen. Another thread may have taken some. */
static size_t wanted(const struct receive *r)
{
	size_t fill;

	if (!(r->flags & MSG_PEEK))
		return 1;
	fill = stream_fill(r->c);
	return (fill < r->done ? fill : r->done) + 1;
}

static ssize_t any_part(const struct receive *r)
{
	return (ssize_t)(r->done ? r->done : r->seen);
}

/* A reset goes before what the program shut itself, but not before the peer's
 * end. */
static bool is_reset_first(struct connection *c, int fd)
{
	return connection_reads_no_more(c) && !stream_is_shut(c) &&
	       tcp_was_reset(c, fd);
}

/* Nothing more for now. True: try again; false: *result is the answer. */
static bool receive_waits(struct receive *r, ssize_t *result)
{
	struct connection *c = r->c;
	size_t need = wanted(r);
	size_t fill;
	int error;

	if (need > connection_limit_in(c))
		need = connection_limit_in(c);
	switch (input_state(c, r->fd, need)) {
	case INPUT_DATA:
		/* Less than needed, and no more will come, or fits. */
		fill = stream_fill(c);
		if ((r->flags & MSG_PEEK) && r->done > 0 &&
		    (fill < need || fill == r->done))
			break;
		return true;
	case INPUT_END:
		if (!any_part(r) && is_reset_first(c, r->fd)) {
			*result = pending_error(c);
			return false;
		}
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
		c->pace.streak = 0;
		demote_serve(c, r->fd);
		if (connection_owes_error(c)) {
			*result = r->done ? (ssize_t)r->done : pending_error(c);
			return false;
		}
		if (!r->waits && !r->done && tcp_ends_now(c, r->fd))
			return true;
		if (!r->waits) {
			*result =
			    r->done ? (ssize_t)r->done : socket_fail(EAGAIN);
			return false;
		}
		error = wait_for_input(
		    c, r->fd, need,
		    socket_time_left(c, r->fd, SO_RCVTIMEO, &r->time),
		    any_part(r) > 0 || r->has_part, &r->call);
		r->fd = connection_fd(c, r->fd);
		socket_wake_instances(c);
		if (error == 0)
			return true;
		*result = any_part(r) ? any_part(r) : socket_fail(-error);
		return false;
	}
	*result = any_part(r);
	return false;
}

/* Room for nothing: TCP waits for a byte all the same, or for any signal, as it
 * does not look again. */
static ssize_t receive_nothing(struct receive *r)
{
	ssize_t result;

	r->need = 1;
	r->has_part = true;
	place_init(&r->place, NULL, 0);
	while (stream_fill(r->c) == 0)
		if (!receive_waits(r, &result))
			return result;
	return 0;
}

/* What ended such a wait, a signal or SO_RCVTIMEO, TCP does not tell. */
static ssize_t nothing_came(const struct receive *r, const struct iovec *v,
			    size_t count, ssize_t result)
{
	return result == -1 && r->waits &&
		       (errno == EINTR || errno == EAGAIN) &&
		       socket_bytes(v, count) == 0
		   ? 0
		   : result;
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
			/* Recalled bytes come again over TCP: do not count
			 * them. */
			bool moved = stream_is_recalled(r->c);

			r->done = moved ? 0 : (size_t)n;
			r->seen = r->done;
			if (r->done < r->want && !moved &&
			    stream_is_sealed(r->c))
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
			return r->done ? (ssize_t)r->done
				       : socket_fail(r->c->closing.disconnected
							 ? EPIPE
							 : (int)-n);
		}
		if (!receive_waits(r, &result))
			return result;
	}
}

static ssize_t receive_any(struct receive *r, const struct iovec *v,
			   size_t count)
{
	ssize_t result;

	r->want = socket_bytes(v, count);
	if (r->want == 0)
		return receive_nothing(r);
	r->need = r->flags & MSG_WAITALL
		      ? r->want
		      : input_low_water(r->c, r->fd, r->want);
	result = receive_ring(r, v, count);
	if (stream_is_shut(r->c))
		half_close_tell(r->c);
	if (stream_is_sealed(r->c) || demote_is_guarded(r->c))
		demote_guard(r->c, connection_fd(r->c, r->fd));
	return result;
}

ssize_t socket_receive(struct connection *c, int fd, const struct iovec *v,
		       size_t count, int flags)
{
	struct receive r = {.c = c,
			    .fd = fd,
			    .flags = flags & ~SOCKET_HAS_PART,
			    .waits = socket_waits(c, flags),
			    .has_part = flags & SOCKET_HAS_PART};
	uint32_t phase = connection_phase(c);
	ssize_t result = 0;

	if (phase == PHASE_NATIVE || (flags & MSG_ERRQUEUE))
		return SOCKET_KERNEL;
	if (__builtin_expect(flags & MSG_OOB, 0)) {
		demote(c, fd, REASON_DEMOTED_URGENT);
		return SOCKET_KERNEL;
	}
	r.call = socket_sleeper(c);
	if (__builtin_expect(phase != PHASE_ACTIVE, 0))
		result = socket_begin(
		    c, &r.fd, handshake_for_read(c, fd, r.waits, &r.call));
	if (result == 0)
		result = receive_any(&r, v, count);
	else if (result == SOCKET_END)
		result = 0;
	result = nothing_came(&r, v, count, result);
	if (__builtin_expect(!r.call.begun, 1))
		return result;
	if (result == SOCKET_KERNEL)
		result = socket_by_kernel(c, r.fd, v, count, r.flags, false);
	sleeper_end(&r.call);
	return result;
}

int socket_input_bytes(struct connection *c, int fd, int *out)
{
	int behind = 0;

	/* Pieces of a CLC message are no bytes of the program's. */
	if (connection_phase(c) != PHASE_ACTIVE) {
		switch (handshake_for_read(c, fd, false, NULL)) {
		case WAY_RING:
			break;
		case WAY_KERNEL:
			return real.ioctl(fd, FIONREAD, out);
		default:
			*out = 0;
			return 0;
		}
	}
	if (stream_reads_tcp(c))
		return real.ioctl(fd, FIONREAD, out);
	if (stream_is_sealed(c)) {
		demote_serve(c, fd);
		if (stream_reads_tcp(c))
			return real.ioctl(fd, FIONREAD, out);
	}
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

	socket_input_bytes(c, fd, &bytes);
	if (connection_phase(c) != PHASE_ACTIVE)
		return bytes;
	if (stream_is_sealed(c))
		return bytes + (tcp_has_ended(c, fd) || half_close_has_come(c));
	return bytes + (connection_peer(c) != PEER_OPEN);
}
