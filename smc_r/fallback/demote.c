/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* demote: a connection goes back to plain TCP in mid-stream. */
#include "smc_r/fallback/demote.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "smc_r/connection/sleepers.h"
#include "smc_r/fallback/far_relay.h"
#include "smc_r/fallback/half_close.h"
#include "smc_r/fallback/recall.h"
#include "smc_r/fallback/relay.h"
#include "smc_r/fallback/send_for_peer.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/messages.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream.h"

#define CLAIM_WAIT_MS 1000
#define SEND_FOR_PEER_AFTER_MS                                                 \
	5 /* a peer that sleeps in a call has woken by then */
#define ARRIVE_NAP_NS 100000
#define ARRIVE_NAPS   50 /* without anything more */

/* The first reason counts, and the peer's where a peer told one. */
static void note(struct connection *c, uint32_t reason)
{
	uint32_t peer_reason = c->slot->peer_reason;

	if (c->slot->reason != REASON_NONE)
		return;
	c->slot->reason = reason;
	segment_count(demoted);
	segment_count(
	    fallbacks[reason_index(peer_reason ? peer_reason : reason)]);
}

static void ring_both(struct connection *c)
{
	bell_ring(c->bells.peer_room);
	bell_ring(c->bells.peer_data);
}

/* ---- our writing direction ---- */

/* The reader may be sending the rest in our place. We wait for it no longer
 * than that takes: the reader may have died. */
static void claim_rest(struct connection *c)
{
	for (int i = 0; i < CLAIM_WAIT_MS; i++) {
		uint32_t rest = REST_OPEN;

		if (atomic_compare_exchange_strong(&c->out_consumer->rest,
						   &rest, REST_WRITER) ||
		    rest != REST_READER)
			return;
		sys_nap(1000000);
	}
}

static void send_frozen(struct connection *c, int fd)
{
	uint64_t end = atomic_load(&c->slot->tx.position);
	uint64_t cursor;

	claim_rest(c);
	cursor = atomic_load(&c->out_consumer->cursor);
	if (cursor <= end && end - cursor <= c->size)
		connection_send_ring(c, fd, cursor, end);
}

/* The stream lock of tx is held. alone: this is not on top of a copy of ours,
 * whose bytes come later. */
static void seal(struct connection *c, int fd, bool alone)
{
	struct ends_words w = connection_ends(c);

	if (ends_writes_tcp(&w))
		return;
	if (ends_rest_is_asked(&w))
		send_frozen(c, fd);
	else if (alone)
		recall_unread(c, fd);
	messages_forget(fd);
	connection_end(c, ENDS_SEALS);
	inject_nap();
	/* What the program had shut stays shut on the other path. */
	if (connection_writes_no_more(c))
		real.shutdown(fd, SHUT_WR);
}

static void seal_output(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->tx);

	seal(c, fd, taken);
	stream_unlock(&c->slot->tx, taken);
	ring_both(c);
}

static void guard(struct connection *c, int fd, bool on)
{
	struct linger l = {on, 0};

	if (c->closing.lingers ||
	    on == !!(atomic_load(&c->slot->socket_flags) & SOCKET_GUARDED))
		return;
	SYS_CALL6(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l), 0);
	if (on)
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_GUARDED);
	else
		atomic_fetch_and(&c->slot->socket_flags,
				 ~(uint32_t)SOCKET_GUARDED);
}

/* One end has gone to TCP: the writer, or ours, which asked it to. */
static bool is_leaving(const struct connection *c)
{
	return stream_is_sealed(c) || stream_writes_tcp(c);
}

void demote_guard(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->rx);

	guard(c, fd,
	      is_leaving(c) && stream_fill(c) > 0 && !stream_reads_tcp(c) &&
		  !stream_is_frozen(c));
	stream_unlock(&c->slot->rx, taken);
}

/* A link service tells why there is no SMC with the peer. */
static uint32_t reason_of_peer(const struct connection *c)
{
	uint32_t reason = c->tcp.silent ? atomic_load(&c->control->reason) : 0;

	if (c->tcp.silent)
		c->slot->peer_reason = atomic_load(&c->control->peer_reason);
	return reason ? reason : REASON_DEMOTED_PEER;
}

