/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netdev: follows the interfaces of the network namespace and their
 * addresses; devices, GIDs and port events come from here.
 *
 * Locking: the netlink descriptor is served by worker 0; changes are made
 *          with core_lock held for writing.
 */
#ifndef OFED_CORE_NETDEV_H
#define OFED_CORE_NETDEV_H

#include <netinet/in.h>
#include <stdint.h>

/* Reads what there is. Before the workers start. */
int netdev_open(void);
/* Serves changes from now on. */
int netdev_watch(void);

/*
 * The route to an address: *ifindex and the source address the kernel would
 * use. Addresses are GIDs (IPv4 as ::ffff:a.b.c.d). wanted is a source
 * address or NULL, scope an interface or 0. 0 or -errno (-ENETUNREACH).
 */
int route_find(const uint8_t to[16], const uint8_t *wanted, uint32_t scope,
	       unsigned *ifindex, uint8_t source[16]);

#endif
