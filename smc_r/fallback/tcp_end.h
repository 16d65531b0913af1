/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tcp_end: what TCP tells of the peer's end.
 *
 * The kernel closes connections. Its FIN, or a reset, is the end of a peer that
 * said nothing of its end in the ring. A peer that closes with bytes unread
 * would cause a reset on TCP; here the cursors tell.
 *
 * Locking: none; what is found out is stored once, by atomic words. errno
 * stays.
 *
 * Death: bytes in the ring of a reader that died are a reset, as it left them
 * unread; bytes written after its death are not. So a writer asks TCP first,
 * every 50 us; where an epoll instance hears of the connection, only if that
 * has not asked for a millisecond. In a stream, from its 65th write on, each
 * 8th write looks at the clock, or each one when the last ones took long. A
 * call that finds nothing, or no room, and must not wait asks as well, as it
 * hears no bell.
 *
 * Halves: behind the FIN of a half TCP tells nothing of how the peer ends. A
 * call that asks looks whether anybody still has the peer's socket (sock_diag);
 * a thread that sleeps hears the bell hang up.
 */
#ifndef SMC_R_TCP_END_H
#define SMC_R_TCP_END_H

#include <poll.h>
#include <stdbool.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/os/sys.h"

/* Has the kernel seen the peer's FIN, or a reset? Remembered once true. The FIN
 * of a half alone is none; behind it, it tells when the peer has gone. */
bool tcp_has_ended(struct connection *c, int fd);

/* Did the peer close, or its process end? Nothing comes any more. */
bool tcp_has_hung_up(const struct connection *c, int fd);

/* Is the peer's FIN that of a half (half_close.h), or of both, while the peer
 * is still there? */
static inline bool tcp_end_is_half(const struct connection *c)
{
	struct ends_words w;

	if (!stream_is_shut(c))
		return false;
	w = connection_ends(c);
	return ends_fin_is_half(&w);
}

/* poll() of the socket tells by these events that the peer has ended. A half's
 * FIN would be told for ever; behind it come errors alone. */
static inline short tcp_end_events(const struct connection *c)
{
	return tcp_end_is_half(c) ? 0 : POLLRDHUP;
}

/* The number for poll(), which tells errors whatever is asked: -1 where TCP
 * tells nothing of the peer. */
static inline int tcp_end_fd(const struct connection *c, int fd)
{
	return connection_is_far(c) ? -1 : connection_fd(c, fd);
}
/* For programs that only ever call without waiting: the kernel must be asked
 * now and then, or the death of a peer would go unnoticed. The clock decides,
 * which is looked at every few calls in vain. */
bool tcp_ended_now_and_then(struct connection *c, int fd);
/* Can nobody ring our bell any more? The peer's process has ended, or ends. */
bool tcp_end_hangs_up(const struct connection *c);
/* Takes the socket's pending error (SO_ERROR) as TCP would have it. */
int tcp_error(struct connection *c, int fd);
/* Takes an error that was read already, as tcp_error() does. */
int tcp_error_of(struct connection *c, int error);
/* An error waits to be told. A call that has moved bytes leaves it to the next
 * one; the kernel would give it to a call that asks now. */
bool tcp_error_waits(int fd);

/* Are there bytes of the program's in the kernel's socket? */
bool tcp_has_bytes(int fd);

/* Watches behind the FIN of a half, for a call that may never sleep. It is
 * rarely a system call. Of a peer on another host it finds out how that ended.
 */
void tcp_end_watch_half(struct connection *c, int fd);
static inline void tcp_end_watch(struct connection *c, int fd)
{
	if (connection_is_far(c)) {
		if (connection_peer(c) >= PEER_CLOSED)
			tcp_has_ended(c, fd);
		return;
	}
	if (tcp_end_is_half(c) && !connection_tcp_ended(c))
		tcp_end_watch_half(c, fd);
}

/* What a peer has not read when it dies is a reset, what is written behind its
 * death is none; and no bell tells of an end to a program that calls without
 * waiting. So TCP is asked, now and then. An epoll instance, which may have
 * thousands of members, hears of theirs: a member is asked about where the
 * program has not come to that for long. A program that never looks is told by
 * this alone: a reader that died leaves room for many small writes. */
#define ASK_US          50u
#define ASK_INSTANCE_US 1000u
#define SENDS_A_STREAM  64u
#define SENDS_A_LOOK    8u
void tcp_ask(struct connection *c, int fd);
static inline bool tcp_is_due(const struct connection *c)
{
	const _Atomic uint64_t *instance = relaxed_load(&c->tcp.instance_asked);

	if (!instance)
		return sys_ticks_are_over(c->tcp.asked_ticks, ASK_US);
	return sys_ticks_are_over(c->tcp.asked_ticks, ASK_INSTANCE_US) &&
	       sys_ticks_are_over(relaxed_load(instance), ASK_INSTANCE_US);
}

/* Does this write follow many others at once? The clock is too dear for each of
 * those. */
static inline bool output_goes_on(const struct connection *c)
{
	return c->pace.writes >= SENDS_A_STREAM &&
	       c->pace.writes % SENDS_A_LOOK && !c->pace.slow &&
	       !c->pace.rang &&
	       c->pace.heard_before == relaxed_load(&c->slot->rx.position);
}

static inline void output_watch(struct connection *c, int fd)
{
	if (output_goes_on(c))
		return;
	c->pace.slow = tcp_is_due(c);
	if (__builtin_expect(c->pace.slow, 0))
		tcp_ask(c, fd);
}

/* A call that finds nothing, or no room, and must not wait asks: true when it
 * was told just now that the peer has ended, and should look again. */
bool tcp_ends_now(struct connection *c, int fd);
/* Calls that are rare ask: did the peer die with bytes of ours unread? The
 * kernel knows nothing of such a reset. */
bool tcp_was_reset(struct connection *c, int fd);

#endif
