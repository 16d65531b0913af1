/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_terms: the contents of CLC messages. */
#include "smc_r/service/rc_terms.h"

#include <arpa/inet.h>
#include <string.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_paths.h"
#include "smc_r/service/rc_port.h"

#define V4_BITS 96u /* in front of a mapped address */

static bool has_smcr(uint8_t path)
{
	return path == CLC_PATH_SMCR || path == CLC_PATH_BOTH;
}

/* An IPv4 GID may come without its prefix. */
union ibv_gid rc_terms_gid(const uint8_t gid[CLC_GID_BYTES], int version)
{
	static const uint8_t none[12];
	union ibv_gid out;

	memcpy(&out, gid, sizeof(out));
	if (version == 2 && memcmp(gid, none, sizeof(none)) == 0)
		memset(&out.raw[10], 0xff, 2);
	return out;
}

/* ---- the Proposal ---- */

static bool offer_v1(const struct rc_terms *t, struct clc_proposal *out)
{
	struct rc_prefix prefix[RC_PREFIXES_MAX];
	const struct in6_addr *local = &t->conn->local;
	int n = rc_prefixes(local, prefix);

	if (n <= 0)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(local)) {
		uint32_t subnet;

		memcpy(&subnet, &prefix[0].address.s6_addr[12], 4);
		out->subnet = ntohl(subnet);
		out->subnet_bits = (uint8_t)(prefix[0].bits - V4_BITS);
		return true;
	}
	out->prefix_count = (uint8_t)n;
	for (int i = 0; i < n; i++) {
		memcpy(out->prefix[i].address, &prefix[i].address, 16);
		out->prefix[i].bits = prefix[i].bits;
	}
	return true;
}

static struct rc_port *port_of(const struct rc_terms *t, int version)
{
	struct rc_service *s = t->conn->service;
	const struct in6_addr *local = &t->conn->local;

	if (version == 2 && (s->eids == 0 || !IN6_IS_ADDR_V4MAPPED(local)))
		return NULL;
	return rc_port_get(s, local, version);
}

bool rc_terms_propose(struct rc_terms *t)
{
	struct clc_proposal *out = &t->proposal;
	const struct rc_service *s = t->conn->service;
	const struct rc_port *v1 = port_of(t, 1), *v2 = port_of(t, 2);
	const struct rc_port *either = v1 ? v1 : v2;

	memset(out, 0, sizeof(*out));
	out->path_v1 = v1 && offer_v1(t, out) ? CLC_PATH_SMCR : CLC_PATH_NONE;
	out->path_v2 = v2 ? CLC_PATH_SMCR : CLC_PATH_NONE;
	if (!either || (!has_smcr(out->path_v1) && !v2))
		return false;
	out->version = v2 ? 2 : 1;
	memcpy(out->peer_id, s->peer_id, sizeof(out->peer_id));
	/* Servers take both from here, for version 2, too. */
	memcpy(out->gid, &either->device.gid, sizeof(out->gid));
	memcpy(out->mac, either->device.mac, sizeof(out->mac));
	if (!v2)
		return true;
	out->release = RC_RELEASE;
	memcpy(out->gid_v2, &v2->device.gid, sizeof(out->gid_v2));
	out->connections_max = RC_CONNECTIONS;
	out->links_max = RC_LINKS;
	out->eid_count = (uint8_t)s->eids;
	memcpy(out->eid, s->eid, (size_t)s->eids * CLC_EID_BYTES);
	return true;
}

/* ---- a server's choice ---- */

static bool is_in(const struct rc_prefix *prefix, const struct in6_addr *a)
{
	struct in6_addr of = rc_prefix_of(a, prefix->bits);

	return memcmp(&of, &prefix->address, sizeof(of)) == 0;
}

/* The client's subnet is one of the interface's. */
static bool shares_v4(const struct clc_proposal *p,
		      const struct rc_prefix *prefix, int n)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	uint32_t subnet = htonl(p->subnet);

	memcpy(&a.s6_addr[12], &subnet, 4);
	for (int i = 0; i < n; i++)
		if (prefix[i].bits == p->subnet_bits + V4_BITS &&
		    is_in(&prefix[i], &a))
			return true;
	return false;
}

