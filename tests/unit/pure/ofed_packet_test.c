/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ofed_core/pure/packet.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ofed_core/pure/bytes.h"
#include "ofed_core/pure/crc32.h"
#include "ofed_core/pure/icrc.h"
#include "tests/unit/hex.h"

#define IP_BYTES  20
#define UDP_BYTES 8

/* Captured from the kernel's rxe and CM: IP header first. */
static const char send_only[] =
    "4500003c488540004011de170a0900020a090001e89512b70028"
    "00000400ffff0000001180e8944a00005581d83f45f0000007c7"
    "00000040e6250348";
static const char ack[] = "45000030488740004011de210a0900020a090001e89512b7001c"
			  "00001100ffff0000001100fcce0e1f0000024d877d0d";
static const char read_request[] =
    "4500003cfa5c400040112c400a0900020a090001c1dc12b70028"
    "00000c00ffff00000011807b23c6000055ab395e7260000008ff"
    "00000040e7af426f";
static const char atomic_ack[] =
    "4500003899b8400040118ce80a0900020a090001c16512b70024"
    "00001200ffff00000011003129641f000001146a8efc53b208ac"
    "7ed7540b";
static const char write_imm[] =
    "45000050fb1b400040112b6d0a0900020a090001c1fe12b7003c"
    "00000b00ffff00000011801b58ba00005648180cb010000005f2"
    "00000010800001800080548d2b7f0000a81d0000000008003994"
    "d6c8";

struct sample {
	uint8_t bytes[512];
	size_t count;
	struct packet p;
};

static void load(struct sample *s, const char *hex)
{
	s->count = hex_bytes(hex, s->bytes, sizeof(s->bytes));
	cr_assert_eq(
	    packet_decode(&s->p, s->bytes + IP_BYTES + UDP_BYTES,
			  s->count - IP_BYTES - UDP_BYTES - ICRC_BYTES),
	    0);
}

/* n bytes follow the IP and UDP headers. */
static uint32_t icrc_of(const uint8_t *b, size_t n)
{
	return icrc_transport(icrc_ip4(b, b + IP_BYTES),
			      b + IP_BYTES + UDP_BYTES, n);
}

Test(packet, icrc_of_kernel_packets_is_ours)
{
	const char *samples[] = {send_only, ack, read_request, atomic_ack,
				 write_imm};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct sample s;
		size_t n;
		uint32_t crc;

		load(&s, samples[i]);
		n = s.count - IP_BYTES - UDP_BYTES - ICRC_BYTES;
		memcpy(&crc, s.bytes + s.count - ICRC_BYTES, ICRC_BYTES);
		cr_assert_eq(icrc_of(s.bytes, n), le32toh(crc), "sample %zu",
			     i);
	}
}

Test(packet, an_identification_is_found_from_the_icrc_alone)
{
	const char *samples[] = {send_only, ack, read_request, atomic_ack,
				 write_imm};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint8_t sent[2];
		uint8_t found[2];
		struct sample s;
		uint32_t with_0;
		uint32_t came;
		size_t n;

		load(&s, samples[i]);
		n = s.count - IP_BYTES - UDP_BYTES - ICRC_BYTES;
		came = icrc_of(s.bytes, n);
		memcpy(sent, s.bytes + 4, 2);
		memset(s.bytes + 4, 0, 2);
		with_0 = icrc_of(s.bytes, n);
		cr_assert(icrc_ip4_identification(came, with_0, n, found));
		cr_assert_arr_eq(found, sent, 2);
		cr_assert(icrc_ip4_identification(with_0, with_0, n, found));
		cr_assert_eq(found[0] | found[1], 0);
		for (unsigned bit = 0; bit < 32; bit++)
			cr_assert_not(icrc_ip4_identification(
			    came ^ 1u << bit, with_0, n, found));
	}
}

