/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_paths: what the host says of the interface that a TCP connection uses.
 *
 * Locking: none.
 */
#ifndef SMC_R_RC_PATHS_H
#define SMC_R_RC_PATHS_H

#include <netinet/in.h>
#include <stdint.h>

#define RC_PREFIXES_MAX 8

/* IPv4 as ::ffff:a.b.c.d with bits of 96 and more. Host bits are zero. */
struct rc_prefix {
	struct in6_addr address;
	uint8_t bits;
};

/*
 * Fills in the subnets that the interface with this local address is in, of the
 * address's family: IPv4 begins with that of the address itself, IPv6 leaves
 * out those of the link alone. How many, or -errno.
 */
int rc_prefixes(const struct in6_addr *local,
		struct rc_prefix out[RC_PREFIXES_MAX]);

/* The number of that interface; 0 for none. */
unsigned rc_interface(const struct in6_addr *local);

/* Leaves the first bits of an address. */
struct in6_addr rc_prefix_of(const struct in6_addr *address, unsigned bits);

#endif
