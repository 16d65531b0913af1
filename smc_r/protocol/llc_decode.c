/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * llc_decode: control messages of a link group, from bytes to structs.
 */
#include "smc_r/protocol/llc_layout.h"
#include "smc_r/protocol/llc_wire.h"
#include "smc_r/protocol/wire.h"

#include <errno.h>
#include <string.h>

static uint16_t swap_bytes(uint16_t v)
{
	return (uint16_t)(v << 8 | v >> 8);
}

static uint16_t read_u16(struct wire_reader *r, bool low_byte_first)
{
	uint16_t v = wire_read_u16(r);

	return low_byte_first ? swap_bytes(v) : v;
}

static void decode_confirm_link(struct wire_reader *r, uint8_t flags,
				struct llc_confirm_link *out)
{
	out->no_eyecatcher = flags & FLAG_NO_EYECATCHER;
	wire_read_bytes(r, out->mac, sizeof(out->mac));
	wire_read_bytes(r, out->gid, sizeof(out->gid));
	out->qpn = wire_read_u24(r);
	out->link = wire_read_u8(r);
	out->uid = wire_read_u32(r);
	out->links_max = wire_read_u8(r);
	out->connections_max = wire_read_u8(r);
}

static void read_pair(struct wire_reader *r, struct llc_key_pair *out)
{
	out->rkey = wire_read_u32(r);
	out->new_rkey = wire_read_u32(r);
	out->new_address = wire_read_u64(r);
}

/* What version 2 has behind the common part; reads too far if it is cut. */
static void decode_add_link_keys(struct wire_reader *r, bool low_byte_first,
				 struct llc_add_link *out)
{
	uint16_t count;

	out->has_keys = true;
	out->direct = wire_read_u8(r) & FLAG_DIRECT;
	wire_skip(r, 1);
	wire_read_bytes(r, out->target_gid, sizeof(out->target_gid));
	wire_skip(r, 8);
	count = read_u16(r, low_byte_first);
	if (count > LLC_KEYS_MAX) {
		r->bad = true;
		return;
	}
	out->pair_count = (uint8_t)count;
	for (int i = 0; i < count; i++)
		read_pair(r, &out->pair[i]);
}

static void decode_add_link(struct wire_reader *r, uint8_t reason,
			    struct llc_message *m, uint8_t flags)
{
	struct llc_add_link *out = &m->add_link;

	out->reject = m->response && (flags & FLAG_REJECT);
	if (out->reject)
		out->reason = reason;
	wire_read_bytes(r, out->mac, sizeof(out->mac));
	wire_skip(r, 2);
	wire_read_bytes(r, out->gid, sizeof(out->gid));
	out->qpn = wire_read_u24(r);
	out->link = wire_read_u8(r);
	out->mtu = wire_read_u8(r) & 0x0f;
	out->psn = wire_read_u24(r);
	wire_skip(r, 8);
	if (m->version == 2 && !out->reject && r->left > 0)
		decode_add_link_keys(r, m->low_byte_first, out);
}

static void decode_add_link_cont(struct wire_reader *r,
				 struct llc_add_link_cont *out)
{
	out->link = wire_read_u8(r);
	out->pairs_left = wire_read_u8(r);
	wire_skip(r, 2);
	read_pair(r, &out->pair[0]);
	read_pair(r, &out->pair[1]);
}

static void decode_delete_link(struct wire_reader *r, uint8_t flags,
			       struct llc_delete_link *out)
{
	out->all = flags & FLAG_ALL;
	out->orderly = flags & FLAG_ORDERLY;
	out->link = wire_read_u8(r);
	out->reason = wire_read_u32(r);
}

static void decode_request_add_link(struct wire_reader *r, uint8_t flags,
				    struct llc_message *m)
{
	struct llc_request_add_link *out = &m->request_add_link;
	uint8_t count;
	uint8_t kept;

	out->reject = m->response && (flags & FLAG_REJECT);
	if (out->reject)
		out->reason = flags & REASON_MASK;
	wire_skip(r, 20);
	count = wire_read_u8(r);
	kept = count < LLC_GIDS_MAX ? count : LLC_GIDS_MAX;
	wire_skip(r, 3);
	wire_read_bytes(r, out->gid, kept * sizeof(out->gid[0]));
	wire_skip(r, (size_t)(count - kept) * sizeof(out->gid[0]));
	out->gid_count = kept;
}

static void read_key(struct wire_reader *r, struct llc_key *out)
{
	out->link = wire_read_u8(r);
	out->rkey = wire_read_u32(r);
	out->address = wire_read_u64(r);
}