static bool shares_v6(const struct clc_proposal *p,
		      const struct rc_prefix *prefix, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < p->prefix_count; k++)
			if (prefix[i].bits == p->prefix[k].bits &&
			    memcmp(&prefix[i].address, p->prefix[k].address,
				   16) == 0)
				return true;
	return false;
}

static uint32_t choose_v1(struct rc_terms *t)
{
	const struct clc_proposal *p = &t->proposal;
	struct rc_prefix prefix[RC_PREFIXES_MAX];
	int n;

	t->port = port_of(t, 1);
	if (!t->port)
		return REASON_NO_SMCR_DEVICE;
	n = rc_prefixes(&t->conn->local, prefix);
	if (IN6_IS_ADDR_V4MAPPED(&t->conn->local) ? !shares_v4(p, prefix, n)
						  : !shares_v6(p, prefix, n))
		return REASON_PREFIX;
	t->peer.version = 1;
	t->peer.links_max = 2;
	t->peer.gid = rc_terms_gid(p->gid, 1);
	return REASON_NONE;
}

static bool choose_eid(struct rc_terms *t)
{
	const struct rc_service *s = t->conn->service;
	const struct clc_proposal *p = &t->proposal;

	for (int i = 0; i < p->eid_count; i++)
		for (int k = 0; k < s->eids; k++)
			if (memcmp(p->eid[i], s->eid[k], CLC_EID_BYTES) == 0) {
				memcpy(t->eid, p->eid[i], CLC_EID_BYTES);
				return true;
			}
	return false;
}

static bool is_direct(const struct in6_addr *local, const union ibv_gid *gid)
{
	struct rc_prefix prefix[RC_PREFIXES_MAX];
	struct in6_addr a;
	int n = rc_prefixes(local, prefix);

	memcpy(&a, gid, sizeof(a));
	for (int i = 0; i < n; i++)
		if (is_in(&prefix[i], &a))
			return true;
	return false;
}

static uint32_t choose_v2(struct rc_terms *t)
{
	const struct clc_proposal *p = &t->proposal;

	if (!choose_eid(t))
		return REASON_NO_COMMON_EID;
	t->port = port_of(t, 2);
	if (!t->port)
		return REASON_NO_SMCR_DEVICE;
	t->release = p->release < RC_RELEASE ? p->release : RC_RELEASE;
	t->peer.links_max = 2;
	if (t->release > 0) {
		if (p->connections_max < RC_CONNECTIONS_MIN)
			return REASON_MAX_CONNECTIONS;
		if (p->links_max < 1)
			return REASON_MAX_LINKS;
		t->peer.connections_max = p->connections_max;
		t->peer.links_max = RC_LINKS;
	}
	t->peer.version = 2;
	t->peer.gid = rc_terms_gid(p->gid_v2, 2);
	t->direct = is_direct(&t->conn->local, &t->peer.gid);
	return REASON_NONE;
}

/* A program of ours whose host has no link service names a port that is its
 * peer ID: proposal.c. */
static bool is_without_service(const struct clc_proposal *p)
{
	return memcmp(p->gid + 8, p->peer_id, sizeof(p->peer_id)) == 0;
}

/* Where both versions are offered and neither suits, the one that the interface
 * has a GID for tells why. */
uint32_t rc_terms_choose(struct rc_terms *t)
{
	const struct clc_proposal *p = &t->proposal;
	uint32_t reason = REASON_PEER_NO_SMC;
	uint32_t older;

	t->peer.server = true;
	memcpy(t->peer.id, p->peer_id, sizeof(t->peer.id));
	memcpy(t->peer.mac, p->mac, sizeof(t->peer.mac));
	if (is_without_service(p))
		return REASON_OTHER_HOST;
	if (has_smcr(p->path_v2))
		reason = choose_v2(t);
	if (reason == REASON_NONE || !has_smcr(p->path_v1))
		return reason;
	older = choose_v1(t);
	return older && has_smcr(p->path_v2) && port_of(t, 2) ? reason : older;
}

