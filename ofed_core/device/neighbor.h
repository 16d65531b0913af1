/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * neighbor: the Ethernet address a GID is reached at.
 *
 * RoCE version 1 carries no IP header: the sender finds the address itself. For
 * version 2 it may, which is faster than the IP stack.
 *
 * Addresses are in network order. Locking: none.
 */
#ifndef OFED_CORE_NEIGHBOR_H
#define OFED_CORE_NEIGHBOR_H

#include <stdbool.h>
#include <stdint.h>

/* From the GID alone: groups and EUI-64 link-local addresses; false: it does
 * not tell, and mac is untouched. */
bool neighbor_from_gid(const uint8_t gid[16], uint8_t mac[6]);

/*
 * From the kernel's neighbour table: 0 or -errno. -ENOENT when it has no valid
 * entry; the kernel is then asked to find one, so a later call may succeed.
 */
int neighbor_find(unsigned ifindex, const uint8_t gid[16], uint8_t mac[6]);

/*
 * The way to dgid begins at *hop: dgid itself, or a gateway. -EHOSTUNREACH when
 * there is none on this interface. IPv4 only.
 */
int neighbor_next_hop(unsigned ifindex, const uint8_t sgid[16],
		      const uint8_t dgid[16], uint8_t hop[16]);

#endif
