/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* readiness: what poll() would say of a connection, from its cursors. */
#include "smc_r/wait/readiness.h"

#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/direction.h"
#include "smc_r/wait/stall.h"

static uint32_t kernel_bits(int fd, short events)
{
	return (uint32_t)(unsigned short)sys_poll(fd, events, 0);
}

#define ALL_IN  (POLLIN | POLLRDNORM)
#define ALL_OUT (POLLOUT | POLLWRNORM)
#define ALL     (ALL_IN | ALL_OUT | POLLPRI | POLLRDHUP)

/* A server writes into the ring before its client has said that it reads. */
static bool is_full_already(struct connection *c)
{
	return handshake_way(c, true) == WAY_RING &&
	       !stream_has_room(c, stream_free(c));
}

/* An acceptor that speaks over TCP did not hear the knock. */
static bool is_knock_in_vain(const struct connection *c, uint32_t bits)
{
	return knock_is_pending(c) &&
	       (bits & (ALL_IN | POLLRDHUP | POLLERR | POLLHUP));
}

/* Is it hidden that the program can write? */
static bool hides_output(struct connection *c, int fd, enum handshake_turn turn)
{
	switch (turn) {
	case HANDSHAKE_KNOCK:
	case HANDSHAKE_HIDE:
		return true;
	case HANDSHAKE_TELL:
		break;
	case HANDSHAKE_GIVE_UP:
		handshake_abort(c, fd, REASON_TIMEOUT);
		return handshake_way(c, true) == WAY_AGAIN;
	}
	return is_full_already(c);
}

static uint32_t before_active(struct connection *c, int fd, uint32_t asked,
			      uint64_t *now)
{
	struct handshake_view view;
	uint32_t bits = 0;
	uint32_t phase;

	if (*now == 0)
		*now = sys_now_ns();
	view = handshake_look(c, fd, asked & ALL_OUT, *now);
	phase = view.phase;
	if (phase != PHASE_ACTIVE)
		bits = kernel_bits(fd, ALL);
	if (phase == PHASE_HANDSHAKE && is_knock_in_vain(c, bits)) {
		phase = handshake_step(c, fd);
		if (phase != PHASE_ACTIVE)
			bits = kernel_bits(fd, ALL);
	}
	if (phase == PHASE_ACTIVE)
		return readiness(c, fd, asked, now);
	if (phase != PHASE_HANDSHAKE)
		return bits;
	/* If the kernel finds it readable, there is a piece of a CLC message.
	 */
	if (!(bits & (POLLERR | POLLHUP)) && !connection_reads_no_more(c))
		bits &= ~(uint32_t)(ALL_IN | POLLRDHUP);
	if ((asked & ALL_OUT) && hides_output(c, fd, view.turn))
		bits &= ~(uint32_t)ALL_OUT;
	return bits;
}

/* A writer that waits for room must not wait for an empty ring. */
static void signal_empty(struct connection *c)
{
	if (relaxed_load(&c->peer_wait->armed_room))
		connection_signal_room(c);
}

static uint32_t input_bits(struct connection *c, int fd)
{
	uint32_t pri = 0;

	/* The mark is at most what is there before a writer that waits for room
	 * may go on. */
	switch (input_look(c, fd, input_low_water(c, fd, stream_mark(c)))) {
	case INPUT_NONE:
		signal_empty(c);
		return 0;
	case INPUT_DATA:
		/* Urgent bytes are told of before the bytes ahead of them are
		 * read. */
		if (stream_is_sealed(c))
			pri = kernel_bits(fd, POLLPRI) & POLLPRI;
		return ALL_IN | pri |
		       (connection_peer(c) == PEER_OPEN ? 0 : POLLRDHUP);
	case INPUT_END:
		return ALL_IN | POLLRDHUP;
	case INPUT_ERROR:
		return ALL_IN | POLLRDHUP;
	case INPUT_KERNEL:
		return kernel_bits(fd, ALL_IN | POLLRDHUP | POLLPRI);
	}
	return 0;
}

static uint32_t output_bits(struct connection *c, int fd)
{
	if (stream_writes_tcp(c))
		return kernel_bits(fd, ALL_OUT);
	switch (connection_out(c)) {
	case OUT_SHUT:
	case OUT_LEFT:
	case OUT_RESET:
	case OUT_GONE:
		return ALL_OUT;
	case OUT_TCP:
		return kernel_bits(fd, ALL_OUT);
	case OUT_ASKED:
	case OUT_RING:
		break;
	}
	if (stream_has_room(c, stream_free(c)))
		return ALL_OUT;
	return stall_is_over(c, fd) ? kernel_bits(fd, ALL_OUT) : 0;
}

