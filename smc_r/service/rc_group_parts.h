/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_group_parts: the inside of rc_group, for its files only.
 */
#ifndef SMC_R_RC_GROUP_PARTS_H
#define SMC_R_RC_GROUP_PARTS_H

#include "smc_r/service/rc_group.h"

#define RC_SECOND_NS 1000000000ULL

/* Requests to delete keys have this; tokens name those to confirm one. */
#define RC_ID_DELETE  0u
#define RC_ID_NOBODYS 0xffu /* its connection is gone */

/* The connection with this token, or NULL. */
struct rc_conn *rc_group_at(const struct rc_group *g, uint32_t token);
/* Gives its place and its regions back. */
void rc_group_forget(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);

/* Carries out what the flow says. */
void rc_group_run(struct rc_group *g, uint64_t now_ns);
/* Posts what waits for slots. */
void rc_group_feed(struct rc_group *g, uint64_t now_ns);
/* Sends what there is of one connection, when it is its turn. */
void rc_group_push(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* The connection is broken, here or at the peer. */
void rc_group_abort(struct rc_group *g, struct rc_conn *c, int error,
		    uint64_t now_ns);
/* When the link of a group that has ended closes. */
uint64_t rc_group_over_ns(const struct rc_group *g);
/* Asks the peer to delete the keys of connections that leave. */
void rc_group_ask_deletes(struct rc_group *g, uint64_t now_ns);

static inline unsigned rc_place(const struct rc_conn *c)
{
	return (c->token & 0xff) - 1;
}

#endif
