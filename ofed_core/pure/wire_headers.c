/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_headers: Ethernet, IP and UDP.
 */
#include "ofed_core/pure/wire_headers.h"

#include <netinet/in.h>
#include <string.h>

#include "ofed_core/pure/bytes.h"

void headers_ether(uint8_t *out, const uint8_t to[6], const uint8_t from[6],
		   uint16_t type)
{
	memcpy(out, to, 6);
	memcpy(out + 6, from, 6);
	put_be16(out + 12, type);
}

void headers_ip4(uint8_t *out, const uint8_t sgid[16], const uint8_t dgid[16],
		 size_t above)
{
	memset(out, 0, IP4_BYTES);
	out[0] = 0x45;
	put_be16(out + 2, (uint16_t)(IP4_BYTES + UDP_BYTES + above));
	put_be16(out + 6, IP4_DF);
	out[9] = IPPROTO_UDP;
	memcpy(out + 12, sgid + 12, 4);
	memcpy(out + 16, dgid + 12, 4);
}

void headers_ip4_checksum(uint8_t *out)
{
	uint32_t sum = 0;

	put_be16(out + 10, 0);
	for (int i = 0; i < IP4_BYTES; i += 2)
		sum += get_be16(out + i);
	sum = (sum >> 16) + (sum & 0xffff);
	put_be16(out + 10, (uint16_t) ~(sum + (sum >> 16)));
}

void headers_ip6(uint8_t *out, const uint8_t sgid[16], const uint8_t dgid[16],
		 size_t above)
{
	memset(out, 0, IP6_BYTES);
	out[0] = 0x60;
	put_be16(out + 4, (uint16_t)(UDP_BYTES + above));
	out[6] = IPPROTO_UDP;
	memcpy(out + 8, sgid, 16);
	memcpy(out + 24, dgid, 16);
}

void headers_udp(uint8_t *out, uint16_t port, size_t above)
{
	memcpy(out, &port, 2);
	put_be16(out + 2, ROCE_PORT);
	put_be16(out + 4, (uint16_t)(UDP_BYTES + above));
	memset(out + 6, 0, 2); /* the ICRC covers it all */
}
