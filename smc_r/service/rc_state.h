/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_state: what the files of the wire half share: a service has ports,
 * link groups and handshakes; a link group has a port, a link, and connections.
 *
 * Ownership: all hangs on the service. A port outlives its groups.
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_STATE_H
#define SMC_R_RC_STATE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/protocol/clc_wire.h"
#include "smc_r/service/rc_conn.h"
#include "smc_r/service/rc_flow.h"
#include "smc_r/service/rc_verbs.h"

#define RC_PORT_BUCKETS   64u
#define RC_GROUP_PLACES   255u
#define RC_GROUP_MESSAGES 64u
#define RC_EIDS_MAX       4

/* A port of a device, for one local address and version of SMC-R. */
struct rc_port {
	struct rc_port *next;
	struct in6_addr local;
	int version;
	bool broken; /* goes with its last group */
	unsigned groups;
	struct rc_device device;
	struct rc_group *by_qpn[RC_PORT_BUCKETS];
	struct far_counts counts; /* of groups that are gone */
};

/* The terms of a group, and how the peer calls its end. */
struct rc_peer {
	bool server; /* we are */
	int version;
	uint8_t id[CLC_PEER_ID_BYTES];
	union ibv_gid gid;
	uint8_t mac[CLC_MAC_BYTES];
	uint32_t qpn; /* 0: not known yet */
	uint8_t links_max;
	uint8_t connections_max; /* 0: not agreed */
};

struct rc_group {
	struct rc_group *next;
	struct rc_group *next_of_bucket;
	struct rc_service *service;
	struct rc_port *port;
	struct rc_peer peer;
	struct rc_flow flow;
	struct rc_link link;
	struct rc_flow_port end; /* ours */
	bool confirmed;          /* the link carries data */
	bool ready;              /* ... and the Add Link stage is over */
	bool begun;              /* a client's first connection may begin */
	bool failed;             /* nothing is posted any more */
	bool told;               /* ... and the flow knows */
	bool ended;              /* the flow is over */
	bool deleting;           /* the peer is asked to delete keys */

	/* The low byte of the token, less 1, says where. */
	struct rc_conn *conn[RC_GROUP_PLACES];
	unsigned count;
	unsigned next_place; /* its turn */
	uint64_t waits[4];   /* bit: that one wants a slot */
	unsigned ending;     /* connections with ended_ns */
	uint64_t idle_ns;    /* since then there is none */
	uint64_t ended_ns;   /* the link closes soon behind this */
	uint64_t heard_ns;   /* the peer's last message came then */

	/* LLC messages without a slot. */
	uint8_t message[RC_GROUP_MESSAGES][LLC_BYTES];
	unsigned first, messages;
	uint64_t stuck_ns; /* since then none went out; 0: none waits */
};

struct rc_service {
	uint8_t peer_id[CLC_PEER_ID_BYTES];
	char host[CLC_HOST_BYTES];
	char eid[RC_EIDS_MAX][CLC_EID_BYTES];
	int eids;
	int epoll;
	bool ending;
	bool changed; /* handshakes that wait for a group may go on */
	struct rc_port *ports;
	struct rc_group *groups;
	struct rc_setup *setups;
	uint64_t seed;
	uint32_t token; /* of the newest connection, without its place */
	uint32_t uid;   /* of the newest link */
	uint8_t bytes[RC_LINK_BYTES];
};

/* 32 bits that an instance of a service draws, one after the other. */
static inline uint32_t rc_draw(struct rc_service *s)
{
	uint64_t x = s->seed += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return (uint32_t)(x >> 32);
}

#endif