static void decode_confirm_rkey(struct wire_reader *r, uint8_t flags,
				struct llc_confirm_rkey *out)
{
	out->negative = flags & FLAG_NEGATIVE;
	out->retry = flags & FLAG_RETRY;
	out->other_count = wire_read_u8(r);
	out->rkey = wire_read_u32(r);
	out->address = wire_read_u64(r);
	for (int i = 0; i < 2; i++)
		read_key(r, &out->other[i]);
}

static void decode_confirm_rkey_cont(struct wire_reader *r, uint8_t flags,
				     struct llc_confirm_rkey_cont *out)
{
	out->negative = flags & FLAG_NEGATIVE;
	out->retry = flags & FLAG_RETRY;
	out->other_count = wire_read_u8(r);
	for (int i = 0; i < 3; i++)
		read_key(r, &out->other[i]);
}

static void decode_delete_rkey(struct wire_reader *r, uint8_t flags,
			       struct llc_message *m)
{
	struct llc_delete_rkey *out = &m->delete_rkey;
	uint8_t errors;
	int keys;

	out->negative = flags & FLAG_NEGATIVE;
	out->count = wire_read_u8(r);
	errors = wire_read_u8(r);
	wire_skip(r, 2);
	keys = out->count;
	if (m->version == 1) {
		out->error_mask = m->response ? errors : 0;
		r->bad |= keys > DELETE_RKEY_KEYS;
	} else if (m->response) {
		out->invalid_count = errors;
		keys = errors < DELETE_RKEY_KEYS ? errors : DELETE_RKEY_KEYS;
	}
	for (int i = 0; i < keys; i++)
		out->rkey[i] = wire_read_u32(r);
}

/*
 * The length of a message of version 2 and the order of its bytes. Linux does
 * not say the former reliably, so what arrived decides between the orders.
 */
static size_t find_length(uint16_t high_first, size_t n, bool *low_byte_first)
{
	uint16_t low_first = swap_bytes(high_first);

	*low_byte_first = false;
	if (high_first == n)
		return n;
	*low_byte_first = true;
	if (low_first == n)
		return n;
	if (low_first >= LLC_BYTES && low_first < n)
		return low_first;
	*low_byte_first = false;
	if (high_first >= LLC_BYTES && high_first < n)
		return high_first;
	return 0;
}

/* The body of a message whose header was read. False for an unknown type. */
static bool decode_body(struct wire_reader *r, struct llc_message *m,
			uint8_t flags, uint8_t reason)
{
	switch (m->type) {
	case LLC_CONFIRM_LINK:
		decode_confirm_link(r, flags, &m->confirm_link);
		return true;
	case LLC_ADD_LINK:
		decode_add_link(r, reason, m, flags);
		return true;
	case LLC_ADD_LINK_CONT:
		decode_add_link_cont(r, &m->add_link_cont);
		return m->version == 1;
	case LLC_DELETE_LINK:
		decode_delete_link(r, flags, &m->delete_link);
		return true;
	case LLC_REQUEST_ADD_LINK:
		decode_request_add_link(r, flags, m);
		return m->version == 2;
	case LLC_CONFIRM_RKEY:
		decode_confirm_rkey(r, flags, &m->confirm_rkey);
		return true;
	case LLC_TEST_LINK:
		wire_read_bytes(r, m->test_link.data,
				sizeof(m->test_link.data));
		return true;
	case LLC_CONFIRM_RKEY_CONT:
		decode_confirm_rkey_cont(r, flags, &m->confirm_rkey_cont);
		return m->version == 1;
	case LLC_DELETE_RKEY:
		decode_delete_rkey(r, flags, m);
		return true;
	default:
		return false;
	}
}

int llc_decode(struct llc_message *out, const void *bytes, size_t n)
{
	const uint8_t *header = bytes;
	struct wire_reader r;
	size_t length = LLC_BYTES;
	uint8_t reason;

	memset(out, 0, sizeof(*out));
	if (n < LLC_BYTES)
		return -EPROTO;
	out->version = header[0] >> 4 == VERSION_2 ? 2 : 1;
	if (header[0] >> 4 != VERSION_2 && header[0] >> 4 != VERSION_1)
		return -ENOMSG;
	out->type = header[0] & TYPE_MASK;
	out->response = header[3] & FLAG_RESPONSE;
	if (out->version == 1 && header[1] != LLC_BYTES)
		return -EPROTO;
	if (out->version == 2)
		length = find_length((uint16_t)(header[1] << 8 | header[2]), n,
				     &out->low_byte_first);
	if (length < LLC_BYTES)
		return -EPROTO;
	reason = (out->version == 1 ? header[2] : header[3]) & REASON_MASK;
	wire_reader_init(&r, bytes, length);
	wire_skip(&r, HEADER_BYTES);
	if (!decode_body(&r, out, header[3], reason))
		return -ENOMSG;
	return r.bad ? -EPROTO : 0;
}
