/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_judge: would a member be reported, and is it told by that? */
#include "smc_r/epoll/epoll_judge.h"

#include "smc_r/epoll/epoll_member.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/readiness.h"

#define TCP_TAKES (4u << 20) /* bytes, of a writer, before it is refused */

/* ---- what there is ---- */

/* The halves that the program has shut itself. */
static inline uint64_t own_ends(const struct connection *c)
{
	return (connection_reads_no_more(c) ? EPOLL_END_IN : 0) |
	       (connection_writes_no_more(c) ? EPOLL_END_OUT : 0);
}

static uint64_t input_mark(const struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint64_t ring = atomic_load(&c->in_producer->cursor);
	uint64_t tcp = atomic_load(&m->tcp_input);
	uint64_t mark = (tcp > ring ? tcp : ring) << EPOLL_PLACE_SHIFT;

	/* Nobody has said anything of an end, as a rule. */
	if (connection_is_plain(c))
		return mark;
	if (connection_peer(c) != PEER_OPEN)
		mark |= EPOLL_END_PEER;
	return mark | own_ends(c);
}

static uint32_t output_mark(const struct epoll_member *m)
{
	return atomic_load(&m->tcp_output) +
	       atomic_load(&m->connection->slot->tx.blocked);
}

struct epoll_view epoll_view(const struct epoll_member *m)
{
	struct connection *c = m->connection;
	/* The rings of a demoted connection still tell how far they went. */
	bool rings = connection_phase(c) >= PHASE_ACTIVE && c->rmb;

	return (struct epoll_view){rings ? input_mark(m) : own_ends(c),
				   output_mark(m), 0};
}

/* Marks come before the bits. This very look may make the connection active,
 * which had no marks before; and another thread may shut a half. */
static struct epoll_view look_for_edge(const struct epoll_member *m,
				       uint32_t events, uint64_t *now_ns)
{
	struct connection *c = m->connection;
	struct epoll_view now;
	bool again;

	do {
		again = connection_phase(c) < PHASE_ACTIVE;
		now = epoll_view(m);
		now.bits = readiness(c, m->fd, events, now_ns) &
			   (events | EPOLL_ALWAYS);
		again &= connection_phase(c) == PHASE_ACTIVE;
	} while (again ||
		 (now.input & (EPOLL_END_IN | EPOLL_END_OUT)) != own_ends(c));
	return now;
}

/* ---- the end of a half ---- */

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

	if (atomic_load(&c->stall.refused_at) != sent + 1 ||
	    output_mark(m) == atomic_load(&m->out_seen))
		return false;
	if (atomic_compare_exchange_strong(&m->half_at, &begin, sent + 1))
		return true;
	return sent - (begin - 1) < TCP_TAKES;
}

static struct epoll_view hold_end(struct epoll_member *m, uint32_t events,
				  struct epoll_view now)
{
	if (epoll_end_may_wait(events, epoll_seen(m, now, false), now) &&
	    is_half_shut(m->connection) && was_refused(m))
		return epoll_end_waits(now, stream_fill(m->connection) > 0);
	return now;
}

/* ---- the judgement ---- */

struct epoll_view epoll_seen(struct epoll_member *m, struct epoll_view now,
			     bool takes)
{
	struct epoll_view seen = {atomic_load(&m->in_seen),
				  atomic_load(&m->out_seen),
				  atomic_load(&m->bits_seen)};
	uint64_t input = seen.input;
	uint32_t output = seen.output;

	if (!takes)
		return seen;
	if (now.bits != seen.bits)
		seen.bits = atomic_exchange(&m->bits_seen, now.bits);
	if (now.input != input &&
	    !atomic_compare_exchange_strong(&m->in_seen, &input, now.input))
		seen.input = now.input;
	if ((now.bits & EPOLL_OUTPUT) && now.output != output &&
	    !atomic_compare_exchange_strong(&m->out_seen, &output, now.output))
		seen.output = now.output;
	return seen;
}

/* Room is told: was_refused() must know it of a registration that is not
 * edge-triggered, too. False: EPOLLONESHOT was told to another thread. */
static bool take(struct epoll_member *m, uint32_t events, uint32_t bits)
{
	uint32_t one = 1;

	if ((events & EPOLLONESHOT) &&
	    !atomic_compare_exchange_strong(&m->enabled, &one, 0))
		return false;
	if ((bits & EPOLL_OUTPUT) &&
	    (events & (EPOLLET | EPOLLRDHUP)) == EPOLLRDHUP)
		relaxed_store(&m->out_seen, output_mark(m));
	if (bits & EPOLL_OUTPUT)
		connection_told_room(m->connection);
	return true;
}

uint32_t epoll_judge(struct epoll_member *m, struct epoll_look *look)
{
	uint32_t events = relaxed_load(&m->events);
	struct connection *c = m->connection;
	bool active = connection_phase(c) == PHASE_ACTIVE;
	struct epoll_view now = {0};
	uint32_t news = 0;

	if (!relaxed_load(&m->enabled) || relaxed_load(&m->late))
		return 0;
	if (__builtin_expect(!active, 0)) {
		if (epoll_is_quiet(m, &look->now_ns)) {
			look->quiet++;
			return 0;
		}
		news = relaxed_load(&m->news);
	}
	if (events & EPOLLET)
		now = look_for_edge(m, events, &look->now_ns);
	else
		now.bits = readiness(c, m->fd, events, &look->now_ns) &
			   (events | EPOLL_ALWAYS);
	/* readiness() may have made the connection TCP without a word of it, so
	 * the phase is read again; the kernel reports it then. */
	if (look->takes && connection_phase(c) == PHASE_NATIVE)
		return 0;
	if (__builtin_expect(now.bits & EPOLLRDHUP, 0))
		now = hold_end(m, events, now);
	if (events & EPOLLET)
		now.bits =
		    epoll_verdict(events, epoll_seen(m, now, look->takes), now);
	if (!look->takes)
		return now.bits;
	if (__builtin_expect(!active, 0) && now.bits == 0)
		epoll_note_quiet(m, news, look->now_ns);
	return now.bits && take(m, events, now.bits) ? now.bits : 0;
}

bool epoll_member_ready(struct epoll_member *m)
{
	struct epoll_look look = {.takes = false};

	return epoll_judge(m, &look) != 0;
}
