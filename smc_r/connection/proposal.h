/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * proposal: what this process says of itself in CLC messages.
 *
 * On a same-host link there is no queue pair. The QP number names the RMB
 * within the link group, the RMBE index the element; rkey, RMB address and
 * alert token carry the group's nonce (Accept) or its proof (Confirm).
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_PROPOSAL_H
#define SMC_R_PROPOSAL_H

#include <netinet/in.h>

#include "smc_r/connection/connection.h"
#include "smc_r/protocol/clc_wire.h"

/* Gives our peer ID, zeros when there is none yet. */
void proposal_identity(uint8_t id[CLC_PEER_ID_BYTES]);

/* Makes the Proposal: 0 or -errno, as there is none without a rendezvous. */
int proposal_make(const struct in6_addr *local, struct clc_proposal *out);
int proposal_bytes(const struct in6_addr *local, void *out, size_t room);

/* Fills an Accept or Confirm whose type is set. */
void proposal_describe(struct connection *c, struct clc_accept_confirm *m);
void proposal_remember_first(struct connection *c, bool first);

#endif
