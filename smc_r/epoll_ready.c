/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_ready: which members of a large instance may be ready. */
#include "epoll_ready.h"

#include "epoll_fetch.h"
#include "inject.h"
#include "linkgroup.h"
#include "pool.h"
#include "process.h"

#define KEEP_ROUNDS 32u /* looks in vain before a bit is taken back */
#define KEEP_MAX    32u /* bits that are kept in one round */
#define ALL_BITS    64u

static _Atomic uint64_t *word_of(const struct epoll_group *g)
{
	return g->word;
}

static struct epoll_group *find(struct epoll *e, const struct rmb *rmb)
{
	struct epoll_group *g = atomic_load(&e->groups);

	while (g && g->rmb != rmb)
		g = atomic_load(&g->next);
	return g;
}

static struct epoll_group *make(struct epoll *e, struct connection *c)
{
	struct epoll_group *g = pool_get(sizeof(*g));

	if (!g)
		return NULL;
	g->rmb = c->rmb;
	g->word = rmb_ready(&c->rmb->map, c->side);
	g->waiters = c->own_waiters;
	atomic_store(&g->next, atomic_load(&e->groups));
	atomic_store(&e->groups, g);
	return g;
}

/* A writer without fences may not have seen that when he looks for a sleeper,
 * and we not his bytes. */
static void ask_for_bits(struct epoll_member *m)
{
	struct connection *c = m->connection;

	atomic_fetch_or(&c->own_wait->waiter, RMB_WAITER_BITS);
	if (atomic_load(&c->in_producer->unfenced))
		barrier_all();
	epoll_ready_mark(m);
}

void epoll_ready_join(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	struct connection *c = m->connection;
	struct epoll_group *g = find(e, c->rmb);

	if (!g)
		g = make(e, c);
	/* Without memory for it the member is looked at every time. */
	if (!g)
		return;
	m->group = g;
	atomic_store(&g->members[c->element], m);
	atomic_fetch_or(&g->mask, 1u << c->element);
	atomic_fetch_add(&e->joined, 1);
	if (e->uses_bits)
		ask_for_bits(m);
}

static void drop_group(struct epoll *e, struct epoll_group *g)
{
	struct epoll_group *_Atomic *at = &e->groups;

	while (atomic_load(at) && atomic_load(at) != g)
		at = &atomic_load(at)->next;
	if (atomic_load(at))
		atomic_store(at, atomic_load(&g->next));
	if (atomic_load(&e->resume) == g)
		atomic_store(&e->resume, NULL);
	/* A scan may stand on it. */
	pool_put_late(g, sizeof(*g));
}

void epoll_ready_leave(struct epoll_member *m)
{
	struct epoll_group *g = m->group;
	uint32_t bit;

	if (!g)
		return;
	bit = 1u << m->connection->element;
	m->group = NULL;
	atomic_fetch_sub(&m->epoll->joined, 1);
	atomic_store(&g->members[m->connection->element], NULL);
	if ((atomic_fetch_and(&g->mask, ~bit) & ~bit) == 0)
		drop_group(m->epoll, g);
}

void epoll_ready_begin(struct epoll *e)
{
	struct epoll_group *g = atomic_load(&e->groups);

	e->uses_bits = true;
	for (; g; g = atomic_load(&g->next))
		for (uint32_t i = 0; i < RMB_ELEMENTS_MAX; i++)
			if (atomic_load(&g->mask) >> i & 1)
				ask_for_bits(atomic_load(&g->members[i]));
}

void epoll_ready_mark(struct epoll_member *m)
{
	struct epoll_group *g = m->group;

	if (g)
		atomic_fetch_or(word_of(g), 1ull << m->connection->element);
}

struct round {
	uint32_t number;
	uint32_t kept; /* bits that were left set */
	bool fetches;
	bool (*look)(struct epoll_member *m, bool *again, void *owner);
	void *owner;
};

/* Ready again and again: its bit stays, and its line with both ends. */
static bool keeps_bit(const struct epoll_member *m, struct round *r)
{
	uint32_t last =
	    atomic_load_explicit(&m->ready_round, memory_order_relaxed);

	if (r->number - last > KEEP_ROUNDS || r->kept == KEEP_MAX)
		return false;
	r->kept++;
	return true;
}

/* Takes the bit of m back before it is looked at. False: the element is another
 * one's meanwhile, perhaps in another instance, and so was the bit. */
