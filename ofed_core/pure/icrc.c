/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * icrc: the invariant CRC of RoCE packets.
 */
#include "ofed_core/pure/icrc.h"

#include <string.h>

#include "ofed_core/pure/crc32.h"

static uint32_t start(void)
{
	static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0xff};

	/* They stand for the LRH that RoCE packets do not have. */
	return crc32_update(0, ones, sizeof(ones));
}

static uint32_t add_udp(uint32_t crc, const uint8_t udp[8])
{
	uint8_t h[8];

	memcpy(h, udp, 6);
	h[6] = h[7] = 0xff;
	return crc32_update(crc, h, sizeof(h));
}

static uint32_t add_ip6(const uint8_t ip[40])
{
	uint8_t h[40];

	memcpy(h, ip, sizeof(h));
	h[0] |= 0x0f;
	h[1] = h[2] = h[3] = h[7] = 0xff;
	return crc32_update(start(), h, sizeof(h));
}

uint32_t icrc_ip4(const uint8_t ip[20], const uint8_t udp[8])
{
	uint8_t h[20];

	memcpy(h, ip, sizeof(h));
	h[1] = h[8] = h[10] = h[11] = 0xff;
	return add_udp(crc32_update(start(), h, sizeof(h)), udp);
}

uint32_t icrc_ip6(const uint8_t ip[40], const uint8_t udp[8])
{
	return add_udp(add_ip6(ip), udp);
}

uint32_t icrc_grh(const uint8_t grh[40])
{
	return add_ip6(grh);
}

/* resv8a, which may carry ECN marks, counts as ones. */
uint32_t icrc_transport(uint32_t crc, const uint8_t *transport, size_t count)
{
	uint8_t head[8];

	if (count < sizeof(head))
		return crc32_update(crc, transport, count);
	memcpy(head, transport, sizeof(head));
	head[4] = 0xff;
	crc = crc32_update(crc, head, sizeof(head));
	return crc32_update(crc, transport + sizeof(head),
			    count - sizeof(head));
}

bool icrc_ip4_identification(uint32_t came, uint32_t with_0, size_t count,
			     uint8_t out[2])
{
	/* The rest of the IP header, the UDP header. */
	return crc32_two_bytes(came ^ with_0, 14 + 8 + count, out);
}
