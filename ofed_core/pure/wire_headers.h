/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_headers: what stands below the transport of a RoCE packet.
 *
 * Each function writes one header to `out`. `above` counts the bytes from the
 * BTH to the end of the ICRC. GIDs are 16 bytes, IPv4 addresses mapped.
 *
 * Pure.
 */
#ifndef OFED_CORE_WIRE_HEADERS_H
#define OFED_CORE_WIRE_HEADERS_H

#include <stddef.h>
#include <stdint.h>

#define ROCE_PORT      4791   /* version 2, UDP */
#define ROCE_ETHERTYPE 0x8915 /* version 1 */
#define ETHER_BYTES    14
#define IP4_BYTES      20
#define IP6_BYTES      40
#define UDP_BYTES      8
#define GRH_BYTES      40
#define GRH_NEXT_BTH   0x1b
#define IP4_DF         0x4000 /* of the two bytes with the fragment offset */

/* ETHER_BYTES; the type in host order. */
void headers_ether(uint8_t *out, const uint8_t to[6], const uint8_t from[6],
		   uint16_t type);

/*
 * IP4_BYTES, as the kernel writes them for a socket with DF set: the
 * identification is 0. Type of service, hop limit and checksum are 0.
 */
void headers_ip4(uint8_t *out, const uint8_t sgid[16], const uint8_t dgid[16],
		 size_t above);
/* When nothing in it changes any more. */
void headers_ip4_checksum(uint8_t *out);

/* IP6_BYTES; class, flow label and hop limit are 0. */
void headers_ip6(uint8_t *out, const uint8_t sgid[16], const uint8_t dgid[16],
		 size_t above);

/* UDP_BYTES to ROCE_PORT without a checksum; port in network order. */
void headers_udp(uint8_t *out, uint16_t port, size_t above);

#endif
