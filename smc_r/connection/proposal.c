/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* proposal: what this process says of itself in CLC messages. */
#include "smc_r/connection/proposal.h"

#include <arpa/inet.h>
#include <string.h>

#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/os/process.h"

#define FIRST_CONTACT 1u
#define MTU_4096      5

void proposal_identity(uint8_t id[CLC_PEER_ID_BYTES])
{
	ENGINE_LOCKED();
	if (identity_get(id) < 0)
		memset(id, 0, CLC_PEER_ID_BYTES);
}

/* A link-local address and a locally administered MAC made of the peer ID:
 * unlike those of any port, as this end has none. */
static void fill_port(const uint8_t *id, uint8_t *gid, uint8_t *mac)
{
	memset(gid, 0, CLC_GID_BYTES);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	memcpy(gid + 8, id, CLC_PEER_ID_BYTES);
	mac[0] = 0x02;
	memcpy(mac + 1, id + 3, CLC_MAC_BYTES - 1);
}

/* The subnet matters to peers on other hosts only: ours is this one host. */
static void fill_prefix(const struct in6_addr *local, struct clc_proposal *p)
{
	if (IN6_IS_ADDR_V4MAPPED(local)) {
		uint32_t v4;

		memcpy(&v4, &local->s6_addr[12], sizeof(v4));
		p->subnet = ntohl(v4);
		p->subnet_bits = 32;
		if (local->s6_addr[12] == 127) {
			p->subnet &= 0xff000000u;
			p->subnet_bits = 8;
		}
		return;
	}
	p->prefix_count = 1;
	memcpy(p->prefix[0].address, local, 16);
	p->prefix[0].bits = 128;
}

int proposal_make(const struct in6_addr *local, struct clc_proposal *out)
{
	int result;

	ENGINE_LOCKED();
	memset(out, 0, sizeof(*out));
	result = identity_get(out->peer_id);
	if (result < 0)
		return result;
	/* The form that Linux sends: a version 2 header that offers SMC-R v1
	 * only. Every decoder takes it, Wireshark's too. */
	out->version = 2;
	out->path_v1 = CLC_PATH_SMCR;
	out->path_v2 = CLC_PATH_NONE;
	fill_port(out->peer_id, out->gid, out->mac);
	fill_prefix(local, out);
	return 0;
}

int proposal_bytes(const struct in6_addr *local, void *out, size_t room)
{
	struct clc_proposal p;
	int result = proposal_make(local, &p);

	return result < 0 ? result : clc_encode_proposal(&p, out, room);
}

static uint8_t size_code(uint32_t bytes)
{
	uint8_t code = 0;

	while (((uint32_t)CLC_RMBE_BYTES_MIN << code) < bytes)
		code++;
	return code;
}

void proposal_remember_first(struct connection *c, bool first)
{
	c->slot->first = first ? FIRST_CONTACT : 0;
}

void proposal_describe(struct connection *c, struct clc_accept_confirm *m)
{
	struct linkgroup *g = c->rmb->group;
	uint8_t secret[NONCE_BYTES];

	ENGINE_LOCKED();
	m->version = 1;
	m->path = CLC_PATH_SMCR;
	m->first_contact = c->slot->first & FIRST_CONTACT;
	proposal_identity(m->peer_id);
	fill_port(m->peer_id, m->gid, m->mac);
	m->qpn = c->rmb->number;
	m->index = (uint8_t)(c->element + 1);
	m->size_code = size_code(c->in.ring[0].bytes);
	m->mtu = MTU_4096;
	if (g) {
		memcpy(secret, m->type == CLC_ACCEPT ? g->nonce : g->proof,
		       sizeof(secret));
		clc_nonce_set(m, secret);
	}
}
