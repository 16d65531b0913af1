/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_group: groups, and how connections come into them. */
#include "smc_r/service/rc_group.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/service/rc_group_parts.h"
#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_port.h"

#define TEST_LINK_NS (30 * RC_SECOND_NS)
#define LINK_NUMBER  1
#define LAST_WORD_NS (2 * RC_SECOND_NS)
/* What the peer says behind the end of a group comes in such a time. */
#define SILENCE_NS   (RC_SECOND_NS / 4)

/* ---- groups ---- */

static void init_flow(struct rc_group *g)
{
	struct rc_flow_terms terms = {
	    .role = g->peer.server ? RC_FLOW_SERVER : RC_FLOW_CLIENT,
	    .version = (uint8_t)g->peer.version,
	    .links_max = g->peer.links_max,
	    .connections_max = g->peer.connections_max,
	    .test_link_ns = TEST_LINK_NS};
	struct rc_link_name name = rc_link_name(&g->link);

	rc_flow_init(&g->flow, &terms);
	memcpy(g->end.mac, g->port->device.mac, sizeof(g->end.mac));
	memcpy(g->end.gid, &name.gid, sizeof(g->end.gid));
	g->end.qpn = name.qpn;
	g->end.number = LINK_NUMBER;
	g->end.uid = ++g->service->uid;
}

struct rc_group *rc_group_new(struct rc_service *s, struct rc_port *port,
			      const struct rc_peer *peer, int *error)
{
	struct rc_group *g = calloc(1, sizeof(*g));

	*error = -ENOMEM;
	if (!g)
		return NULL;
	g->service = s;
	g->port = port;
	g->peer = *peer;
	*error = rc_link_open(&g->link, &port->device, rc_draw(s) & 0xffffff);
	if (*error) {
		free(g);
		return NULL;
	}
	init_flow(g);
	rc_port_add(port, g);
	g->next = s->groups;
	s->groups = g;
	return g;
}

static bool is_of(const struct rc_group *g, const struct rc_port *port,
		  const struct rc_peer *peer)
{
	const struct rc_peer *p = &g->peer;

	return !g->ended && rc_port_is_same(g->port, port) &&
	       p->server == peer->server && p->version == peer->version &&
	       memcmp(p->id, peer->id, sizeof(p->id)) == 0 &&
	       memcmp(&p->gid, &peer->gid, sizeof(p->gid)) == 0 &&
	       (p->version == 2 ||
		memcmp(p->mac, peer->mac, sizeof(p->mac)) == 0);
}

static bool has_row(const struct rc_group *g)
{
	for (int i = 0; i < RC_KEYS_ROWS; i++)
		if (g->flow.keys.row[i].links == 0)
			return true;
	return false;
}

static unsigned places(const struct rc_group *g)
{
	return g->peer.connections_max ? g->peer.connections_max
				       : RC_GROUP_PLACES;
}

/* A client follows the server's choice, which has told its key before. */
struct rc_group *rc_group_find(const struct rc_service *s,
			       const struct rc_port *port,
			       const struct rc_peer *peer)
{
	for (struct rc_group *g = s->groups; g; g = g->next) {
		if (!is_of(g, port, peer) || !g->confirmed || g->failed)
			continue;
		if (peer->server ? g->count < places(g) && has_row(g)
				 : peer->qpn == g->peer.qpn)
			return g;
	}
	return NULL;
}

bool rc_group_is_coming(const struct rc_service *s, const struct rc_port *port,
			const struct rc_peer *peer)
{
	for (struct rc_group *g = s->groups; g; g = g->next)
		if (is_of(g, port, peer) && !g->confirmed && !g->failed)
			return true;
	return false;
}

/* The peer's last messages are acknowledged as long as the queue pair is there:
 * rdma_rxe takes a retry count of 7, that of Linux, for one without an end. */
uint64_t rc_group_over_ns(const struct rc_group *g)
{
	if (g->failed)
		return 0;
	if (g->messages > 0 || g->link.free_slots != (1u << RC_LINK_SLOTS) - 1)
		return g->ended_ns + LAST_WORD_NS;
	return g->heard_ns + SILENCE_NS < g->ended_ns + LAST_WORD_NS
		   ? g->heard_ns + SILENCE_NS
		   : g->ended_ns + LAST_WORD_NS;
}

bool rc_group_is_over(const struct rc_group *g, uint64_t now_ns)
{
	return g->ended && now_ns >= rc_group_over_ns(g);
}

