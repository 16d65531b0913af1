/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * packet: the InfiniBand transport headers of a RoCE packet.
 *
 * Pure: no state. Sources: InfiniBand Architecture Specification chapter 9
 * (headers, opcodes), annex A16/A17 (RoCE).
 */
#ifndef OFED_CORE_PACKET_H
#define OFED_CORE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_HEADERS_MAX 40 /* BTH and the longest extension */
#define PACKET_PKEY        0xffff
#define ICRC_BYTES         4

enum packet_transport {
	TRANSPORT_RC = 0,
	TRANSPORT_UC = 0x20,
	TRANSPORT_UD = 0x60,
	TRANSPORT_MASK = 0xe0
};

/* The low five bits of the opcode. */
enum packet_operation {
	OP_SEND_FIRST = 0x00,
	OP_SEND_MIDDLE = 0x01,
	OP_SEND_LAST = 0x02,
	OP_SEND_LAST_IMM = 0x03,
	OP_SEND_ONLY = 0x04,
	OP_SEND_ONLY_IMM = 0x05,
	OP_WRITE_FIRST = 0x06,
	OP_WRITE_MIDDLE = 0x07,
	OP_WRITE_LAST = 0x08,
	OP_WRITE_LAST_IMM = 0x09,
	OP_WRITE_ONLY = 0x0a,
	OP_WRITE_ONLY_IMM = 0x0b,
	OP_READ_REQUEST = 0x0c,
	OP_READ_FIRST = 0x0d,
	OP_READ_MIDDLE = 0x0e,
	OP_READ_LAST = 0x0f,
	OP_READ_ONLY = 0x10,
	OP_ACK = 0x11,
	OP_ATOMIC_ACK = 0x12,
	OP_COMPARE_SWAP = 0x13,
	OP_FETCH_ADD = 0x14,
	OP_SEND_LAST_INV = 0x16,
	OP_SEND_ONLY_INV = 0x17,
	OP_ATOMIC_WRITE = 0x1d,
};

/* What an opcode means, as bits. */
enum packet_property {
	PACKET_FIRST = 1 << 0, /* begins a message */
	PACKET_LAST = 1 << 1,  /* ends it */
	PACKET_SEND = 1 << 2,
	PACKET_WRITE = 1 << 3,
	PACKET_READ_REQUEST = 1 << 4,
	PACKET_ATOMIC = 1 << 5,
	PACKET_READ_RESPONSE = 1 << 6,
	PACKET_ACK = 1 << 7,
	PACKET_ATOMIC_ACK = 1 << 8,
	PACKET_HAS_RETH = 1 << 9,
	PACKET_HAS_IMM = 1 << 10,
	PACKET_HAS_AETH = 1 << 11,
	PACKET_HAS_DETH = 1 << 12,
	PACKET_HAS_IETH = 1 << 13, /* a key to invalidate */
	PACKET_ATOMIC_WRITE = 1 << 14,
	PACKET_REQUEST = PACKET_SEND | PACKET_WRITE | PACKET_READ_REQUEST |
			 PACKET_ATOMIC | PACKET_ATOMIC_WRITE,
};

enum aeth_kind {
	AETH_ACK = 0x00,
	AETH_RNR = 0x20,
	AETH_NAK = 0x60
};

#define AETH_KIND_MASK     0x60
#define AETH_VALUE_MASK    0x1f
#define AETH_ACK_UNLIMITED 0x1f /* no flow control by credits */

enum aeth_nak {
	NAK_SEQUENCE = 0x60,
	NAK_INVALID_REQUEST = 0x61,
	NAK_ACCESS = 0x62,
	NAK_OPERATIONAL = 0x63,
};

struct packet {
	uint8_t opcode;
	uint32_t properties; /* of the opcode; set by decode */
	bool is_solicited;
	bool wants_ack;
	uint16_t pkey; /* of one that came */
	uint32_t dest_qpn;
	uint32_t psn;
	/* RETH, AtomicETH */
	uint64_t address;
	uint32_t rkey;
	uint32_t dma_bytes;
	uint64_t swap_add;
	uint64_t compare;
	/* AETH, AtomicAckETH */
	uint8_t syndrome;
	uint32_t msn;
	uint64_t original;
	/* DETH */
	uint32_t qkey;
	uint32_t source_qpn;
	uint32_t imm; /* as on the wire */
	uint32_t invalidate;
	const uint8_t *payload;
	size_t payload_bytes;
};

/* Properties of an opcode; 0 when it is unknown or unsupported. */
uint32_t packet_properties(uint8_t opcode);
/* Length of BTH and extensions for an opcode. */
size_t packet_header_bytes(uint8_t opcode);

/*
 * Reads the headers at bytes (from BTH to the last pad byte, without ICRC).
 * payload then points into bytes. -EPROTO when cut short or not ours.
 */
int packet_decode(struct packet *p, const uint8_t *bytes, size_t count);

/* Writes the headers; returns their length. Pad bytes follow the payload. */
size_t packet_encode(const struct packet *p, uint8_t out[PACKET_HEADERS_MAX]);

static inline size_t packet_pad(size_t payload_bytes)
{
	return (0 - payload_bytes) & 3;
}

#endif
