/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * route: the kernel's routes.
 */
#ifndef OFED_CORE_ROUTE_H
#define OFED_CORE_ROUTE_H

#include <stdint.h>

/*
 * The route to an address: *ifindex and the source address the kernel would
 * use. Addresses are GIDs (IPv4 as ::ffff:a.b.c.d). wanted is a source
 * address or NULL, scope an interface or 0. 0 or -errno (-ENETUNREACH).
 */
int route_find(const uint8_t to[16], const uint8_t *wanted, uint32_t scope,
	       unsigned *ifindex, uint8_t source[16]);

#endif