void demote_serve(struct connection *c, int fd)
{
	if (stream_owes_fin(c))
		half_close_send(c, fd);
	if (stream_is_recalled(c))
		demote_recalled(c, fd);
	if (stream_is_sealed(c))
		demote_guard(c, fd);
	if (!stream_seal_is_due(c))
		return;
	note(c, reason_of_peer(c));
	seal_output(c, fd);
}

/* ---- our reading direction ---- */

static void ask_writer(struct connection *c, enum ends_event what)
{
	connection_end(c, what);
	ring_both(c);
}

static void freeze(struct connection *c)
{
	struct status_stream *rx = &c->slot->rx;
	bool taken = stream_lock(rx);

	atomic_store(&c->slot->frozen, atomic_load(&rx->position));
	connection_end(c, ENDS_FREEZES);
	atomic_store(&c->in_consumer->cursor, atomic_load(&rx->position));
	stream_unlock(rx, taken);
}

static bool input_is_sealed(struct connection *c)
{
	return stream_reads_tcp(c) || stream_is_sealed(c);
}

/* The handshake looked to TCP like a conversation, whose answers carry the
 * acknowledgements. Where the next ones would wait for those, so would bytes
 * that the peer sends behind few (Nagle), and a FIN of ours may overtake them.
 */
static void acknowledge_at_once(int fd)
{
	sys_set_option(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

void demote_input(struct connection *c, int fd)
{
	if (!connection_end(c, ENDS_READS_TCP))
		return;
	acknowledge_at_once(fd);
	if (connection_reads_no_more(c) && !connection_writes_no_more(c))
		SYS_CALL3(SYS_shutdown, fd, SHUT_RD, 0);
}

/* The writer sealed after a freeze: what lay in the ring comes over TCP. */
static void leave_frozen_ring(struct connection *c, int fd)
{
	struct status_stream *rx = &c->slot->rx;
	bool taken = stream_lock(rx);

	demote_input(c, fd);
	stream_unlock(rx, taken);
	connection_wake_readers(c);
}

bool demote_recalled(struct connection *c, int fd)
{
	if (stream_reads_tcp(c) || stream_is_broken(c))
		return true;
	if (!recall_is_done(c, fd))
		return false;
	leave_frozen_ring(c, fd);
	return true;
}

/* The rest is in the ring for good, and a relay would give it to the successor
 * alone. If that just inherits the descriptor of a process that goes on, that
 * process is the one to read it. */
static bool is_kept(enum successor successor)
{
	return successor == SUCCESSOR_BESIDE ||
	       (successor == SUCCESSOR_INHERITS && process_is_foreign());
}

/* The parent of one that inherits may go on, too, or is about to close. */
static bool is_shared(struct connection *c, enum successor successor)
{
	return successor == SUCCESSOR_INHERITS &&
	       !segment_slot_is_mine(c->slot);
}

/* False when the writer may send what is unread after all. */
static bool leave_ring(struct connection *c, int fd)
{
	struct status_stream *rx = &c->slot->rx;
	bool taken = stream_lock(rx);
	bool stays = input_is_sealed(c) || tcp_has_hung_up(c, fd);

	stays = stays && atomic_load(&c->in_consumer->rest) != REST_WRITER;
	if (stays)
		connection_end(c, ENDS_THAWS);
	stream_unlock(rx, taken);
	return stays;
}

/* Rings are for the first sleeper: another one looks by the clock. True: go on
 * waiting. */
static bool wait_round(struct connection *c, int fd, unsigned ms)
{
	bool first = sleepers_first(place_for_data(c));
	struct pollfd p[2] = {
	    {.fd = first ? c->bells.data : -1, .events = POLLIN},
	    {.fd = fd, .events = POLLRDHUP},
	};

	SYS_CALL3(SYS_poll, p, 2, first ? ms : 1);
	if (p[0].revents) {
		bell_drain(c->bells.data);
		/* A thread that waits in an epoll instance may have been meant.
		 */
		if (c->epoll.members)
			connection_on_rings(c);
	}
	/* The peer is gone: the ring's rest is ours to pass on. */
	return !(p[1].revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static bool wait_for_seal(struct connection *c, int fd, unsigned ms)
{
	uint64_t end = sys_end_in_ms(ms);
	bool goes_on = true;

	sleepers_join(place_for_data(c));
	while (goes_on && !input_is_sealed(c) && sys_left_ns(end) > 0)
		goes_on = wait_round(c, fd, ms);
	sleepers_leave(place_for_data(c));
	return input_is_sealed(c);
}

/* ---- both ---- */

/* What the peer's host has sent, and is to get, no other TCP stream carries. */
static bool relay_far(struct connection *c, int fd, uint32_t reason)
{
	if (stream_reads_tcp(c))
		return true;
	if (!far_relay_start(c, fd))
		return false;
	note(c, reason);
	connection_wake_readers(c);
	connection_wake_writers(c);
	demote_settle(c);
	return true;
}

void demote(struct connection *c, int fd, uint32_t reason)
{
	uint32_t phase = connection_phase(c);

	if (phase == PHASE_CONNECTING || phase == PHASE_HANDSHAKE) {
		handshake_abort(c, fd, reason);
		phase = connection_phase(c);
	}
	if (phase != PHASE_ACTIVE)
		return;
	if (connection_is_far(c) &&
	    (relay_far(c, fd, reason) || connection_is_far(c)))
		return;
	note(c, reason);
	seal_output(c, fd);
	ask_writer(c, ENDS_ASKS_SEAL);
	demote_guard(c, fd);
	demote_settle(c);
}

/* Is what the reader left on its way over TCP? A writer that had sealed before
 * we froze owes nothing, and later bytes are on TCP already. */
static bool rest_is_sent(struct connection *c, int fd)
{
	/* The end of the stream must be on TCP already, or come there now. */
	if (stream_fill(c) == 0 &&
	    (!stream_is_shut(c) || half_close_has_come(c)))
		return true;
	if (connection_is_shut(c))
		return false;
	if (!wait_for_seal(c, fd, SEND_FOR_PEER_AFTER_MS) &&
	    send_for_peer_rest(c, fd))
		return true;
	return wait_for_seal(c, fd, DEMOTE_WAIT_MS) &&
	       atomic_load(&c->in_consumer->rest) == REST_WRITER;
}

/* A successor may look once, and is to find what was there. Less may come: TCP
 * takes no more before it is read, or another process reads it meanwhile. */
static void await_rest(int fd, uint64_t bytes)
{
	int before = 0;

	for (int naps = 0; naps < ARRIVE_NAPS; naps++) {
		int there = 0;

		SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
		if (there < 0 || (uint64_t)there >= bytes)
			return;
		if (there != before)
			naps = 0;
		before = there;
		sys_nap(ARRIVE_NAP_NS);
	}
}

static bool hand_over(struct connection *c, int fd, uint32_t reason,
		      enum successor successor)
{
	uint64_t left;

	if (connection_is_far(c) && relay_far(c, fd, reason))
		return true;
	if (connection_is_far(c))
		return false;
	/* A connection under several numbers is frozen once. */
	if (stream_is_frozen(c))
		return true;
	note(c, reason);
	if (stream_is_recalled(c))
		recall_is_done(c, fd);
	freeze(c);
	left = stream_fill(c);
	demote_guard(c, fd);
	if (!connection_is_shut(c))
		ask_writer(c, ENDS_ASKS_REST);
	ask_writer(c, ENDS_ASKS_SEAL);
	seal_output(c, fd);
	if (!rest_is_sent(c, fd) && stream_fill(c) > 0) {
		bool kept = is_kept(successor) && leave_ring(c, fd);
		bool shared =
		    !kept && is_shared(c, successor) && leave_ring(c, fd);

		if (kept || !relay_start(c, fd, shared))
			return false;
		if (shared)
			return true;
	} else {
		await_rest(fd, left);
	}
	leave_frozen_ring(c, fd);
	demote_settle(c);
	return true;
}

bool demote_for_successor(struct connection *c, int fd, uint32_t reason,
			  enum successor successor)
{
	uint32_t phase = connection_phase(c);

	if (phase == PHASE_CONNECTING || phase == PHASE_HANDSHAKE) {
		handshake_abort(c, fd, reason);
		handshake_for_successor(c, fd);
		phase = connection_phase(c);
	}
	return phase != PHASE_ACTIVE || hand_over(c, fd, reason, successor);
}

void demote_settle(struct connection *c)
{
	if (!stream_reads_tcp(c) || !stream_writes_tcp(c))
		return;
	/* TCP does not know of the error that is owed. */
	if (connection_owes_error(c))
		return;
	engine_lock();
	if (connection_phase(c) == PHASE_ACTIVE) {
		connection_set_native(c);
		atomic_store(&c->slot->state,
			     c->slot->reason ? STATUS_TCP : STATUS_CLOSING);
	}
	engine_unlock();
}
