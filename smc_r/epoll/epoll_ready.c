/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_ready: which members of a large instance may be ready. */
#include "smc_r/epoll/epoll_ready.h"

#include "smc_r/epoll/epoll_prefetch.h"
#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"

#define KEEP_ROUNDS 32u /* looks in vain before a bit is cleared */
#define KEEP_MAX    32u /* bits that are kept in one look */
#define HOT_ROUNDS  4u  /* for so long the lines of a member stay in a cache */
#define ALL_BITS    64u

static _Atomic uint64_t *word_of(const struct epoll_group *g)
{
	return g->word;
}

/* It stands in the place of a word: nobody sets it. */
static _Atomic uint64_t nothing;

/* ---- rows ---- */

static uint32_t row_used(const struct epoll_row *row)
{
	return atomic_load_explicit(&row->used, memory_order_acquire);
}

/* The place of g; NULL: a free one. *row NULL: there is none. */
static uint32_t place_of(struct epoll *e, const struct epoll_group *g,
			 struct epoll_row **row)
{
	struct epoll_row *r = atomic_load(&e->rows);

	for (; r; r = atomic_load(&r->next))
		for (uint32_t i = 0; i < EPOLL_ROW; i++)
			if (atomic_load(&r->groups[i]) == g) {
				*row = r;
				return i;
			}
	*row = NULL;
	return 0;
}

static struct epoll_row *add_row(struct epoll *e)
{
	struct epoll_row *row = pool_get(sizeof(*row));

	if (!row)
		return NULL;
	for (uint32_t i = 0; i < EPOLL_ROW; i++)
		atomic_store(&row->words[i], &nothing);
	atomic_store(&row->next, atomic_load(&e->rows));
	atomic_store(&e->rows, row);
	return row;
}

static bool place_group(struct epoll *e, struct epoll_group *g)
{
	struct epoll_row *row;
	uint32_t at = place_of(e, NULL, &row);

	if (!row)
		row = add_row(e);
	if (!row)
		return false;
	atomic_store(&row->groups[at], g);
	atomic_store(&row->words[at], g->word);
	if (at >= row_used(row))
		atomic_store(&row->used, at + 1);
	return true;
}

void epoll_ready_end(struct epoll *e)
{
	struct epoll_row *row = atomic_exchange(&e->rows, NULL);

	atomic_store(&e->resume, NULL);
	while (row) {
		struct epoll_row *next = atomic_load(&row->next);

		pool_put_late(row, sizeof(*row));
		row = next;
	}
}

/* Returns all groups in turn, from NULL on. */
static struct epoll_group *next_group(struct epoll_row **row, uint32_t *at)
{
	for (; *row; *row = atomic_load(&(*row)->next), *at = 0)
		while (*at < row_used(*row)) {
			struct epoll_group *g =
			    atomic_load(&(*row)->groups[(*at)++]);

			if (g)
				return g;
		}
	return NULL;
}

/* ---- joining and leaving ---- */

static struct epoll_group *find(struct epoll *e, const struct rmb *rmb)
{
	struct epoll_row *row = atomic_load(&e->rows);
	struct epoll_group *g;
	uint32_t at = 0;

	do {
		g = next_group(&row, &at);
	} while (g && g->rmb != rmb);
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
	if (place_group(e, g))
		return g;
	pool_put(g, sizeof(*g));
	return NULL;
}

/* A writer without fences may not have seen that when it looks for a sleeper,
 * and we not its bytes. Where the kernel refuses the barrier the member is
 * looked at every time. */
static void ask_for_bits(struct epoll_member *m)
{
	struct connection *c = m->connection;

	atomic_fetch_or(&c->own_wait->waiter, RMB_WAITER_BITS);
	if (!connection_settle(c)) {
		m->epoll->unsure = true;
		epoll_ready_leave(m);
	}
	epoll_ready_mark(m);
}