void rc_group_free(struct rc_group *g)
{
	struct rc_group **at = &g->service->groups;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++) {
		if (!g->conn[i])
			continue;
		rc_region_drop(&g->conn[i]->in);
		rc_region_drop(&g->conn[i]->out);
	}
	rc_port_remove(g->port, g);
	far_counts_add(&g->port->counts, &g->link.counts);
	rc_link_close(&g->link);
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++) {
		struct rc_conn *c = g->conn[i];

		if (!c)
			continue;
		c->group = NULL;
		if (c->state != RC_CONN_ACTIVE)
			continue;
		c->state = RC_CONN_OVER;
		rc_near_over(c);
	}
	free(g);
}

/* ---- connections ---- */

struct rc_conn *rc_group_at(const struct rc_group *g, uint32_t token)
{
	unsigned place = (token & 0xff) - 1;
	struct rc_conn *c = place < RC_GROUP_PLACES ? g->conn[place] : NULL;

	return c && c->token == token ? c : NULL;
}

static int make_regions(struct rc_group *g, struct rc_conn *c)
{
	const struct ring *out = &c->pump.near.in.ring[0];
	const struct ring *in = &c->pump.near.out.ring[0];
	int error = rc_region_make(&c->in, &g->link, in->at, in->bytes, true);

	g->link.counts.registrations += !error;
	if (!error)
		error = rc_region_make(&c->out, &g->link, out->at, out->bytes,
				       false);
	g->link.counts.registrations += !error;
	return error;
}

int rc_group_join(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	unsigned place = 0;
	int error;

	while (place < RC_GROUP_PLACES && g->conn[place])
		place++;
	if (place == RC_GROUP_PLACES)
		return -ENOSPC;
	g->service->token += 0x100;
	c->token = g->service->token + place + 1;
	c->group = g;
	c->row = -1;
	c->joined = 0;
	g->conn[place] = c;
	g->count++;
	error = make_regions(g, c);
	if (error)
		rc_group_forget(g, c, now_ns);
	return error;
}

void rc_group_forget(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	unsigned place = rc_place(c);

	rc_region_drop(&c->in);
	rc_region_drop(&c->out);
	g->conn[place] = NULL;
	g->waits[place / 64] &= ~(1ULL << place % 64);
	g->ending -= c->ended_ns != 0;
	if (--g->count == 0)
		g->idle_ns = now_ns;
	c->group = NULL;
	g->service->changed = true;
}

static struct rc_flow_key key_of(const struct rc_conn *c)
{
	return (struct rc_flow_key){.rkey = {c->in.rkey},
				    .address = {c->in.address}};
}

int rc_group_ask(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	struct rc_flow_key key = key_of(c);
	int error = rc_flow_confirm_rkey(&g->flow, c->token, &key, now_ns);

	c->joined = error ? error : -EINPROGRESS;
	c->told_key = !error;
	rc_group_run(g, now_ns);
	return error;
}

int rc_group_connect(struct rc_group *g, const struct clc_accept_confirm *m)
{
	struct rc_link_name name = {
	    .qpn = m->qpn, .psn = m->psn, .mtu = (enum ibv_mtu)m->mtu};

	if (m->mtu < IBV_MTU_256 || m->mtu > IBV_MTU_4096)
		return -EPROTO;
	memcpy(&name.gid, m->gid, sizeof(name.gid));
	g->peer.qpn = m->qpn;
	return rc_link_connect(&g->link, &name);
}

int rc_group_confirm(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	int error = rc_flow_open_link(&g->flow, 0, &g->end, now_ns);

	c->joined = error ? error : -EINPROGRESS;
	rc_group_run(g, now_ns);
	return error;
}

int rc_group_meet(struct rc_group *g, struct rc_conn *c,
		  const struct clc_accept_confirm *m)
{
	struct rc_pump *p = &c->pump;
	uint32_t size = CLC_RMBE_BYTES_MIN << m->size_code;

	if (m->qpn != g->peer.qpn)
		return -EPROTO;
	c->row = rc_keys_add(&g->flow.keys, 0, m->rkey, m->address);
	if (c->row < 0)
		return c->row;
	rc_stream_init(&p->stream, (uint32_t)p->near.out.ring[0].bytes, size,
		       m->token);
	p->link = &g->link;
	p->lkey = c->out.lkey;
	p->rkey = m->rkey;
	p->remote = m->address + (uint64_t)size * (m->index - 1u);
	return 0;
}

void rc_group_leave(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	struct rc_flow_key key = key_of(c);

	/* Nobody waits for the answer: the region is gone at once. */
	if (c->told_key && !g->ended)
		(void)rc_flow_delete_rkeys(&g->flow, RC_ID_NOBODYS, &key, 1,
					   now_ns);
	rc_group_forget(g, c, now_ns);
	rc_group_run(g, now_ns);
	if (!g->confirmed && g->count == 0)
		rc_group_end(g, LLC_DELETE_PROGRAM, true, now_ns);
}
