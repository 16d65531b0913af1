/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * packet: the InfiniBand transport headers of a RoCE packet.
 */
#include "ofed_core/pure/packet.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/pure/bytes.h"

#define BTH_BYTES        12
#define RETH_BYTES       16
#define ATOMIC_BYTES     28
#define AETH_BYTES       4
#define ATOMIC_ACK_BYTES 8
#define DETH_BYTES       8
#define IMM_BYTES        4
#define IETH_BYTES       4

#define F PACKET_FIRST
#define L PACKET_LAST

static const uint32_t operations[0x20] = {
    [OP_SEND_FIRST] = PACKET_SEND | F,
    [OP_SEND_MIDDLE] = PACKET_SEND,
    [OP_SEND_LAST] = PACKET_SEND | L,
    [OP_SEND_LAST_IMM] = PACKET_SEND | L | PACKET_HAS_IMM,
    [OP_SEND_ONLY] = PACKET_SEND | F | L,
    [OP_SEND_ONLY_IMM] = PACKET_SEND | F | L | PACKET_HAS_IMM,
    [OP_WRITE_FIRST] = PACKET_WRITE | F | PACKET_HAS_RETH,
    [OP_WRITE_MIDDLE] = PACKET_WRITE,
    [OP_WRITE_LAST] = PACKET_WRITE | L,
    [OP_WRITE_LAST_IMM] = PACKET_WRITE | L | PACKET_HAS_IMM,
    [OP_WRITE_ONLY] = PACKET_WRITE | F | L | PACKET_HAS_RETH,
    [OP_WRITE_ONLY_IMM] =
	PACKET_WRITE | F | L | PACKET_HAS_RETH | PACKET_HAS_IMM,
    [OP_READ_REQUEST] = PACKET_READ_REQUEST | F | L | PACKET_HAS_RETH,
    [OP_READ_FIRST] = PACKET_READ_RESPONSE | F | PACKET_HAS_AETH,
    [OP_READ_MIDDLE] = PACKET_READ_RESPONSE,
    [OP_READ_LAST] = PACKET_READ_RESPONSE | L | PACKET_HAS_AETH,
    [OP_READ_ONLY] = PACKET_READ_RESPONSE | F | L | PACKET_HAS_AETH,
    [OP_ACK] = PACKET_ACK | F | L | PACKET_HAS_AETH,
    [OP_ATOMIC_ACK] = PACKET_ATOMIC_ACK | F | L | PACKET_HAS_AETH,
    [OP_COMPARE_SWAP] = PACKET_ATOMIC | F | L,
    [OP_FETCH_ADD] = PACKET_ATOMIC | F | L,
    [OP_SEND_LAST_INV] = PACKET_SEND | L | PACKET_HAS_IETH,
    [OP_SEND_ONLY_INV] = PACKET_SEND | F | L | PACKET_HAS_IETH,
    [OP_ATOMIC_WRITE] = PACKET_ATOMIC_WRITE | F | L | PACKET_HAS_RETH,
};

uint32_t packet_properties(uint8_t opcode)
{
	uint32_t p = operations[opcode & 0x1f];

	switch (opcode & TRANSPORT_MASK) {
	case TRANSPORT_RC:
		return p;
	case TRANSPORT_UC:
		if (p & PACKET_HAS_IETH)
			return 0;
		return p & (PACKET_SEND | PACKET_WRITE) ? p : 0;
	case TRANSPORT_UD:
		if ((opcode & 0x1f) != OP_SEND_ONLY &&
		    (opcode & 0x1f) != OP_SEND_ONLY_IMM)
			return 0;
		return p | PACKET_HAS_DETH;
	default:
		return 0;
	}
}

size_t packet_header_bytes(uint8_t opcode)
{
	uint32_t p = packet_properties(opcode);
	size_t n = BTH_BYTES;

	if (p & PACKET_HAS_DETH)
		n += DETH_BYTES;
	if (p & PACKET_HAS_RETH)
		n += RETH_BYTES;
	if (p & PACKET_ATOMIC)
		n += ATOMIC_BYTES;
	if (p & PACKET_HAS_AETH)
		n += AETH_BYTES;
	if (p & PACKET_HAS_IMM)
		n += IMM_BYTES;
	if (p & PACKET_HAS_IETH)
		n += IETH_BYTES;
	if (p & PACKET_ATOMIC_ACK)
		n += ATOMIC_ACK_BYTES;
	return n;
}

