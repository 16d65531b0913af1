/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup_knock: a client says beforehand which element it would take. */
#include "linkgroup_knock.h"

#include <string.h>

#include "bell.h"
#include "linkgroup_list.h"
#include "linkgroup_rmb.h"
#include "segment.h"

#define TOKENS          32  /* asked of the kernel at once */
#define TOKEN_BIT       4u  /* every token has it, no other word */
#define LOOKS_MOST      64u /* at elements, of a client that knocks */
#define HOLDS_BACK      32u /* connections, after a knock in vain */
#define HOLDS_BACK_MOST 4096u

/* Ports at which a group has accepted, by their lowest bits. */
static _Atomic uint64_t ports_seen;
static uint32_t uses;

static uint64_t tokens[TOKENS];
static unsigned tokens_left;

static uint64_t port_bit(uint16_t port)
{
	return 1ull << (port % 64);
}

bool linkgroup_knock_is_likely(uint16_t port)
{
	return atomic_load_explicit(&ports_seen, memory_order_relaxed) &
	       port_bit(port);
}

/* ---- client ---- */

static uint64_t new_token(void)
{
	if (tokens_left == 0) {
		if (identity_random(tokens, sizeof(tokens)) < 0)
			return 0;
		tokens_left = TOKENS;
	}
	return (tokens[--tokens_left] | TOKEN_BIT) & ~(uint64_t)KNOCK_ASLEEP;
}

void linkgroup_knock_forked(void)
{
	tokens_left = 0;
}

static bool serves(const struct linkgroup *g, uint16_t port)
{
	for (unsigned i = 0; i < KNOCK_PORTS; i++)
		if (g->ports[i] == port)
			return true;
	return false;
}

static struct linkgroup *last_at(uint16_t port)
{
	struct linkgroup *found = NULL;

	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next)
		if (g->side == SIDE_CLIENT && g->channel >= 0 &&
		    serves(g, port) &&
		    (!found || (int32_t)(g->used - found->used) > 0))
			found = g;
	return found;
}

static bool knock_at(struct rmb_element *e, uint64_t token)
{
	uint64_t open = KNOCK_OPEN;

	return atomic_load(&e->knock) == KNOCK_OPEN &&
	       atomic_load(&e->released) == atomic_load(&e->epoch) &&
	       atomic_compare_exchange_strong(&e->knock, &open, token);
}

static bool knock_somewhere(struct linkgroup *g, uint64_t token,
			    struct rmb **rmb, uint32_t *element)
{
	unsigned looks = 0;

	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++) {
			if ((r->busy | r->leaked | r->lent) >> i & 1)
				continue;
			if (++looks > LOOKS_MOST)
				return false;
			if (!knock_at(rmb_element(&r->map, i), token))
				continue;
			*rmb = r;
			*element = i;
			return true;
		}
	return false;
}

bool linkgroup_knock(uint16_t port, struct rmb **rmb, uint32_t *element,
		     struct option_knock *knock)
{
	struct linkgroup *g = last_at(port);

	if (!g)
		return false;
	if (g->holds_back) {
		g->holds_back--;
		return false;
	}
	knock->token = new_token();
	if (!knock->token)
		return false;
	if (!knock_somewhere(g, knock->token, rmb, element)) {
		if (g->rmbs)
			atomic_fetch_add(&rmb_header(&g->rmbs->map)->shut_out,
					 1);
		return false;
	}
	memcpy(knock->client, identity_own(), PEER_ID_BYTES);
	knock->rmb = (*rmb)->number;
	knock->element = *element;
	(*rmb)->busy |= 1u << *element;
	(*rmb)->references++;
	g->connections++;
	return true;
}

enum knocking linkgroup_knock_look(const struct rmb_element *e, uint64_t token)
{
	uint64_t now = atomic_load_explicit(&e->knock, memory_order_acquire);

	if ((now & ~(uint64_t)KNOCK_ASLEEP) == token)
		return KNOCKING_WAITS;
	return now == KNOCK_TAKING ? KNOCKING_TAKING : KNOCKING_TAKEN;
}

bool linkgroup_knock_sleeps(struct rmb_element *e, uint64_t token)
{
	uint64_t awake = token;

	return atomic_compare_exchange_strong(&e->knock, &awake,
					      token | KNOCK_ASLEEP) ||
	       awake == (token | KNOCK_ASLEEP);
}

