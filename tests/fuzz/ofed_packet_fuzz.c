/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_packet_fuzz: any bytes as a RoCE packet. What can be decoded stays
 * within its bytes and means the same after encoding it.
 */
#include "ofed_core/pure/packet.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[PACKET_HEADERS_MAX + 8192];
	struct packet p;
	struct packet again;
	size_t n;

	if (size > 8192 || packet_decode(&p, data, size) < 0)
		return 0;
	if (p.payload < data || p.payload + p.payload_bytes > data + size)
		abort();
	n = packet_encode(&p, out);
	memcpy(out + n, p.payload, p.payload_bytes);
	memset(out + n + p.payload_bytes, 0, packet_pad(p.payload_bytes));
	if (packet_decode(&again, out,
			  n + p.payload_bytes + packet_pad(p.payload_bytes)) <
	    0)
		abort();
	if (again.opcode != p.opcode || again.psn != p.psn ||
	    again.dest_qpn != p.dest_qpn || again.rkey != p.rkey ||
	    again.payload_bytes != p.payload_bytes)
		abort();
	return 0;
}