void epoll_ready_join(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	struct connection *c = m->connection;
	struct epoll_group *g = find(e, c->rmb);

	ENGINE_LOCKED();
	if (!g)
		g = make(e, c);
	/* If there is no memory for it, the member is looked at every time. */
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
	struct epoll_row *row;
	uint32_t at = place_of(e, g, &row);

	if (row) {
		atomic_store(&row->words[at], &nothing);
		atomic_store(&row->groups[at], NULL);
	}
	/* A scan may stand on it. */
	pool_put_late(g, sizeof(*g));
}

void epoll_ready_leave(struct epoll_member *m)
{
	struct epoll_group *g = m->group;
	uint32_t bit;

	ENGINE_LOCKED();
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
	struct epoll_row *row = atomic_load(&e->rows);
	struct epoll_group *g;
	uint32_t at = 0;

	ENGINE_LOCKED();
	e->uses_bits = true;
	while ((g = next_group(&row, &at)) != NULL)
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

struct look {
	uint32_t round;
	uint32_t kept; /* bits that were left set */
	bool fetches;
	bool (*look)(struct epoll_member *m, bool *again, void *owner);
	void *owner;
};

static uint32_t rounds_since(const struct epoll_member *m, const struct look *r)
{
	return r->round - relaxed_load(&m->ready_round);
}

/* Ready again and again: its bit stays, and its line with both ends. */
static bool keeps_bit(uint32_t since, struct look *r)
{
	if (since > KEEP_ROUNDS || r->kept == KEEP_MAX)
		return false;
	r->kept++;
	return true;
}

/* Takes the bit of m back before it is looked at once more. False: the element
 * is another one's meanwhile, perhaps in another instance, and so was the bit.
 */
static bool take_bit(struct epoll_group *g, uint32_t i,
		     const struct epoll_member *m)
{
	inject_nap();
	atomic_fetch_and(word_of(g), ~(1ull << i));
	inject_step(STEP_BIT_TAKEN);
	if (atomic_load(&g->members[i]) == m)
		return true;
	atomic_fetch_or(word_of(g), 1ull << i);
	return false;
}

/* A member that is ready keeps its bit; one that is not loses it, and is looked
 * at again, as it may have become so before. True: go on. */
static bool look_at(struct epoll_group *g, uint32_t i, struct epoll_member *m,
		    struct look *r)
{
	uint32_t since = rounds_since(m, r);
	bool again = false;
	bool more = true;

	if (atomic_load_explicit(&m->live, memory_order_acquire))
		more = r->look(m, &again, r->owner);
	if (again || !more || keeps_bit(since, r) || !take_bit(g, i, m))
		return more;
	if (atomic_load(&m->live))
		more = r->look(m, &again, r->owner);
	inject_nap();
	if (again)
		atomic_fetch_or(word_of(g), 1ull << i);
	return more;
}

/* Looks at all of them, or up to the one that is returned, which has the next
 * turn. */
static uint32_t each_bit(struct epoll_group *g, uint64_t bits, struct look *r)
{
	uint32_t was_hot = relaxed_load(&g->hot);
	uint32_t hot = was_hot & (uint32_t)~bits;

	for (; bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(bits);
		struct epoll_member *m = atomic_load(&g->members[i]);

		if (!m)
			continue;
		if (rounds_since(m, r) <= HOT_ROUNDS)
			hot |= 1u << i;
		if (!look_at(g, i, m, r))
			return i;
	}
	if (hot != was_hot)
		relaxed_store(&g->hot, hot);
	return ALL_BITS;
}

/* Looks at those of a group that are among these. True: all were looked at. */
static bool some_bits(struct epoll *e, struct epoll_row *row, uint32_t at,
		      uint64_t which, struct look *r)
{
	struct epoll_group *g = atomic_load(&row->groups[at]);
	uint64_t bits;
	uint64_t cold;
	uint32_t next;

	if (!g)
		return true;
	bits = relaxed_load(word_of(g)) & relaxed_load(&g->mask) & which;
	if (!bits)
		return true;
	cold = bits & ~relaxed_load(&g->hot);
	if (r->fetches && (cold & (cold - 1)))
		epoll_prefetch(g->members, cold);
	next = each_bit(g, bits, r);
	if (next == ALL_BITS)
		return true;
	/* The next look begins there. */
	atomic_store(&e->resume_at, at * ALL_BITS + next);
	atomic_store(&e->resume, row);
	return false;
}

static uint64_t word_at(const struct epoll_row *row, uint32_t at)
{
	return relaxed_load(relaxed_load(&row->words[at]));
}

/* Nearly all words are empty, nearly always. */
static bool is_empty(const struct epoll_row *row, uint32_t at)
{
	return !(word_at(row, at) | word_at(row, at + 1) |
		 word_at(row, at + 2) | word_at(row, at + 3));
}

/* Goes up to a place of `to`, or to the end. */
static bool each_group(struct epoll *e, struct epoll_row *row, uint32_t at,
		       const struct epoll_row *to, uint32_t to_at,
		       struct look *r)
{
	for (; row; row = atomic_load(&row->next), at = 0) {
		uint32_t end = row == to ? to_at : row_used(row);

		while (at < end) {
			if (at % EPOLL_STEP == 0 && is_empty(row, at)) {
				at += EPOLL_STEP;
				continue;
			}
			if (word_at(row, at) &&
			    !some_bits(e, row, at, UINT64_MAX, r))
				return false;
			at++;
		}
		if (row == to)
			break;
	}
	return true;
}

/* Counts a round only if the last one found a ready member: a spinning thread
 * scans often, and must not age the bits. */
static uint32_t next_round(struct epoll *e)
{
	uint32_t round = relaxed_load(&e->round);

	if (!relaxed_load(&e->found))
		return round;
	relaxed_store(&e->found, 0);
	relaxed_store(&e->round, round + 1);
	return round + 1;
}

void epoll_ready_each(struct epoll *e,
		      bool (*look)(struct epoll_member *m, bool *again,
				   void *owner),
		      void *owner)
{
	struct epoll_row *rows = atomic_load(&e->rows);
	struct epoll_row *start = atomic_load(&e->resume);
	struct look r = {.look = look, .owner = owner};
	uint64_t rest;
	uint32_t at;

	r.round = next_round(e);
	r.fetches = relaxed_load(&e->joined) >= EPOLL_PREFETCH_MIN;
	if (!start) {
		each_group(e, rows, 0, NULL, 0, &r);
		return;
	}
	at = atomic_load(&e->resume_at);
	rest = UINT64_MAX << (at % ALL_BITS);
	at /= ALL_BITS;
	if (some_bits(e, start, at, rest, &r) &&
	    each_group(e, start, at + 1, NULL, 0, &r) &&
	    each_group(e, rows, 0, start, at, &r))
		some_bits(e, start, at, ~rest, &r);
}

bool epoll_ready_any(struct epoll *e, bool (*is_ready)(struct epoll_member *m))
{
	struct epoll_row *row = atomic_load(&e->rows);
	struct epoll_group *g;
	uint32_t at = 0;

	while ((g = next_group(&row, &at)) != NULL) {
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
	struct epoll *e = m->epoll;

	relaxed_store(&m->ready_round, relaxed_load(&e->round));
	if (!relaxed_load(&e->found))
		relaxed_store(&e->found, 1);
}

void epoll_ready_fills(struct epoll_member *m)
{
	struct epoll_group *g = m->group;

	if (g)
		atomic_fetch_or(&g->full, 1u << m->connection->element);
}

void epoll_ready_groups(struct epoll *e,
			void (*visit)(struct epoll *e, struct epoll_group *g))
{
	struct epoll_row *row = atomic_load(&e->rows);
	struct epoll_group *g;
	uint32_t at = 0;

	while ((g = next_group(&row, &at)) != NULL)
		visit(e, g);
}
