/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_conn: one connection of the link service, from the hello of a program to
 * the last word of its peer.
 *
 * It has a near half, which knows the program (rc_near.h), and a wire half,
 * which knows the peer (rc_service.h). They meet in the pump. The near half
 * makes and frees it; in between:
 *
 *	RC_CONN_SETUP	CLC runs on the TCP stream; the program may write
 *	RC_CONN_ACTIVE	bytes go over a link
 *	RC_CONN_TCP	they go over TCP: the wire half has done with it
 *	RC_CONN_OVER	nothing comes or goes: the wire half has done with it
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_CONN_H
#define SMC_R_RC_CONN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/service/rc_pump.h"

struct rc_group;
struct rc_near_calls;
struct rc_setup;
struct rc_service;

enum rc_conn_state {
	RC_CONN_SETUP,
	RC_CONN_ACTIVE,
	RC_CONN_TCP,
	RC_CONN_OVER,
};

struct rc_conn {
	enum rc_conn_state state;
	struct rc_pump pump; /* the element; wire: link, keys, stream */

	/* The near half fills these in before the wire half begins. */
	struct rc_service *service;
	const struct rc_near_calls *near;
	bool server; /* the TCP role */
	int tcp;     /* a duplicate of the program's socket; -1 behind CLC */
	struct in6_addr local, peer; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t local_port, peer_port;
	uint8_t peer_id[8]; /* of the peer's host, as it said; else zeros */

	/* The wire half's own. */
	struct rc_setup *setup;
	struct rc_group *group;
	uint32_t token; /* the peer names it in its CDC messages */
	int row;        /* of the peer's RMB, in the group's keys; or -1 */
	int joined;     /* -EINPROGRESS: the peer is asked; 0; or -errno */
	struct rc_region in, out;
	struct cdc_message early; /* came before the peer's Confirm */
	bool has_early;
	bool told_key; /* the peer may hold our key */
	enum {
		RC_CONN_STAYS,
		RC_CONN_LEAVES, /* its key is to be deleted */
		RC_CONN_ASKED,  /* the peer is asked to */
	} leaving;
	uint64_t ended_ns; /* our end has gone out; 0: not yet */
};

#endif