Test(packet, icrc_ignores_what_routers_change_and_nothing_else)
{
	static const size_t changed[] = {
	    1, 8, 10, 11, IP_BYTES + 6, IP_BYTES + 7, IP_BYTES + UDP_BYTES + 4};
	struct sample s;
	size_t n;
	uint32_t before;

	load(&s, send_only);
	n = s.count - IP_BYTES - UDP_BYTES - ICRC_BYTES;
	before = icrc_of(s.bytes, n);
	for (size_t i = 0; i < s.count - ICRC_BYTES; i++) {
		bool may = false;
		uint32_t after;

		for (size_t k = 0; k < sizeof(changed) / sizeof(changed[0]);
		     k++)
			may |= changed[k] == i;
		s.bytes[i] ^= 0x10;
		after = icrc_of(s.bytes, n);
		s.bytes[i] ^= 0x10;
		cr_assert_eq(after == before, may, "byte %zu", i);
	}
}

/* RoCE v1, decoded by tshark: Ethernet header of 14 bytes, then the GRH. */
Test(packet, icrc_of_version_1_covers_the_global_route)
{
	uint8_t b[256];
	size_t n = hex_bytes(
	    "52540000000252540000000189156000000000201b01fe80000000000000"
	    "505400fffe000001fe80000000000000505400fffe0000020470ffff0000"
	    "00118000006468656c6c6f20726f6365207631000000149e8c8b",
	    b, sizeof(b));
	uint32_t crc;

	memcpy(&crc, b + n - ICRC_BYTES, ICRC_BYTES);
	cr_assert_eq(icrc_transport(icrc_grh(b + 14), b + 14 + 40,
				    n - 14 - 40 - ICRC_BYTES),
		     le32toh(crc));
}

Test(packet, kernel_send_is_understood)
{
	struct sample s;

	load(&s, send_only);
	cr_assert_eq(s.p.opcode, TRANSPORT_RC | OP_SEND_ONLY);
	cr_assert_eq(s.p.dest_qpn, 0x11);
	cr_assert_eq(s.p.psn, 0xe8944a);
	cr_assert(s.p.wants_ack);
	cr_assert_not(s.p.is_solicited);
	cr_assert_eq(s.p.payload_bytes, 16);
}

Test(packet, kernel_read_and_write_are_understood)
{
	struct sample s;

	load(&s, read_request);
	cr_assert_eq(s.p.address, UINT64_C(0x000055ab395e7260));
	cr_assert_eq(s.p.rkey, 0x8ff);
	cr_assert_eq(s.p.dma_bytes, 0x40);
	load(&s, write_imm);
	cr_assert(s.p.properties & PACKET_HAS_IMM);
	cr_assert_eq(be32toh(s.p.imm), 0x80000180);
	cr_assert_eq(s.p.dma_bytes, 0x10);
	cr_assert_eq(s.p.payload_bytes, 16);
}

Test(packet, kernel_answers_are_understood)
{
	struct sample s;

	load(&s, ack);
	cr_assert_eq(s.p.syndrome, AETH_ACK | AETH_ACK_UNLIMITED);
	cr_assert_eq(s.p.msn, 2);
	load(&s, atomic_ack);
	cr_assert_eq(s.p.original, UINT64_C(0x146a8efc53b208ac));
}

Test(packet, encoding_a_decoded_packet_gives_its_bytes)
{
	const char *samples[] = {send_only, ack, read_request, atomic_ack,
				 write_imm};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint8_t out[PACKET_HEADERS_MAX];
		struct sample s;
		size_t n;

		load(&s, samples[i]);
		n = packet_encode(&s.p, out);
		cr_assert_eq(n, packet_header_bytes(s.p.opcode));
		cr_assert_eq(memcmp(out, s.bytes + IP_BYTES + UDP_BYTES, n), 0,
			     "sample %zu", i);
	}
}

