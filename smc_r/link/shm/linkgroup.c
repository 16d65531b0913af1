/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup: what two processes of one host share for all their connections. */
#include "smc_r/link/shm/linkgroup.h"

#include <errno.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/link/shm/linkgroup_knock.h"
#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/link/shm/linkgroup_rmb.h"
#include "smc_r/memory/unmap_later.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/rendezvous.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

#define DROP_EVERY_NS 10000000u

/* A group keeps so many spare elements at most: where memory is short; where
 * there is plenty; and where there is enough, and a thread gives it back in
 * time. After so many connections that find a free one, one of them is too
 * many. */
#define SPARE_SHORT  3u
#define SPARE_PLENTY 16u
#define SPARE_RESTS  1024u
#define SPARE_TAKES  256u
#define SHUT_OUT     8u /* connections that a client could not knock for */

#define REST_NS 1000000000u /* so long after the last one that ended */

/* Spare elements go at this time; 0: there are none. */
static _Atomic uint64_t rest_at_ns;
/* Some thread of this process asks for that before it sleeps. */
static _Atomic bool somebody_rests;

/* The alert token is part of the nonce and must not be zero. */
static int make_secrets(struct linkgroup *g)
{
	if (identity_random(g->nonce, NONCE_BYTES) < 0 ||
	    identity_random(g->proof, NONCE_BYTES) < 0)
		return -EAGAIN;
	for (int i = 0; i < NONCE_BYTES; i++) {
		g->nonce[i] |= g->nonce[i] == 0;
		g->proof[i] |= g->proof[i] == 0;
	}
	return 0;
}

static uint32_t make_server_group(const uint8_t *peer_id,
				  struct linkgroup **out)
{
	uint8_t id[PEER_ID_BYTES];
	struct linkgroup *g;
	int channel;

	linkgroup_list_drop_dead();
	channel = identity_get(id);
	if (channel < 0)
		return channel == -EMFILE ? REASON_DESCRIPTORS
					  : REASON_RENDEZVOUS;
	channel = rendezvous_connect(peer_id);
	if (channel == -ECONNREFUSED || channel == -ENOENT)
		return REASON_OTHER_HOST;
	if (channel == -EMFILE)
		return REASON_DESCRIPTORS;
	if (channel < 0)
		return REASON_RENDEZVOUS;
	g = linkgroup_list_new(SIDE_SERVER, peer_id);
	if (!g || make_secrets(g) < 0) {
		private_fd_close(channel);
		if (g)
			linkgroup_list_free(g);
		return REASON_MEMORY;
	}
	g->channel = channel;
	g->peer_pid = rendezvous_peer(channel).pid;
	*out = g;
	return REASON_NONE;
}

static bool take_free(struct linkgroup *g, struct rmb **rmb, uint32_t *element)
{
	linkgroup_rmb_reclaim(g);
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++) {
			if (!linkgroup_rmb_has_free(r, i) ||
			    !linkgroup_knock_shut(rmb_element(&r->map, i)))
				continue;
			linkgroup_rmb_take(r, i);
			*rmb = r;
			*element = i;
			return true;
		}
	return false;
}

/*
 * A server that closes first is done with an element before its client is, or
 * its child later, and the next connection comes in between; and short
 * connections come and go in bursts. Then memory that was given back would soon
 * be made again, which costs more than all else of a short connection. So a
 * server that finds nothing free only because of clients that are late, or that
 * gave memory back a moment ago, keeps as much as is missing from then on.
 */
static bool clients_are_late(const struct linkgroup *g)
{
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++)
			if (linkgroup_rmb_is_idle(r, i))
				return true;
	return false;
}

static bool gave_back_soon(const struct linkgroup *g)
{
	return sys_left_ns(g->soon_ns) > 0;
}

static uint32_t spare_most(const struct linkgroup *g)
{
	if (g->enough && relaxed_load(&somebody_rests))
		return SPARE_RESTS;
	return g->plenty ? SPARE_PLENTY : SPARE_SHORT;
}