bool linkgroup_knock_take_back(struct rmb *r, uint32_t element, uint64_t token,
			       bool sleeps)
{
	struct rmb_element *e = rmb_element(&r->map, element);
	uint64_t awake = token, asleep = token | KNOCK_ASLEEP;

	if (!atomic_compare_exchange_strong(&e->knock, &awake, KNOCK_GONE) &&
	    !atomic_compare_exchange_strong(&e->knock, &asleep, KNOCK_GONE))
		return false;
	if (!sleeps)
		linkgroup_knock_give(r, element, true);
	return true;
}

void linkgroup_knock_give(struct rmb *r, uint32_t element, bool reuse)
{
	r->references--;
	if (r->group)
		r->group->connections--;
	r->busy &= ~(1u << element);
	if (reuse)
		atomic_store(&rmb_element(&r->map, element)->knock, KNOCK_OPEN);
	else
		r->leaked |= 1u << element;
}

void linkgroup_knock_learn(struct linkgroup *g, uint16_t port)
{
	g->used = ++uses;
	if (!serves(g, port))
		g->ports[g->used % KNOCK_PORTS] = port;
	atomic_fetch_or(&ports_seen, port_bit(port));
}

void linkgroup_knock_was_met(struct linkgroup *g)
{
	g->held_back /= 2;
	if (g->met < KNOCK_MET)
		g->met++;
}

void linkgroup_knock_was_vain(uint32_t number)
{
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next) {
		if (g->side != SIDE_CLIENT || g->number != number)
			continue;
		g->held_back = g->held_back < HOLDS_BACK ? HOLDS_BACK
			       : g->held_back < HOLDS_BACK_MOST
				   ? g->held_back * 2
				   : HOLDS_BACK_MOST;
		g->holds_back = g->held_back;
		g->met = 0;
	}
}

bool linkgroup_knock_is_sure(const struct linkgroup *g)
{
	return g->met == KNOCK_MET;
}

bool linkgroup_knock_meets_one(uint16_t port)
{
	unsigned n = 0;

	for (const struct linkgroup *g = linkgroup_list_first(); g; g = g->next)
		n += g->side == SIDE_CLIENT && g->channel >= 0 &&
		     serves(g, port);
	return n == 1;
}

/* ---- server ---- */

bool linkgroup_knock_shut(struct rmb_element *e)
{
	uint64_t now = KNOCK_OPEN;

	return atomic_compare_exchange_strong(&e->knock, &now, KNOCK_SHUT) ||
	       now == KNOCK_SHUT;
}

bool linkgroup_knock_shut_all(struct rmb *r)
{
	for (uint32_t i = 0; i < r->map.elements; i++) {
		if (linkgroup_knock_shut(rmb_element(&r->map, i)))
			continue;
		while (i-- > 0)
			if (!((r->leaked | r->lent) >> i & 1))
				linkgroup_knock_open(rmb_element(&r->map, i));
		return false;
	}
	return true;
}

void linkgroup_knock_open(struct rmb_element *e)
{
	atomic_store(&e->knock, KNOCK_OPEN);
}

/* What the kernel brought is as much the client's as what stands in memory. */
bool linkgroup_take_knocked(const struct option_knock *knock, struct rmb **rmb,
			    uint32_t *element, bool *asleep)
{
	uint64_t awake = knock->token, sleeps = knock->token | KNOCK_ASLEEP;
	struct linkgroup *g =
	    linkgroup_list_find(SIDE_SERVER, (const uint8_t *)knock->client);
	struct rmb *r = g ? linkgroup_rmb_find(g, knock->rmb) : NULL;
	struct rmb_element *e;

	if (!r || knock->element >= r->map.elements ||
	    !(knock->token & TOKEN_BIT) || (knock->token & KNOCK_ASLEEP) ||
	    !linkgroup_rmb_has_free(r, knock->element))
		return false;
	e = rmb_element(&r->map, knock->element);
	*asleep = false;
	if (!atomic_compare_exchange_strong(&e->knock, &awake, KNOCK_TAKING)) {
		if (!atomic_compare_exchange_strong(&e->knock, &sleeps,
						    KNOCK_TAKING))
			return false;
		*asleep = true;
	}
	linkgroup_rmb_take(r, knock->element);
	atomic_store(&e->accept, ACCEPT_TAKEN);
	segment_count(reuses);
	*rmb = r;
	*element = knock->element;
	return true;
}

void linkgroup_knock_answer(struct rmb *r, uint32_t element, bool asleep)
{
	struct rmb_element *e = rmb_element(&r->map, element);

	if (asleep)
		atomic_fetch_add_explicit(&e->side[SIDE_CLIENT].wait.rings_data,
					  1, memory_order_relaxed);
	atomic_store(&e->knock, KNOCK_SHUT);
	if (!asleep)
		return;
	segment_count(doorbells);
	bell_ring(r->bells[element].peer_data);
}