/* Only bytes are left to judge: nothing is shut, sealed, demoted or ended, and
 * there is no mark to reach. */
static bool is_plain(const struct connection *c)
{
	return connection_is_plain(c) &&
	       !(relaxed_load(&c->slot->socket_flags) & SOCKET_RCVLOWAT);
}

static uint32_t plain_bits(struct connection *c, uint32_t asked)
{
	uint32_t bits = 0;

	if (asked & ALL_IN) {
		if (stream_knows_bytes(c) || stream_fill(c) > 0)
			bits |= ALL_IN;
		else if (stream_input_is_broken(c))
			bits |= ALL_IN | POLLRDHUP | POLLERR;
		else
			signal_empty(c);
	}
	if ((asked & ALL_OUT) &&
	    (stream_knows_room(c) || stream_has_room(c, stream_free(c))))
		bits |= ALL_OUT;
	return bits;
}

/* What both ends' states add to what the rings tell. */
static uint32_t end_bits(struct connection *c, int fd, uint32_t bits)
{
	struct ends_words w = connection_ends(c);
	enum ends_peer peer = ends_peer(&w);
	bool shut = ends_out_is_shut(&w);

	if (ends_in_is_shut(&w))
		bits |= ALL_IN | POLLRDHUP;
	/* When both directions are over, TCP tells POLLHUP. */
	if ((bits & POLLRDHUP) && shut)
		bits |= POLLHUP;
	/* If either end shut it both ways, TCP is, too, and what the other one
	 * still sent resets it. In TIME_WAIT it reports no errors, as
	 * tcp_error() says. */
	if (w.tcp != ENDS_TCP_SILENT &&
	    (peer >= PEER_SHUT || ends_both_are_shut(&w)))
		bits |= kernel_bits(fd, 0) &
			~(uint32_t)(ends_by_ring(&w) && shut ? POLLERR : 0);
	if (ends_was_left(&w) && !shut)
		bits &= ~(uint32_t)(POLLHUP | POLLERR);
	if (ends_was_reset(&w))
		bits |= ALL_IN | ALL_OUT | POLLHUP | POLLRDHUP |
			(w.error ? POLLERR : 0);
	if (ends_in(&w) == IN_BROKEN || connection_owes_error(c))
		bits |= POLLERR;
	return bits;
}

static uint32_t all_bits(struct connection *c, int fd)
{
	uint32_t bits;

	/* A peer that died before this has left us the bytes to judge by. */
	if (demotion_is_due(c))
		tcp_has_ended(c, fd);
	tcp_end_watch(c, fd);
	demote_serve(c, fd);
	bits = end_bits(c, fd, input_bits(c, fd) | output_bits(c, fd));
	demote_settle(c);
	return bits;
}

static uint32_t active_bits(struct connection *c, int fd, uint32_t asked)
{
	uint32_t bits;

	if (!is_plain(c))
		return all_bits(c, fd);
	bits = plain_bits(c, asked);
	if (!(asked & ALL_OUT) || (bits & ALL_OUT) || !stall_is_over(c, fd))
		return bits;
	return all_bits(c, fd);
}

uint32_t readiness(struct connection *c, int fd, uint32_t asked, uint64_t *now)
{
	uint32_t phase = connection_phase(c);

	if (__builtin_expect(phase == PHASE_ACTIVE, 1))
		return active_bits(c, fd, asked);
	if (phase == PHASE_NATIVE)
		return kernel_bits(fd, ALL);
	return before_active(c, fd, asked, now);
}

int readiness_left_ms(struct connection *c, bool output, uint64_t *now)
{
	uint64_t next;

	if (connection_phase(c) != PHASE_HANDSHAKE)
		return output ? stall_left_ms(c) : -1;
	if (*now == 0)
		*now = sys_now_ns();
	if (output && handshake_owes_output(c, *now))
		return 0;
	next = handshake_changes_ns(c, *now);
	return *now < next ? (int)((next - *now) / 1000000u) + 1 : -1;
}

bool readiness_arm(struct connection *c, uint32_t events)
{
	bool unfenced;

	atomic_store(&c->own_wait->armed_data, RMB_ARMED);
	unfenced = atomic_load(&c->in_producer->unfenced);
	if (events & ALL_OUT) {
		atomic_store(&c->own_wait->armed_room, RMB_ARMED);
		unfenced |=
		    !stream_knows_room(c) && connection_reader_is_unfenced(c);
	}
	return unfenced;
}
