/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * icrc: the invariant CRC of RoCE packets, eight bytes at a step.
 */
#include "icrc.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320u /* 0x04C11DB7, reflected */

static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
		tables[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			tables[t][i] = tables[t - 1][i] >> 8 ^
				       tables[0][tables[t - 1][i] & 0xff];
}

static uint32_t eight(uint32_t c, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	v = le64toh(v) ^ c;
	return tables[7][v & 0xff] ^ tables[6][v >> 8 & 0xff] ^
	       tables[5][v >> 16 & 0xff] ^ tables[4][v >> 24 & 0xff] ^
	       tables[3][v >> 32 & 0xff] ^ tables[2][v >> 40 & 0xff] ^
	       tables[1][v >> 48 & 0xff] ^ tables[0][v >> 56];
}

uint32_t crc32_update(uint32_t crc, const void *bytes, size_t count)
{
	const uint8_t *p = bytes;
	uint32_t c = ~crc;

	pthread_once(&once, fill_tables);
	for (; count >= 8; count -= 8, p += 8)
		c = eight(c, p);
	for (; count; count--, p++)
		c = c >> 8 ^ tables[0][(c ^ *p) & 0xff];
	return ~c;
}

/* The transport headers with resv8a, which may carry ECN marks, as ones. */
static uint32_t finish(uint32_t crc, const uint8_t *transport, size_t count)
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

uint32_t icrc_ip4(const uint8_t ip[20], const uint8_t udp[8],
		  const uint8_t *transport, size_t count)
{
	uint8_t h[20];

	memcpy(h, ip, sizeof(h));
	h[1] = h[8] = h[10] = h[11] = 0xff;
	return finish(add_udp(crc32_update(start(), h, sizeof(h)), udp),
		      transport, count);
}

static uint32_t add_ip6(const uint8_t ip[40])
{
	uint8_t h[40];

	memcpy(h, ip, sizeof(h));
	h[0] |= 0x0f;
	h[1] = h[2] = h[3] = h[7] = 0xff;
	return crc32_update(start(), h, sizeof(h));
}

uint32_t icrc_ip6(const uint8_t ip[40], const uint8_t udp[8],
		  const uint8_t *transport, size_t count)
{
	return finish(add_udp(add_ip6(ip), udp), transport, count);
}

uint32_t icrc_grh(const uint8_t grh[40], const uint8_t *transport, size_t count)
{
	return finish(add_ip6(grh), transport, count);
}
