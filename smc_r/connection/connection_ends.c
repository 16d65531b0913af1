/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* connection_ends: the words that say how the directions stand. */
#include "smc_r/connection/connection_ends.h"

#include "smc_r/os/inject.h"

struct ends_words connection_ends(const struct connection *c)
{
	struct ends_words w = {0};

	if (c->rmb) {
		w.peer = atomic_load(&c->in_producer->flags);
		w.asked = atomic_load(&c->out_consumer->flags);
		w.own = atomic_load(&c->out_producer->flags);
		w.asks = atomic_load(&c->in_consumer->flags);
	}
	w.tcp = connection_is_far(c)         ? ENDS_TCP_SILENT
		: atomic_load(&c->tcp.ended) ? ENDS_TCP_ENDED
					     : ENDS_TCP_OPEN;
	w.rx = atomic_load(&c->slot->rx.flags);
	w.tx = atomic_load(&c->slot->tx.flags);
	w.error = atomic_load(&c->slot->error);
	return w;
}

static uint32_t set(_Atomic uint32_t *word, uint32_t bits)
{
	return bits ? bits & ~atomic_fetch_or(word, bits) : 0;
}

static uint32_t take(_Atomic uint32_t *word, uint32_t bits)
{
	return bits ? bits & atomic_fetch_and(word, ~bits) : 0;
}

static bool change_tcp(struct connection *c, const struct ends_change *d)
{
	uint32_t ended = d->tcp == ENDS_TCP_ENDED;

	return d->sets_tcp && atomic_exchange(&c->tcp.ended, ended) != ended;
}

bool connection_end(struct connection *c, enum ends_event e)
{
	struct ends_words w = connection_ends(c);
	struct ends_change d = ends_change(&w, e);
	uint32_t news = set(&c->slot->rx.flags, d.rx) |
			take(&c->slot->rx.flags, d.rx_off) |
			set(&c->slot->tx.flags, d.tx);

	if (c->rmb) {
		inject_nap();
		news |= set(&c->out_producer->flags, d.own) |
			take(&c->out_producer->flags, d.own_off) |
			set(&c->in_consumer->flags, d.asks) |
			take(&c->in_producer->flags, d.peer_off);
	}
	return change_tcp(c, &d) || news;
}