/* Opcodes that the kernel of the samples does not have (InfiniBand 9.2). */
Test(packet, keys_to_invalidate_and_atomic_writes_have_their_place)
{
	static const uint8_t key[] = {0x12, 0x34, 0x56, 0x78};
	uint8_t out[PACKET_HEADERS_MAX + 8] = {0};
	struct packet p = {.opcode = TRANSPORT_RC | OP_SEND_ONLY_INV,
			   .invalidate = 0x12345678};
	struct packet back;

	cr_assert_eq(packet_encode(&p, out), 16);
	cr_assert_eq(out[0], 0x17);
	cr_assert_eq(memcmp(out + 12, key, sizeof(key)), 0);
	cr_assert_eq(packet_decode(&back, out, 16), 0);
	cr_assert_eq(back.invalidate, 0x12345678);
	cr_assert_eq(packet_header_bytes(OP_SEND_LAST_INV), 16);
	cr_assert_eq(packet_properties(TRANSPORT_UC | OP_SEND_ONLY_INV), 0);

	p = (struct packet){.opcode = TRANSPORT_RC | OP_ATOMIC_WRITE,
			    .address = UINT64_C(0x0102030405060708),
			    .rkey = 0x12345678,
			    .dma_bytes = 8};
	cr_assert_eq(packet_encode(&p, out), 28);
	cr_assert_eq(out[0], 0x1d);
	cr_assert_eq(out[12], 1);
	cr_assert_eq(memcmp(out + 20, key, sizeof(key)), 0);
	cr_assert_eq(packet_decode(&back, out, 28 + 8), 0);
	cr_assert_eq(back.payload_bytes, 8);
	cr_assert(back.properties & PACKET_REQUEST);
	cr_assert_eq(packet_properties(TRANSPORT_UC | OP_ATOMIC_WRITE), 0);
}

Test(packet, short_and_foreign_packets_are_refused)
{
	uint8_t b[PACKET_HEADERS_MAX] = {TRANSPORT_RC | OP_WRITE_ONLY_IMM};
	struct packet p;

	for (size_t n = 0; n < packet_header_bytes(b[0]); n++)
		cr_assert_eq(packet_decode(&p, b, n), -EPROTO, "%zu bytes", n);
	cr_assert_eq(packet_decode(&p, b, packet_header_bytes(b[0])), 0);
	b[1] = 0x30; /* three pad bytes that are not there */
	cr_assert_eq(packet_decode(&p, b, packet_header_bytes(b[0])), -EPROTO);
	b[1] = 0x01; /* another transport header version */
	cr_assert_eq(packet_decode(&p, b, sizeof(b)), -EPROTO);
	b[1] = 0;
	b[0] = TRANSPORT_UD | OP_WRITE_ONLY;
	cr_assert_eq(packet_decode(&p, b, sizeof(b)), -EPROTO);
	b[0] = 0x40; /* reliable datagram */
	cr_assert_eq(packet_decode(&p, b, sizeof(b)), -EPROTO);
}

Test(packet, crc32_is_that_of_ethernet)
{
	cr_assert_eq(crc32_update(0, "123456789", 9), 0xcbf43926);
	cr_assert_eq(crc32_update(crc32_update(0, "1234", 4), "56789", 5),
		     0xcbf43926);
}

static uint32_t bit_by_bit(uint32_t crc, const uint8_t *p, size_t count)
{
	uint32_t c = ~crc;

	for (size_t i = 0; i < 8 * count; i++) {
		c ^= p[i / 8] >> i % 8 & 1;
		c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
	}
	return ~c;
}

Test(packet, crc32_of_any_length_and_place_is_that_bit_by_bit)
{
	uint8_t b[16 + 400];
	uint32_t random = 1;

	for (size_t i = 0; i < sizeof(b); i++) {
		random = random * 1664525u + 1013904223u;
		b[i] = (uint8_t)(random >> 24);
	}
	for (size_t at = 0; at < 16; at++)
		for (size_t n = 0; n <= 400; n++) {
			uint32_t seed = (uint32_t)(at * 2654435761u + n);
			uint32_t right = bit_by_bit(seed, b + at, n);

			cr_assert_eq(crc32_update(seed, b + at, n), right,
				     "%zu bytes at %zu", n, at);
			cr_assert_eq(crc32_update_tables(seed, b + at, n),
				     right, "%zu bytes at %zu", n, at);
		}
}
