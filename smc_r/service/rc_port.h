/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_port: the ports that a service has opened. One is opened when a
 * connection needs it, and stays until it breaks.
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_PORT_H
#define SMC_R_RC_PORT_H

#include "smc_r/service/rc_state.h"

/* NULL: there is no active device for this address and version. */
struct rc_port *rc_port_get(struct rc_service *s, const struct in6_addr *local,
			    int version);

/* Is it the same one to a peer? In version 1 all local addresses of an
 * interface have one GID. */
bool rc_port_is_same(const struct rc_port *a, const struct rc_port *b);

/* Links are found by their number. */
void rc_port_add(struct rc_port *p, struct rc_group *g);
void rc_port_remove(struct rc_port *p, struct rc_group *g);
struct rc_group *rc_port_find(const struct rc_port *p, uint32_t qpn);

/* Its channel is listened to no more. */
void rc_port_silence(struct rc_service *s, struct rc_port *p);

/* Closes those that are broken and have no group; or all that have none. */
void rc_port_reap(struct rc_service *s, bool all);

#endif