static void decode_extensions(struct packet *p, const uint8_t *b)
{
	if (p->properties & PACKET_HAS_DETH) {
		p->qkey = get_be32(b);
		p->source_qpn = get_be32(b + 4) & 0xffffff;
		b += DETH_BYTES;
	}
	if (p->properties & PACKET_HAS_RETH) {
		p->address = get_be64(b);
		p->rkey = get_be32(b + 8);
		p->dma_bytes = get_be32(b + 12);
		b += RETH_BYTES;
	}
	if (p->properties & PACKET_ATOMIC) {
		p->address = get_be64(b);
		p->rkey = get_be32(b + 8);
		p->swap_add = get_be64(b + 12);
		p->compare = get_be64(b + 20);
		b += ATOMIC_BYTES;
	}
	if (p->properties & PACKET_HAS_AETH) {
		p->syndrome = b[0];
		p->msn = get_be32(b) & 0xffffff;
		b += AETH_BYTES;
	}
	if (p->properties & PACKET_ATOMIC_ACK)
		p->original = get_be64(b);
	if (p->properties & PACKET_HAS_IMM)
		memcpy(&p->imm, b, IMM_BYTES);
	if (p->properties & PACKET_HAS_IETH)
		p->invalidate = get_be32(b);
}

int packet_decode(struct packet *p, const uint8_t *bytes, size_t count)
{
	size_t headers;
	size_t pad;

	if (count < BTH_BYTES)
		return -EPROTO;
	*p = (struct packet){.opcode = bytes[0]};
	p->properties = packet_properties(bytes[0]);
	headers = packet_header_bytes(bytes[0]);
	pad = bytes[1] >> 4 & 3;
	/* Transport header version 0 is the only one. */
	if (!p->properties || (bytes[1] & 0x0f) || count < headers + pad)
		return -EPROTO;
	p->is_solicited = bytes[1] & 0x80;
	p->pkey = get_be16(bytes + 2);
	p->dest_qpn = get_be32(bytes + 4) & 0xffffff;
	p->wants_ack = bytes[8] & 0x80;
	p->psn = get_be32(bytes + 8) & 0xffffff;
	decode_extensions(p, bytes + BTH_BYTES);
	p->payload = bytes + headers;
	p->payload_bytes = count - headers - pad;
	return 0;
}

static void encode_extensions(const struct packet *p, uint32_t properties,
			      uint8_t *b)
{
	if (properties & PACKET_HAS_DETH) {
		put_be32(b, p->qkey);
		put_be32(b + 4, p->source_qpn & 0xffffff);
		b += DETH_BYTES;
	}
	if (properties & PACKET_HAS_RETH) {
		put_be64(b, p->address);
		put_be32(b + 8, p->rkey);
		put_be32(b + 12, p->dma_bytes);
		b += RETH_BYTES;
	}
	if (properties & PACKET_ATOMIC) {
		put_be64(b, p->address);
		put_be32(b + 8, p->rkey);
		put_be64(b + 12, p->swap_add);
		put_be64(b + 20, p->compare);
		b += ATOMIC_BYTES;
	}
	if (properties & PACKET_HAS_AETH) {
		put_be32(b, (uint32_t)p->syndrome << 24 | (p->msn & 0xffffff));
		b += AETH_BYTES;
	}
	if (properties & PACKET_ATOMIC_ACK)
		put_be64(b, p->original);
	if (properties & PACKET_HAS_IMM)
		memcpy(b, &p->imm, IMM_BYTES);
	if (properties & PACKET_HAS_IETH)
		put_be32(b, p->invalidate);
}

size_t packet_encode(const struct packet *p, uint8_t out[PACKET_HEADERS_MAX])
{
	uint32_t properties = packet_properties(p->opcode);

	out[0] = p->opcode;
	out[1] = (uint8_t)((p->is_solicited ? 0x80 : 0) |
			   packet_pad(p->payload_bytes) << 4);
	put_be16(out + 2, PACKET_PKEY);
	put_be32(out + 4, p->dest_qpn & 0xffffff);
	put_be32(out + 8,
		 (p->wants_ack ? 0x80000000u : 0) | (p->psn & 0xffffff));
	encode_extensions(p, properties, out + BTH_BYTES);
	return packet_header_bytes(p->opcode);
}
