/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_shutdown: halves of a connection that end. */
#include "smc_r/socket/socket_shutdown.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "smc_r/epoll/epoll_member.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/half_close.h"
#include "smc_r/fallback/recall.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/stream/stream.h"

static void shut_output(struct connection *c, int fd)
{
	struct status_stream *tx = &c->slot->tx;
	bool taken = stream_lock(tx);

	if (!connection_writes_no_more(c))
		half_close_announce(c, fd);
	stream_says_since(c);
	connection_end(c, ENDS_SHUTS_OUT);
	stream_unlock(tx, taken);
	connection_signal_data(c);
	connection_wake_writers(c);
}

static bool is_shut_already(const struct connection *c, int how)
{
	return (how == SHUT_WR || connection_reads_no_more(c)) &&
	       (how == SHUT_RD || connection_writes_no_more(c));
}

int socket_shut_state(struct connection *c)
{
	struct ends_words w = connection_ends(c);
	bool peer_ended = ends_peer(&w) != PEER_OPEN;

	if (connection_phase(c) != PHASE_ACTIVE)
		return 0;
	/* The kernel's socket may not have seen it. */
	if (ends_was_reset(&w))
		return TCP_CLOSE;
	/* Gone back to TCP, where the peer's end may be still to come. */
	if (ends_writes_tcp(&w) &&
	    (!ends_fin_was_told(&w) || ends_reads_tcp(&w)))
		return 0;
	/* TCP tells, but for an end that went by the ring: input_look(). */
	if (ends_reads_tcp(&w) && !(peer_ended && ends_says_shut(&w)))
		return 0;
	if (ends_out_is_shut(&w))
		return peer_ended ? TCP_CLOSE : TCP_FIN_WAIT2;
	return peer_ended ? TCP_CLOSE_WAIT : 0;
}

/* The end of reading alone waits until the ring is empty: demote_input(). */
static int shut_tcp(struct connection *c, int fd, int how)
{
	if (connection_is_shut(c)) {
		recall_forbid(c, fd);
		return real.shutdown(fd, SHUT_RDWR);
	}
	if (how == SHUT_RD && !stream_reads_tcp(c) && !tcp_has_ended(c, fd))
		return 0;
	return (int)SOCKET_KERNEL;
}

/* A reset has ended it all. */
static bool was_reset(struct connection *c, int fd)
{
	uint8_t state = TCP_ESTABLISHED; /* the first byte of struct tcp_info */

	if (!stream_close_was_told(c) && !tcp_has_ended(c, fd))
		return false;
	if (connection_was_reset(c))
		return true;
	/* One of which the programs know nothing is an end in order. */
	if (connection_was_left(c) || connection_is_far(c))
		return false;
	sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, sizeof(state));
	return state == TCP_CLOSE;
}

/* A thread that this call has woken may have ended the connection by now. */
static int shut_both(int fd)
{
	int error = errno;
	int result = real.shutdown(fd, SHUT_RDWR);

	if (result == 0 || errno != ENOTCONN)
		return result;
	errno = error;
	return 0;
}

/* As in socket_send.c: TCP, which was reset, has nothing to shut any more, but
 * to the program the peer has closed and nothing else. */
static int shut_native(struct connection *c, int how)
{
	if ((unsigned)how > SHUT_RDWR || !connection_was_left(c))
		return (int)SOCKET_KERNEL;
	if (how != SHUT_RD)
		connection_end(c, ENDS_LEFT_IS_OVER);
	return 0;
}

/* Messages of the peer may be still to come; TCP takes them after SHUT_RD as
 * well. It wakes every thread, whatever was shut before. */
static int shut_undecided(struct connection *c, int fd, int how)
{
	int result = shut_native(c, how);
	bool is_first = false;
	int error;

	if (result != (int)SOCKET_KERNEL || connection_phase(c) == PHASE_NATIVE)
		return result;
	if (how != SHUT_WR)
		is_first = connection_end(c, ENDS_SHUTS_IN);
	result = real.shutdown(fd, how);
	error = errno;
	/* The mark of a half that is shut tells of it by itself. */
	epoll_wake_members(c, is_first ? AGAIN_NOTHING : AGAIN_END);
	errno = error;
	return result;
}

int socket_shutdown(struct connection *c, int fd, int how)
{
	enum epoll_again again = AGAIN_NOTHING;
	uint32_t phase = connection_phase(c);

	/* On TCP its end alone is said: deferred.h. */
	if (handshake_is_deferred(c))
		handshake_abort(c, fd, REASON_CLOSED);
	if (phase == PHASE_CONNECTING || phase == PHASE_HANDSHAKE) {
		if (handshake_for_write(c, fd, true, NULL) != WAY_RING)
			return shut_undecided(c, fd, how);
		/* A thread that sleeps for the Confirm must wake, whenever
		 * that comes; both halves shut, the kernel wakes it. */
		if (how == SHUT_RD && handshake_withdraw(c, fd))
			return (int)SOCKET_KERNEL;
	} else if (phase == PHASE_NATIVE) {
		return shut_native(c, how);
	}
	first_burst_end();
	demote_serve(c, fd);
	demote_settle(c);
	if (connection_phase(c) == PHASE_NATIVE)
		return (int)SOCKET_KERNEL;
	/* TIME_WAIT, or not even that: there is nothing left to shut. */
	if (socket_shut_state(c) == TCP_CLOSE || was_reset(c, fd)) {
		epoll_wake_members(c, AGAIN_END);
		errno = ENOTCONN;
		return -1;
	}
	if (is_shut_already(c, how))
		again = AGAIN_END;
	if (how == SHUT_WR || how == SHUT_RDWR)
		shut_output(c, fd);
	if (how == SHUT_RD || how == SHUT_RDWR) {
		connection_end(c, ENDS_SHUTS_IN);
		connection_wake_readers(c);
	}
	epoll_wake_members(c, again);
	if (stream_writes_tcp(c))
		return shut_tcp(c, fd, how);
	if (how != SHUT_RD)
		half_close_follow(c, fd);
	/* Half closed, TCP must stay open as long as demotion may need it. */
	if (!is_shut_already(c, SHUT_RDWR)) {
		demote_serve(c, fd);
		return 0;
	}
	if (!connection_is_far(c))
		recall_forbid(c, fd);
	/* One half after the other is the same to it as both at once. */
	connection_end(c, ENDS_SHUTS_BOTH);
	if (connection_is_far(c)) {
		connection_signal_data(c);
		return 0;
	}
	return shut_both(fd);
}