static bool take_bit(struct epoll_group *g, uint32_t i,
		     const struct epoll_member *m)
{
	inject_nap();
	atomic_fetch_and(word_of(g), ~(1ull << i));
	inject_nap();
	if (atomic_load(&g->members[i]) == m)
		return true;
	atomic_fetch_or(word_of(g), 1ull << i);
	return false;
}

/* All of them, or up to the one that is returned, whose turn is next. */
static uint32_t each_bit(struct epoll_group *g, uint64_t bits, struct round *r)
{
	for (; bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(bits);
		struct epoll_member *m = atomic_load(&g->members[i]);
		bool keeps = m && keeps_bit(m, r);
		bool again = false;
		bool more = true;

		if (!m || (!keeps && !take_bit(g, i, m)))
			continue;
		if (atomic_load(&m->live))
			more = r->look(m, &again, r->owner);
		inject_nap();
		if (again && !keeps)
			atomic_fetch_or(word_of(g), 1ull << i);
		if (!more)
			return i;
	}
	return ALL_BITS;
}

/* The next look begins there; not where a group went while we stood on it. */
static void resume_at(struct epoll *e, struct epoll_group *g, uint32_t bit)
{
	atomic_store(&e->resume_bit, bit);
	atomic_store(&e->resume, g);
	if (atomic_load(&g->mask) == 0)
		atomic_store(&e->resume, NULL);
}

/* Those of a group that are among these. */
static bool some_bits(struct epoll *e, struct epoll_group *g, uint64_t which,
		      struct round *r)
{
	uint64_t bits = atomic_load_explicit(word_of(g), memory_order_relaxed) &
			atomic_load_explicit(&g->mask, memory_order_relaxed) &
			which;
	uint32_t next;

	if (!bits)
		return true;
	if (r->fetches && (bits & (bits - 1)))
		epoll_fetch(g->members, bits);
	next = each_bit(g, bits, r);
	if (next < ALL_BITS)
		resume_at(e, g, next);
	return next == ALL_BITS;
}

static bool each_group(struct epoll *e, struct epoll_group *from,
		       const struct epoll_group *to, struct round *r)
{
	for (struct epoll_group *g = from; g && g != to;
	     g = atomic_load(&g->next))
		if (!some_bits(e, g, UINT64_MAX, r))
			return false;
	return true;
}

void epoll_ready_each(struct epoll *e,
		      bool (*look)(struct epoll_member *m, bool *again,
				   void *owner),
		      void *owner)
{
	struct epoll_group *start = atomic_load(&e->resume);
	struct round r = {.look = look, .owner = owner};
	uint64_t rest;

	r.number = 1 + atomic_load_explicit(&e->round, memory_order_relaxed);
	atomic_store_explicit(&e->round, r.number, memory_order_relaxed);
	r.fetches = atomic_load_explicit(&e->joined, memory_order_relaxed) >=
		    EPOLL_FETCH_MIN;
	if (!start) {
		each_group(e, atomic_load(&e->groups), NULL, &r);
		return;
	}
	rest = UINT64_MAX << (atomic_load(&e->resume_bit) % ALL_BITS);
	if (some_bits(e, start, rest, &r) &&
	    each_group(e, atomic_load(&start->next), NULL, &r) &&
	    each_group(e, atomic_load(&e->groups), start, &r))
		some_bits(e, start, ~rest, &r);
}

bool epoll_ready_any(struct epoll *e, bool (*is_ready)(struct epoll_member *m))
{
	struct epoll_group *g = atomic_load(&e->groups);

	for (; g; g = atomic_load(&g->next)) {
		uint64_t bits = atomic_load(word_of(g)) & atomic_load(&g->mask);

		for (; bits; bits &= bits - 1) {
			uint32_t i = (uint32_t)__builtin_ctzll(bits);
			struct epoll_member *m = atomic_load(&g->members[i]);

			if (m && atomic_load(&m->live) && is_ready(m))
				return true;
		}
	}
	return false;
}

void epoll_ready_found(struct epoll_member *m)
{
	atomic_store_explicit(
	    &m->ready_round,
	    atomic_load_explicit(&m->epoll->round, memory_order_relaxed),
	    memory_order_relaxed);
}

void epoll_ready_arm(struct epoll *e)
{
	struct epoll_group *g = atomic_load(&e->groups);

	for (; g; g = atomic_load(&g->next)) {
		_Atomic uint32_t *armed = &g->waiters->armed[e->waiter];

		if (atomic_load_explicit(armed, memory_order_relaxed) !=
		    RMB_ARMED)
			atomic_store(armed, RMB_ARMED);
	}
}
