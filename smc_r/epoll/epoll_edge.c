/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_edge: what an edge-triggered registration has been told. */
#include "smc_r/epoll/epoll_edge.h"

#include "smc_r/stream/stream.h"

#define END_BITS  7u
#define END_PEER  1u
#define END_IN    2u
#define END_OUT   4u
#define TCP_TAKES (4u << 20) /* bytes, of a writer, before it is refused */

/* The halves that the program has shut itself. */
static uint64_t own_ends(const struct connection *c)
{
	return (connection_reads_no_more(c) ? END_IN : 0) |
	       (connection_writes_no_more(c) ? END_OUT : 0);
}

static uint64_t input_mark(const struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint64_t ring = atomic_load(&c->in_producer->cursor);
	uint64_t tcp = atomic_load(&m->tcp_input);
	uint64_t mark = (tcp > ring ? tcp : ring) << EPOLL_MARK_SHIFT;

	if (connection_peer(c) != PEER_OPEN)
		mark |= END_PEER;
	return mark | own_ends(c);
}

static uint32_t output_mark(const struct epoll_member *m)
{
	return atomic_load(&m->tcp_output) +
	       atomic_load(&m->connection->slot->tx.blocked);
}

struct epoll_marks epoll_marks(const struct epoll_member *m)
{
	struct connection *c = m->connection;
	struct epoll_marks k = {own_ends(c), output_mark(m)};

	/* The rings of a demoted connection still tell how far they went. */
	if (connection_phase(c) < PHASE_ACTIVE || !c->rmb)
		return k;
	k.input = input_mark(m);
	return k;
}

bool epoll_marks_stand(const struct epoll_member *m,
		       const struct epoll_marks *k)
{
	return (k->input & (END_IN | END_OUT)) == own_ends(m->connection);
}

/* Only its half is shut, and it may be written to; a half that the program has
 * shut itself tells the same. Before it is active there is no ring to ask. */
static bool is_half_shut(const struct connection *c)
{
	struct ends_words w = connection_ends(c);
	enum ends_peer peer = ends_peer(&w);

	return connection_phase(c) == PHASE_ACTIVE &&
	       (peer == PEER_HALF || peer == PEER_HALF_FIN) &&
	       !ends_writes_tcp(&w) && !ends_out_is_shut(&w) &&
	       !ends_in_is_shut(&w);
}

/* The ring refused the last write of m, after m was told of room the last time;
 * and TCP would have taken it. */
static bool was_refused(struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint64_t sent = atomic_load(&c->slot->tx.position);
	uint64_t begin = 0;

	if (atomic_load(&c->refused_at) != sent + 1 ||
	    output_mark(m) == atomic_load(&m->out_seen))
		return false;
	if (atomic_compare_exchange_strong(&m->half_at, &begin, sent + 1))
		return true;
	return sent - (begin - 1) < TCP_TAKES;
}

static bool is_told(struct epoll_member *m)
{
	uint64_t seen = atomic_load(&m->in_seen);

	return seen != UINT64_MAX && (seen & END_PEER);
}

uint32_t epoll_half_waits(struct epoll_member *m, struct epoll_marks *now,
			  uint32_t bits)
{
	uint32_t events = atomic_load(&m->events);

	if (__builtin_expect(!(bits & EPOLLRDHUP), 1) ||
	    !(events & EPOLL_OUTPUT) || (bits & EPOLL_ALWAYS) ||
	    !is_half_shut(m->connection) || !was_refused(m))
		return bits;
	if ((events & EPOLLET) && is_told(m))
		return bits;
	now->input &= ~(uint64_t)END_PEER;
	bits &= ~(uint32_t)EPOLLRDHUP;
	if (stream_fill(m->connection) == 0)
		bits &= ~(uint32_t)EPOLL_INPUT;
	return bits;
}

static bool input_woke(uint64_t now, uint64_t seen, uint32_t events)
{
	return now != seen &&
	       (((now ^ seen) & END_BITS) || (events & EPOLL_INPUT));
}

/* A new bit without a mark is an edge: the kernel's half of a demoted
 * connection sets it. */
static bool bits_woke(uint32_t bits, uint32_t seen)
{
	return (bits & ~seen & ~(uint32_t)EPOLL_OUTPUT) != 0;
}

bool epoll_has_edge(struct epoll_member *m, const struct epoll_marks *now,
		    uint32_t bits)
{
	uint32_t events = atomic_load(&m->events);

	return bits_woke(bits, atomic_load(&m->bits_seen)) ||
	       input_woke(now->input, atomic_load(&m->in_seen), events) ||
	       ((bits & EPOLL_OUTPUT) &&
		now->output != atomic_load(&m->out_seen));
}

void epoll_told_room(struct epoll_member *m)
{
	relaxed_store(&m->out_seen, output_mark(m));
}

bool epoll_takes_edge(struct epoll_member *m, const struct epoll_marks *now,
		      uint32_t bits)
{
	uint32_t events = atomic_load(&m->events);
	uint64_t in_seen = atomic_load(&m->in_seen);
	uint32_t out_seen = atomic_load(&m->out_seen);
	bool edge = bits_woke(bits, atomic_exchange(&m->bits_seen, bits));

	if (now->input != in_seen &&
	    atomic_compare_exchange_strong(&m->in_seen, &in_seen, now->input))
		edge |= input_woke(now->input, in_seen, events);
	if ((bits & EPOLL_OUTPUT) && now->output != out_seen &&
	    atomic_compare_exchange_strong(&m->out_seen, &out_seen,
					   now->output))
		edge = true;
	return edge;
}
