/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup: what two processes of one host share for all their connections. */
#include "linkgroup.h"

#include <errno.h>
#include <string.h>

#include "grave.h"
#include "identity.h"
#include "linkgroup_list.h"
#include "linkgroup_rmb.h"
#include "process.h"
#include "reason.h"
#include "rendezvous.h"
#include "segment.h"
#include "sys.h"

#define DROP_EVERY_NS 10000000u

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
	if (identity_get(id) < 0)
		return REASON_RENDEZVOUS;
	channel = rendezvous_connect(peer_id);
	if (channel == -ECONNREFUSED || channel == -ENOENT)
		return REASON_OTHER_HOST;
	if (channel == -EMFILE)
		return REASON_DESCRIPTORS;
	if (channel < 0)
		return REASON_RENDEZVOUS;
	g = linkgroup_list_new(SIDE_SERVER, peer_id);
	if (!g || make_secrets(g) < 0) {
		hidden_close(channel);
		return REASON_MEMORY;
	}
	g->channel = channel;
	g->peer_pid = rendezvous_peer_pid(channel);
	*out = g;
	return REASON_NONE;
}

static bool take_free(struct linkgroup *g, struct rmb **rmb, uint32_t *element)
{
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++) {
			struct rmb_element *e = rmb_element(&r->map, i);

			if (!linkgroup_rmb_has_free(r, i))
				continue;
			rmb_element_reset(e);
			atomic_fetch_add(&e->epoch, 1);
			r->busy |= 1u << i;
			r->references++;
			g->connections++;
			*rmb = r;
			*element = i;
			return true;
		}
	return false;
}

uint32_t linkgroup_take(const uint8_t peer_id[PEER_ID_BYTES],
			const struct snapshot *s, struct rmb **rmb,
			uint32_t *element, bool *first)
{
	struct linkgroup *g = linkgroup_list_find(SIDE_SERVER, peer_id);
	uint32_t reason;

	*first = g == NULL;
	if (!g) {
		reason = make_server_group(peer_id, &g);
		if (reason)
			return reason;
		reason = linkgroup_rmb_add(g, s);
		if (reason) {
			linkgroup_list_free(g);
			return reason;
		}
		linkgroup_list_add(g);
		segment_count(first_contacts);
	}
	if (take_free(g, rmb, element)) {
		if (!*first)
			segment_count(reuses);
		return REASON_NONE;
	}
	reason = linkgroup_rmb_add(g, s);
	if (reason)
		return reason;
	segment_count(reuses);
	return take_free(g, rmb, element) ? REASON_NONE : REASON_INTERNAL;
}

/* When connections end, so that the memory of peers that end comes back; but
 * not with every short one. */
static void drop_dead_groups_sometimes(void)
{
	static uint64_t last;
	uint64_t now = sys_now_ns();

	if (now - last < DROP_EVERY_NS)
		return;
	last = now;
	linkgroup_list_drop_dead();
}

void linkgroup_give(struct rmb *r, uint32_t element, bool reuse)
{
	struct rmb_element *e = rmb_element(&r->map, element);
	struct linkgroup *g = r->group;

	r->references--;
	/* Whichever process of this end is the last one says so. */
	if (reuse && r->side == SIDE_CLIENT)
		rmb_element_release(e);
	if (!g) { /* a forked child: the element is the parent's */
		hidden_close(r->bell_in[element]);
		hidden_close(r->bell_out[element]);
		if (r->references == 0) {
			grave_bury(&r->map, false);
			pool_put(r, sizeof(*r));
		}
		return;
	}
	r->busy &= ~(1u << element);
	if (!reuse) {
		/* Others of this end still use it. Our copies of its bells
		 * must not keep it alive for the peer. */
		r->leaked |= 1u << element;
		hidden_close(r->bell_in[element]);
		hidden_close(r->bell_out[element]);
		r->bell_in[element] = r->bell_out[element] = -1;
	}
	g->connections--;
	linkgroup_rmb_trim(g);
	drop_dead_groups_sometimes();
}

void linkgroup_out_of_step(struct rmb *r)
{
	struct linkgroup *g = r->group;

	if (!g || g->side != SIDE_SERVER || g->channel < 0)
		return;
	hidden_close(g->channel);
	g->channel = -1;
}

void linkgroup_forked(void)
{
	linkgroup_list_forked();
	identity_forked();
}
