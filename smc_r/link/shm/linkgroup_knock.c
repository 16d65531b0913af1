/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup_knock: a client says beforehand which element it would take. */
#include "smc_r/link/shm/linkgroup_knock.h"

#include <string.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/link/shm/linkgroup_rmb.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/process.h"
#include "smc_r/status/segment.h"

#define TOKENS          32  /* asked of the kernel at once */
#define TOKEN_BIT       4u  /* every token has it, no other word */
#define LOOKS_MOST      64u /* at elements, of a client that knocks */
#define HOLDS_BACK      4u  /* connections, after a knock in vain */
#define HOLDS_BACK_MOST 4096u

/* It has a bit for each port at which a group has accepted, by the port's
 * lowest bits. */
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
	return relaxed_load(&ports_seen) & port_bit(port);
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

/* Adds it to those found; the one that accepted last comes first. False: they
 * are too many. */
static bool add(struct linkgroup **found, unsigned *n, struct linkgroup *g)
{
	bool full = *n == OPTION_KNOCKS_MAX;
	unsigned i = full ? *n - 1 : (*n)++;

	if (full && (int32_t)(g->used - found[i]->used) < 0)
		return false;
	for (; i > 0 && (int32_t)(g->used - found[i - 1]->used) > 0; i--)
		found[i] = found[i - 1];
	found[i] = g;
	return !full;
}

/* Finds the groups that accepted at the port lately. */
static unsigned acceptors(uint16_t port, struct linkgroup **found, bool *all)
{
	unsigned n = 0;

	*all = true;
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next)
		if (g->side == SIDE_CLIENT && g->channel >= 0 &&
		    serves(g, port) && !add(found, &n, g))
			*all = false;
	return n;
}

static bool knock_at(struct rmb_element *e, uint64_t token)
{
	uint64_t open = KNOCK_OPEN;

	return atomic_load(&e->knock) == KNOCK_OPEN &&
	       atomic_load(&e->released) == atomic_load(&e->epoch) &&
	       atomic_compare_exchange_strong(&e->knock, &open, token);
}

static uint32_t rings_at(const struct rmb *r, uint32_t element)
{
	return atomic_load(
	    &rmb_element(&r->map, element)->side[SIDE_CLIENT].wait.rings_data);
}

static void take(struct knocked *at, struct rmb *r, uint32_t element)
{
	at->held = true;
	at->rmb = r;
	at->element = element;
	at->group = r->group->number;
	at->rings = rings_at(r, element);
	at->bell = r->bells[element].data;
	r->busy |= 1u << element;
	r->references++;
	linkgroup_begin_use(r->group);
}

static bool knock_somewhere(struct linkgroup *g, uint64_t token,
			    struct knocked *at)
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
			take(at, r, i);
			return true;
		}
	return false;
}

/* A server that has nothing open hears of it. */
static bool knock_at_group(struct linkgroup *g, struct knocks *k)
{
	if (knock_somewhere(g, k->token, &k->at[k->count])) {
		k->count++;
		return true;
	}
	if (g->rmbs)
		atomic_fetch_add(&rmb_header(&g->rmbs->map)->no_element_open,
				 1);
	return false;
}

bool linkgroup_knock(uint16_t port, struct knocks *k)
{
	struct linkgroup *found[OPTION_KNOCKS_MAX];
	unsigned n = acceptors(port, found, &k->all);

	ENGINE_LOCKED();
	if (n == 0)
		return false;
	if (found[0]->holds_back) {
		found[0]->holds_back--;
		return false;
	}
	k->token = new_token();
	if (!k->token)
		return false;
	k->count = 0;
	k->all_acceptors_known = true;
	for (unsigned i = 0; i < n; i++) {
		k->all &= knock_at_group(found[i], k);
		k->all_acceptors_known &= found[i]->met == KNOCK_MET;
	}
	k->all_acceptors_known &= k->all;
	return k->count > 0;
}

void linkgroup_knock_describe(const struct knocks *k, struct option_knock *o)
{
	ENGINE_LOCKED();
	memset(o, 0, sizeof(*o));
	o->token = k->token;
	memcpy(o->client, identity_own(), PEER_ID_BYTES);
	for (unsigned i = 0; i < k->count; i++) {
		o->at[i].rmb = k->at[i].rmb->number;
		o->at[i].element = k->at[i].element;
	}
}

static struct rmb_element *element_of(const struct knocked *at)
{
	return rmb_element(&at->rmb->map, at->element);
}

enum knocking linkgroup_knock_look(const struct knocked *at, uint64_t token)
{
	uint64_t now =
	    atomic_load_explicit(&element_of(at)->knock, memory_order_acquire);

	if ((now & ~(uint64_t)KNOCK_ASLEEP) == token)
		return KNOCKING_WAITS;
	return now == KNOCK_TAKING ? KNOCKING_TAKING : KNOCKING_TAKEN;
}

bool linkgroup_knock_sleeps(const struct knocked *at, uint64_t token)
{
	uint64_t awake = token;

	return atomic_compare_exchange_strong(&element_of(at)->knock, &awake,
					      token | KNOCK_ASLEEP) ||
	       awake == (token | KNOCK_ASLEEP);
}

