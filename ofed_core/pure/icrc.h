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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The CRC is made in steps: the headers below the transport, the transport
 * headers, then the rest with crc32_update() up to the last pad byte.
 *
 * ip: the 20 bytes of an IPv4 header without options, or the 40 of an IPv6
 * header; udp: the 8 bytes of the UDP header; grh: 40 bytes, for RoCE v1.
 */
uint32_t icrc_ip4(const uint8_t ip[20], const uint8_t udp[8]);
uint32_t icrc_ip6(const uint8_t ip[40], const uint8_t udp[8]);
uint32_t icrc_grh(const uint8_t grh[40]);
/* From the BTH on; count may go beyond the headers. */
uint32_t icrc_transport(uint32_t crc, const uint8_t *transport, size_t count);

/*
 * A UDP socket does not show the identification of an IPv4 header, which the
 * ICRC covers. From the ICRC that came and the one of a header with 0 in its
 * place, behind whose UDP header count bytes follow up to the pad: false when
 * no identification makes the two equal.
 */
bool icrc_ip4_identification(uint32_t came, uint32_t with_0, size_t count,
			     uint8_t out[2]);

#endif
