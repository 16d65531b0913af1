/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_group: a link group: what one peer, in one role, has over one port, with
 * one link. It carries out its rc_flow, finds connections by their tokens, and
 * shares the link's slots among them.
 *
 * What a handshake waits for is in rc_conn.joined; rc_service.changed says that
 * some of it came.
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_GROUP_H
#define SMC_R_RC_GROUP_H

#include "smc_r/service/rc_state.h"

/* A new group with a link that is not connected. NULL: *error. */
struct rc_group *rc_group_new(struct rc_service *s, struct rc_port *port,
			      const struct rc_peer *peer, int *error);
/* A server's group that takes one more connection; the client's group whose
 * link has the peer's qpn. Or NULL. */
struct rc_group *rc_group_find(const struct rc_service *s,
			       const struct rc_port *port,
			       const struct rc_peer *peer);
/* Is the first contact of such a group under way? */
bool rc_group_is_coming(const struct rc_service *s, const struct rc_port *port,
			const struct rc_peer *peer);

/* A connection in RC_CONN_SETUP gets its token and its regions. 0 or -errno. */
int rc_group_join(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* The peer is to hear of its key: c->joined. -EAGAIN: ask again. */
int rc_group_ask(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* The link gets its other end. 0 or -errno. */
int rc_group_connect(struct rc_group *g, const struct clc_accept_confirm *m);
/* The link is to be confirmed: c->joined. 0 or -errno. */
int rc_group_confirm(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* The peer's end of the connection is known. 0 or -errno. */
int rc_group_meet(struct rc_group *g, struct rc_conn *c,
		  const struct clc_accept_confirm *m);
/* It is RC_CONN_ACTIVE from now on. */
void rc_group_start(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* So it is, and aborted at once: its TCP stream broke too late. */
void rc_group_break(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* It does not become active. */
void rc_group_leave(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);

/* As rc_service_work(). */
int rc_group_work(struct rc_group *g, struct rc_conn *c, uint64_t now_ns);
/* A completion of its link. */
void rc_group_done(struct rc_group *g, const struct rc_done *done,
		   uint64_t now_ns);
void rc_group_time(struct rc_group *g, uint64_t now_ns);
uint64_t rc_group_next_ns(const struct rc_group *g);

/* Nothing goes over its port any more. */
void rc_group_fail(struct rc_group *g, uint64_t now_ns);
void rc_group_end(struct rc_group *g, enum llc_delete reason, bool orderly,
		  uint64_t now_ns);
/* Its peer seems to have begun anew: does the link live? */
void rc_group_test(struct rc_group *g, uint64_t now_ns);
/* May the link be closed? */
bool rc_group_is_over(const struct rc_group *g, uint64_t now_ns);
/* Closes the link; connections are over. */
void rc_group_free(struct rc_group *g);

#endif