bool linkgroup_knock_take_back(const struct knocked *at, uint64_t token)
{
	struct rmb_element *e = element_of(at);
	uint64_t awake = token, asleep = token | KNOCK_ASLEEP;

	ENGINE_LOCKED();
	return atomic_compare_exchange_strong(&e->knock, &awake, KNOCK_GONE) ||
	       atomic_compare_exchange_strong(&e->knock, &asleep, KNOCK_GONE);
}

void linkgroup_knock_give(struct knocked *at, bool reuse)
{
	struct rmb *r = at->rmb;

	ENGINE_LOCKED();
	r->references--;
	if (r->group)
		linkgroup_end_use(r->group);
	r->busy &= ~(1u << at->element);
	if (reuse)
		atomic_store(&element_of(at)->knock, KNOCK_OPEN);
	else
		r->leaked |= 1u << at->element;
	at->held = false;
}

void linkgroup_knock_learn(struct linkgroup *g, uint16_t port)
{
	ENGINE_LOCKED();
	g->used = ++uses;
	if (!serves(g, port))
		g->ports[g->used % KNOCK_PORTS] = port;
	atomic_fetch_or(&ports_seen, port_bit(port));
}

void linkgroup_knock_was_met(const struct knocks *k,
			     const struct knocked *taken)
{
	ENGINE_LOCKED();
	for (const struct knocked *at = k->at; at < k->at + k->count; at++) {
		struct linkgroup *g = at->rmb->group;

		if (g && (k->all || at == taken))
			g->held_back /= 2;
		if (g && at == taken && g->met < KNOCK_MET)
			g->met++;
	}
}

void linkgroup_knock_was_vain(uint32_t number)
{
	ENGINE_LOCKED();
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

/* ---- server ---- */

bool linkgroup_knock_shut(struct rmb_element *e)
{
	uint64_t now = KNOCK_OPEN;

	ENGINE_LOCKED();
	return atomic_compare_exchange_strong(&e->knock, &now, KNOCK_SHUT) ||
	       now == KNOCK_SHUT;
}

bool linkgroup_knock_shut_all(struct rmb *r)
{
	ENGINE_LOCKED();
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

bool linkgroup_knock_is_open(const struct rmb_element *e)
{
	return relaxed_load(&e->knock) == KNOCK_OPEN;
}

void linkgroup_knock_open(struct rmb_element *e)
{
	ENGINE_LOCKED();
	atomic_store(&e->knock, KNOCK_OPEN);
}

static bool take_token(struct rmb_element *e, uint64_t token, bool *asleep)
{
	uint64_t awake = token, sleeps = token | KNOCK_ASLEEP;

	*asleep = false;
	if (atomic_compare_exchange_strong(&e->knock, &awake, KNOCK_TAKING))
		return true;
	*asleep =
	    atomic_compare_exchange_strong(&e->knock, &sleeps, KNOCK_TAKING);
	return *asleep;
}

static bool take_element(struct linkgroup *g, uint64_t token,
			 const struct option_knocked *at, struct rmb **rmb,
			 bool *asleep)
{
	struct rmb *r = linkgroup_rmb_find(g, at->rmb);

	if (!r || at->element >= r->map.elements ||
	    !linkgroup_rmb_has_free(r, at->element) ||
	    !take_token(rmb_element(&r->map, at->element), token, asleep))
		return false;
	*rmb = r;
	return true;
}

/* What the kernel brought is as much the client's as what stands in memory.
 * Most of it concerns other processes; none has this token but ours. */
bool linkgroup_take_knocked(const struct option_knock *knock, struct rmb **rmb,
			    uint32_t *element, bool *asleep)
{
	struct linkgroup *g =
	    linkgroup_list_find(SIDE_SERVER, (const uint8_t *)knock->client);
	unsigned i = 0;

	ENGINE_LOCKED();
	if (!g || !(knock->token & TOKEN_BIT) || (knock->token & KNOCK_ASLEEP))
		return false;
	while (i < OPTION_KNOCKS_MAX && knock->at[i].rmb != 0 &&
	       !take_element(g, knock->token, &knock->at[i], rmb, asleep))
		i++;
	if (i == OPTION_KNOCKS_MAX || knock->at[i].rmb == 0)
		return false;
	*element = knock->at[i].element;
	linkgroup_rmb_take(*rmb, *element);
	atomic_store(&rmb_element(&(*rmb)->map, *element)->accept,
		     ACCEPT_TAKEN);
	segment_count(reuses);
	return true;
}

void linkgroup_knock_answer(struct rmb *r, uint32_t element, bool asleep)
{
	struct rmb_element *e = rmb_element(&r->map, element);

	ENGINE_LOCKED();
	if (asleep)
		relaxed_add(&e->side[SIDE_CLIENT].wait.rings_data, 1);
	atomic_store(&e->knock, KNOCK_SHUT);
	if (!asleep)
		return;
	segment_count(doorbells);
	bell_ring(r->bells[element].peer_data);
}
