/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * icrc: the invariant CRC of RoCE packets.
 *
 * CRC-32 as Ethernet uses it, over eight bytes of ones, the IP and UDP
 * headers and everything up to the pad, where fields that routers change
 * count as ones (InfiniBand annex A17.3.3; RFC 791 and 8200 for the fields).
 * It travels least significant byte first.
 *
 * Pure.
 */
#ifndef OFED_CORE_ICRC_H
#define OFED_CORE_ICRC_H

#include <stddef.h>
#include <stdint.h>

/*
 * ip: the 20 bytes of an IPv4 header without options; udp: the 8 bytes of the
 * UDP header; transport: from BTH through the pad.
 */
uint32_t icrc_ip4(const uint8_t ip[20], const uint8_t udp[8],
		  const uint8_t *transport, size_t count);
/* The same with the 40 bytes of an IPv6 header. */
uint32_t icrc_ip6(const uint8_t ip[40], const uint8_t udp[8],
		  const uint8_t *transport, size_t count);
/* RoCE v1: the GRH has the form of an IPv6 header; there is no UDP. */
uint32_t icrc_grh(const uint8_t grh[40], const uint8_t *transport,
		  size_t count);

#endif
