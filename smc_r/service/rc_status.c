/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_service: what it tells of itself. */
#include <string.h>

#include "smc_r/service/rc_service.h"
#include "smc_r/service/rc_state.h"

static struct far_port_row row_of_port(const struct rc_service *s,
				       const struct rc_port *p)
{
	struct far_port_row r = {.number = p->device.port,
				 .roce_version = (uint32_t)p->version,
				 .groups = p->groups,
				 .broken = p->broken,
				 .counts = p->counts};

	_Static_assert(sizeof(r.device) == sizeof(p->device.name), "a name");
	_Static_assert(sizeof(r.interface) == sizeof(p->device.interface),
		       "a name");
	memcpy(r.device, p->device.name, sizeof(r.device));
	memcpy(r.interface, p->device.interface, sizeof(r.interface));
	memcpy(r.gid, &p->device.gid, sizeof(r.gid));
	memcpy(r.local, &p->local, sizeof(r.local));
	for (const struct rc_group *g = s->groups; g; g = g->next)
		if (g->port == p)
			far_counts_add(&r.counts, &g->link.counts);
	return r;
}

static void add_rmbs(const struct rc_group *g, struct far_group_row *r)
{
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++) {
		const struct rc_conn *c = g->conn[i];

		if (!c || !c->in.mr)
			continue;
		r->rmbs++;
		r->rmb_bytes += c->pump.near.out.ring[0].bytes;
	}
}

static struct far_group_row row_of_group(const struct rc_group *g)
{
	const struct rc_flow_link *link = &g->flow.link[0];
	struct far_group_row r = {.qpn = g->end.qpn,
				  .peer_qpn = g->peer.qpn,
				  .link = link->port.number,
				  .server = g->peer.server,
				  .version = (uint32_t)g->peer.version,
				  .state = g->ended || g->failed
					       ? FAR_GROUP_ENDS
					   : g->confirmed ? FAR_GROUP_ACTIVE
							  : FAR_GROUP_BEGINS,
				  .connections = g->count,
				  .counts = g->link.counts};

	memcpy(r.interface, g->port->device.interface, sizeof(r.interface));
	memcpy(r.peer_id, g->peer.id, sizeof(r.peer_id));
	memcpy(r.peer_gid, &g->peer.gid, sizeof(r.peer_gid));
	memcpy(r.gid, &g->port->device.gid, sizeof(r.gid));
	add_rmbs(g, &r);
	return r;
}

void rc_service_status(const struct rc_service *s, struct far_status *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = FAR_MAGIC;
	out->version = FAR_VERSION;
	for (const struct rc_port *p = s->ports; p; p = p->next)
		if (out->ports < FAR_PORTS_MAX)
			out->port[out->ports++] = row_of_port(s, p);
	for (const struct rc_group *g = s->groups; g; g = g->next) {
		out->groups_all++;
		if (out->groups < FAR_GROUPS_MAX)
			out->group[out->groups++] = row_of_group(g);
	}
}

void rc_service_reset_counts(struct rc_service *s)
{
	for (struct rc_port *p = s->ports; p; p = p->next)
		memset(&p->counts, 0, sizeof(p->counts));
	for (struct rc_group *g = s->groups; g; g = g->next)
		memset(&g->link.counts, 0, sizeof(g->link.counts));
}
