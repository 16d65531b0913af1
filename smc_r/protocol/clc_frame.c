/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_frame: what all handshake messages have in common.
 */
#include "smc_r/protocol/clc_frame.h"
#include "smc_r/protocol/clc_wire.h"

#include <errno.h>
#include <string.h>

/* Shortest form of each type; SMC-D's is the shortest Accept and Confirm. */
#define PROPOSAL_BYTES_MIN 52
#define ACCEPT_BYTES_MIN   48
#define DECLINE_BYTES_MIN  28

static const uint8_t eyecatcher_smcr[4] = {0xe2, 0xd4, 0xc3, 0xd9};
static const uint8_t eyecatcher_smcd[4] = {0xe2, 0xd4, 0xc3, 0xc4};

const char *clc_type_name(int type)
{
	static const char *const names[] = {
	    [CLC_PROPOSAL] = "Proposal",
	    [CLC_ACCEPT] = "Accept",
	    [CLC_CONFIRM] = "Confirm",
	    [CLC_DECLINE] = "Decline",
	};

	if (type < CLC_PROPOSAL || type > CLC_DECLINE)
		return "unknown";
	return names[type];
}

static bool is_eyecatcher(const uint8_t *bytes, size_t n)
{
	return memcmp(bytes, eyecatcher_smcr, n) == 0 ||
	       memcmp(bytes, eyecatcher_smcd, n) == 0;
}

static size_t bytes_min(int type)
{
	static const uint8_t min[] = {
	    [CLC_PROPOSAL] = PROPOSAL_BYTES_MIN,
	    [CLC_ACCEPT] = ACCEPT_BYTES_MIN,
	    [CLC_CONFIRM] = ACCEPT_BYTES_MIN,
	    [CLC_DECLINE] = DECLINE_BYTES_MIN,
	};

	return min[type];
}

int clc_peek_length(const uint8_t *bytes, size_t n)
{
	size_t length;

	if (n == 0)
		return -EAGAIN;
	if (!is_eyecatcher(bytes, n < 4 ? n : 4))
		return -EPROTO;
	if (n > 4 && (bytes[4] < CLC_PROPOSAL || bytes[4] > CLC_DECLINE))
		return -EPROTO;
	if (n > 5 && bytes[5] > CLC_BYTES_MAX >> 8)
		return -EPROTO;
	if (n > 6) {
		length = (size_t)bytes[5] << 8 | bytes[6];
		if (length < bytes_min(bytes[4]) || length > CLC_BYTES_MAX)
			return -EPROTO;
	}
	if (n < CLC_HEADER_BYTES)
		return -EAGAIN;
	if (bytes[7] >> CLC_VERSION_SHIFT == 0)
		return -EPROTO;
	return (int)length;
}

bool clc_read_header(struct wire_reader *r, const void *bytes, size_t n,
		     int type, uint8_t *flags)
{
	if (n < CLC_HEADER_BYTES || clc_peek_length(bytes, n) != (int)n)
		return false;
	wire_reader_init(r, bytes, n);
	wire_skip(r, 4);
	if (wire_read_u8(r) != type)
		return false;
	wire_skip(r, 2);
	*flags = wire_read_u8(r);
	return true;
}

bool clc_read_trailer(struct wire_reader *r)
{
	uint8_t trailer[CLC_TRAILER_BYTES];

	wire_read_bytes(r, trailer, sizeof(trailer));
	return wire_read_done(r) && is_eyecatcher(trailer, sizeof(trailer));
}

void clc_write_header(struct wire_writer *w, void *out, size_t room, int type,
		      uint8_t flags)
{
	wire_writer_init(w, out, room);
	wire_write_bytes(w, eyecatcher_smcr, sizeof(eyecatcher_smcr));
	wire_write_u8(w, (uint8_t)type);
	wire_write_u16(w, 0);
	wire_write_u8(w, flags);
}

int clc_write_trailer(struct wire_writer *w, void *out)
{
	struct wire_writer field;
	int length;

	wire_write_bytes(w, eyecatcher_smcr, sizeof(eyecatcher_smcr));
	length = wire_write_length(w);
	if (length > 0) {
		wire_writer_init(&field, (uint8_t *)out + 5, 2);
		wire_write_u16(&field, (uint16_t)length);
	}
	return length;
}