static void note_take(struct linkgroup *g, bool found)
{
	if (!found && (clients_are_late(g) || gave_back_soon(g))) {
		g->spare += g->connections > 1 ? g->connections : 1;
		if (g->spare > spare_most(g))
			g->spare = spare_most(g);
		g->takes = 0;
	} else if (g->spare > 0 && ++g->takes == SPARE_TAKES) {
		g->spare--;
		g->takes = 0;
	}
}

static uint32_t make_group_and_rmb(const uint8_t *peer_id,
				   const struct snapshot *s, uint32_t rmbe_max,
				   struct linkgroup **g)
{
	uint32_t reason = make_server_group(peer_id, g);

	if (reason)
		return reason;
	(*g)->rmbe_max = rmbe_max;
	reason = linkgroup_rmb_add(*g, s);
	if (reason)
		linkgroup_list_free(*g);
	return reason;
}

static uint32_t take_from_new(const uint8_t *peer_id, const struct snapshot *s,
			      uint32_t rmbe_max, struct rmb **rmb,
			      uint32_t *element)
{
	struct linkgroup *g;
	uint32_t reason;

	private_fd_begin();
	reason = make_group_and_rmb(peer_id, s, rmbe_max, &g);
	private_fd_end();
	if (reason)
		return reason;
	linkgroup_list_add(g);
	segment_count(first_contacts);
	return take_free(g, rmb, element) ? REASON_NONE : REASON_INTERNAL;
}

/* Is there one more to knock at? Others may have knocked, and be taken
 * elsewhere. */
static bool has_open(const struct linkgroup *g)
{
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++)
			if (linkgroup_rmb_has_free(r, i) &&
			    linkgroup_knock_is_open(rmb_element(&r->map, i)))
				return true;
	return false;
}

static bool client_is_shut_out(const struct linkgroup *g)
{
	for (const struct rmb *r = g->rmbs; r; r = r->next) {
		_Atomic uint32_t *times = &rmb_header(&r->map)->no_element_open;

		if (relaxed_load(times) < SHUT_OUT)
			continue;
		atomic_store(times, 0);
		return true;
	}
	return false;
}

/*
 * A client that comes back before we have closed finds nothing that it could
 * knock at, and so does one that has knocked at all of them, and is accepted by
 * others. If that goes on, and memory is not short, more elements are what it
 * needs.
 */
static void note_shut_out(struct linkgroup *g, const struct snapshot *s)
{
	if (!client_is_shut_out(g) || has_open(g) || !g->plenty ||
	    g->connections >= SPARE_PLENTY)
		return;
	g->spare += g->spare + 1;
	if (g->spare > spare_most(g))
		g->spare = spare_most(g);
	linkgroup_rmb_add(g, s);
}

static uint32_t take_again(struct linkgroup *g, const struct snapshot *s,
			   struct rmb **rmb, uint32_t *element)
{
	bool found = take_free(g, rmb, element);
	uint32_t reason;

	note_take(g, found);
	if (!found) {
		reason = linkgroup_rmb_add(g, s);
		if (reason)
			return reason;
		if (!take_free(g, rmb, element))
			return REASON_INTERNAL;
	}
	note_shut_out(g, s);
	segment_count(reuses);
	return REASON_NONE;
}

/*
 * A client that could not take a message, for want of descriptors, gives up the
 * channel that it came over, and says so in its Decline. But a forked process
 * may have heard that, and we find out when there is more to tell.
 */
uint32_t linkgroup_take(const uint8_t peer_id[PEER_ID_BYTES],
			const struct snapshot *s, uint32_t rmbe_max,
			struct rmb **rmb, uint32_t *element, bool *first)
{
	struct linkgroup *g = linkgroup_list_find(SIDE_SERVER, peer_id);
	uint32_t reason;

	ENGINE_LOCKED();
	*first = g == NULL;
	/* linkgroup_take_named() tells why, for a client. */
	if (process_may_be_foreign())
		return REASON_FORK;
	if (g) {
		reason = take_again(g, s, rmb, element);
		if (!reason)
			return REASON_NONE;
		linkgroup_list_drop_dead();
		if (linkgroup_list_find(SIDE_SERVER, peer_id))
			return reason;
		*first = true;
	}
	return take_from_new(peer_id, s, rmbe_max, rmb, element);
}

