/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_terms: what the messages of a handshake say of a service, and what they
 * must say: subnets, EIDs, releases and limits.
 *
 * Locking: none.
 */
#ifndef SMC_R_RC_TERMS_H
#define SMC_R_RC_TERMS_H

#include "smc_r/service/rc_state.h"

#define RC_RELEASE         1 /* the highest */
#define RC_LINKS           1 /* per group */
#define RC_CONNECTIONS     255
#define RC_CONNECTIONS_MIN 16 /* of release 1 */

struct rc_terms {
	struct rc_conn *conn;
	struct rc_port *port;
	struct rc_peer peer;
	bool first;  /* the group is new */
	bool direct; /* both ends are in one subnet */
	uint8_t release;
	char eid[CLC_EID_BYTES];
	struct clc_proposal proposal;  /* the client's */
	struct clc_accept_confirm end; /* the peer's */
};

/* Makes the Proposal, of what there are ports for. False: of nothing. */
bool rc_terms_propose(struct rc_terms *t);
/* A server takes up what the client offers: version, port, peer. A reason. */
uint32_t rc_terms_choose(struct rc_terms *t);
/* A client judges the Accept of a first contact; a server the Confirm. */
uint32_t rc_terms_judge(struct rc_terms *t);
/* Ours: the connection is in a group. */
void rc_terms_describe(const struct rc_terms *t,
		       struct clc_accept_confirm *out);
/* Takes the peer's GID as it is to be named. */
union ibv_gid rc_terms_gid(const uint8_t gid[CLC_GID_BYTES], int version);

#endif