/* ---- Accept and Confirm ---- */

static uint32_t judge_accept(struct rc_terms *t)
{
	const struct clc_accept_confirm *m = &t->end;

	t->release = m->release;
	t->peer.links_max = 2;
	t->peer.connections_max = 0;
	if (m->release > RC_RELEASE)
		return REASON_RELEASE;
	if (m->release == 0)
		return REASON_NONE;
	t->peer.links_max = m->links_max;
	t->peer.connections_max = m->connections_max;
	if (m->connections_max < RC_CONNECTIONS_MIN)
		return REASON_MAX_CONNECTIONS;
	return m->links_max < 1 || m->links_max > 2 ? REASON_MAX_LINKS
						    : REASON_NONE;
}

static uint32_t judge_confirm(const struct rc_terms *t)
{
	const struct clc_accept_confirm *m = &t->end;

	if (m->release != t->release)
		return REASON_RELEASE;
	if (m->release == 0)
		return REASON_NONE;
	if (m->connections_max != t->peer.connections_max)
		return REASON_MAX_CONNECTIONS;
	return m->links_max != t->peer.links_max ? REASON_MAX_LINKS
						 : REASON_NONE;
}

uint32_t rc_terms_judge(struct rc_terms *t)
{
	const struct clc_accept_confirm *m = &t->end;

	if (t->conn->server && m->version != t->peer.version)
		return REASON_MODE_UNSUPPORTED;
	if (!t->conn->server) {
		t->peer.version = m->version;
		t->peer.links_max = 2;
		t->peer.gid = rc_terms_gid(m->gid, m->version);
		t->peer.qpn = m->qpn;
		memcpy(t->peer.id, m->peer_id, sizeof(t->peer.id));
		memcpy(t->peer.mac, m->mac, sizeof(t->peer.mac));
		memcpy(t->eid, m->eid, sizeof(t->eid));
		t->direct = is_direct(&t->conn->local, &t->peer.gid);
		t->port = port_of(t, m->version);
		if (!t->port)
			return REASON_NO_SMCR_DEVICE;
	}
	if (m->version < 2 || !m->first_contact)
		return REASON_NONE;
	return t->conn->server ? judge_confirm(t) : judge_accept(t);
}

static uint8_t size_code(size_t bytes)
{
	uint8_t code = 0;

	while ((size_t)CLC_RMBE_BYTES_MIN << code < bytes)
		code++;
	return code;
}

void rc_terms_describe(const struct rc_terms *t, struct clc_accept_confirm *out)
{
	const struct rc_conn *c = t->conn;
	const struct rc_service *s = c->service;
	struct rc_link_name name = rc_link_name(&c->group->link);

	memset(out, 0, sizeof(*out));
	out->type = c->server ? CLC_ACCEPT : CLC_CONFIRM;
	out->version = (uint8_t)t->peer.version;
	out->path = CLC_PATH_SMCR;
	out->first_contact = t->first;
	memcpy(out->peer_id, s->peer_id, sizeof(out->peer_id));
	memcpy(out->gid, &name.gid, sizeof(out->gid));
	memcpy(out->mac, t->port->device.mac, sizeof(out->mac));
	out->qpn = name.qpn;
	out->psn = name.psn;
	out->mtu = (uint8_t)name.mtu;
	if (!c->server && t->end.mtu < out->mtu)
		out->mtu = t->end.mtu;
	out->rkey = c->in.rkey;
	out->address = c->in.address;
	out->index = 1;
	out->token = c->token;
	out->size_code = size_code(c->pump.near.out.ring[0].bytes);
	memcpy(out->eid, t->eid, sizeof(out->eid));
	if (!out->first_contact)
		return;
	out->direct = t->direct;
	out->os = CLC_OS_LINUX;
	out->release = t->release;
	memcpy(out->host, s->host, sizeof(out->host));
	if (t->release > 0) {
		out->connections_max = t->peer.connections_max;
		out->links_max = t->peer.links_max;
	}
	out->gid_count = 1;
	memcpy(out->gids[0], &name.gid, sizeof(out->gids[0]));
}