int linkgroup_rest_ms(void)
{
	uint64_t at = relaxed_load(&rest_at_ns);
	uint64_t left;

	if (!relaxed_load(&somebody_rests))
		atomic_store(&somebody_rests, true);
	if (!at)
		return -1;
	left = sys_left_ns(at);
	return left ? (int)(left / 1000000u) + 1 : 0;
}

void linkgroup_rest(void)
{
	engine_lock();
	if (linkgroup_rest_ms() == 0) {
		atomic_store(&rest_at_ns, 0);
		linkgroup_list_drop_dead();
		for (struct linkgroup *g = linkgroup_list_first(); g;
		     g = g->next) {
			g->spare = 0;
			if (g->side == SIDE_SERVER)
				linkgroup_rmb_trim(g);
		}
	}
	engine_unlock();
}

/* Runs when connections end, so that the memory of peers that end comes back;
 * but not with every short one. */
static void drop_dead_groups_sometimes(void)
{
	static uint64_t next_ns;

	if (sys_left_ns(next_ns) > 0)
		return;
	next_ns = sys_end_in_ns(DROP_EVERY_NS);
	linkgroup_list_drop_dead();
}

/* An element was given back. */
static void note_give(struct linkgroup *g, bool trim)
{
	linkgroup_end_use(g);
	if (g->channel < 0) {
		linkgroup_list_bury();
		return;
	}
	if (trim || g->spare == 0 || linkgroup_rmb_idle(g) > 1 + g->spare)
		linkgroup_rmb_trim(g);
	if (g->spare)
		relaxed_store(&rest_at_ns, sys_end_in_ns(REST_NS));
	drop_dead_groups_sometimes();
}

void linkgroup_give(struct rmb *r, uint32_t element, bool reuse)
{
	struct rmb_element *e = rmb_element(&r->map, element);
	struct linkgroup *g = r->group;

	ENGINE_LOCKED();
	r->references--;
	/* Whichever process of this end is the last one says so. */
	if (reuse && r->side == SIDE_CLIENT)
		rmb_element_release(e);
	if (!g) { /* a forked child: the element is the parent's */
		bells_close(&r->bells[element]);
		if (r->references == 0) {
			unmap_later(&r->map, false);
			pool_put(r, sizeof(*r));
		}
		return;
	}
	INVARIANT("R2", r->busy >> element & 1);
	r->busy &= ~(1u << element);
	if (!reuse) {
		/* Others of this end still use it. Our copies of its bells
		 * must not keep it alive for the peer. */
		r->leaked |= 1u << element;
		bells_close(&r->bells[element]);
	} else if (r->side == SIDE_SERVER) {
		linkgroup_knock_open(e);
	}
	note_give(g, !reuse);
}

void linkgroup_lend(struct rmb *r, uint32_t element, struct lease lease)
{
	ENGINE_LOCKED();
	if (!r->group || bells_lend(&r->bells[element]) < 0) {
		linkgroup_give(r, element, false);
		return;
	}
	r->lease[element] = lease;
	r->lent |= 1u << element;
	r->busy &= ~(1u << element);
	r->references--;
	/* A child serves this one, and the last one's is done by now: so the
	 * next client can knock. */
	linkgroup_rmb_reclaim(r->group);
	note_give(r->group, false);
}

void linkgroup_out_of_step(struct rmb *r)
{
	struct linkgroup *g = r->group;

	ENGINE_LOCKED();
	if (!g || g->side != SIDE_SERVER || g->channel < 0)
		return;
	linkgroup_list_hang_up(g);
}

void linkgroup_shed(void)
{
	ENGINE_LOCKED();
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next) {
		linkgroup_rmb_shed(g);
		if (g->connections > 0 || g->channel < 0)
			continue;
		private_fd_close(g->channel);
		g->channel = -1;
	}
	linkgroup_list_drop_dead();
}

void linkgroup_retire(void)
{
	ENGINE_LOCKED();
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next) {
		if (g->connections > 0 || g->channel < 0 || g->waits)
			continue;
		if (g->unused)
			linkgroup_list_hang_up(g);
		g->unused = true;
	}
	linkgroup_list_bury();
}

void linkgroup_forked(void)
{
	linkgroup_list_forked();
	linkgroup_knock_forked();
	identity_forked();
}
