/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * llc_encode: control messages of a link group, from structs to bytes.
 */
#include "smc_r/protocol/llc_layout.h"
#include "smc_r/protocol/llc_wire.h"
#include "smc_r/protocol/wire.h"

#include <errno.h>
#include <stddef.h>

const char *llc_type_name(int type)
{
	static const char *const names[] = {
	    [LLC_CONFIRM_LINK] = "Confirm Link",
	    [LLC_ADD_LINK] = "Add Link",
	    [LLC_ADD_LINK_CONT] = "Add Link Continuation",
	    [LLC_DELETE_LINK] = "Delete Link",
	    [LLC_REQUEST_ADD_LINK] = "Request Add Link",
	    [LLC_CONFIRM_RKEY] = "Confirm Rkey",
	    [LLC_TEST_LINK] = "Test Link",
	    [LLC_CONFIRM_RKEY_CONT] = "Confirm Rkey Continuation",
	    [LLC_DELETE_RKEY] = "Delete Rkey",
	};

	if (type < LLC_CONFIRM_LINK || type > LLC_DELETE_RKEY)
		return "unknown";
	return names[type];
}

static void write_u16(struct wire_writer *w, uint16_t v, bool low_byte_first)
{
	if (low_byte_first)
		v = (uint16_t)(v << 8 | v >> 8);
	wire_write_u16(w, v);
}

static void encode_confirm_link(struct wire_writer *w,
				const struct llc_confirm_link *m)
{
	wire_write_bytes(w, m->mac, sizeof(m->mac));
	wire_write_bytes(w, m->gid, sizeof(m->gid));
	wire_write_u24(w, m->qpn);
	wire_write_u8(w, m->link);
	wire_write_u32(w, m->uid);
	wire_write_u8(w, m->links_max);
	wire_write_u8(w, m->connections_max);
}

static void write_pair(struct wire_writer *w, const struct llc_key_pair *pair)
{
	wire_write_u32(w, pair->rkey);
	wire_write_u32(w, pair->new_rkey);
	wire_write_u64(w, pair->new_address);
}

static void encode_add_link(struct wire_writer *w, const struct llc_message *m)
{
	const struct llc_add_link *add = &m->add_link;

	wire_write_bytes(w, add->mac, sizeof(add->mac));
	wire_write_zeros(w, 2);
	wire_write_bytes(w, add->gid, sizeof(add->gid));
	wire_write_u24(w, add->qpn);
	wire_write_u8(w, add->link);
	wire_write_u8(w, add->mtu);
	wire_write_u24(w, add->psn);
	wire_write_zeros(w, 8);
	if (!add->has_keys)
		return;
	wire_write_u8(w, add->direct ? FLAG_DIRECT : 0);
	wire_write_u8(w, 0);
	wire_write_bytes(w, add->target_gid, sizeof(add->target_gid));
	wire_write_zeros(w, 8);
	write_u16(w, add->pair_count, m->low_byte_first);
	for (int i = 0; i < add->pair_count; i++)
		write_pair(w, &add->pair[i]);
}

static void encode_add_link_cont(struct wire_writer *w,
				 const struct llc_add_link_cont *m)
{
	wire_write_u8(w, m->link);
	wire_write_u8(w, m->pairs_left);
	wire_write_zeros(w, 2);
	write_pair(w, &m->pair[0]);
	write_pair(w, &m->pair[1]);
}

static void encode_delete_link(struct wire_writer *w,
			       const struct llc_delete_link *m)
{
	wire_write_u8(w, m->link);
	wire_write_u32(w, m->reason);
}

static void encode_request_add_link(struct wire_writer *w,
				    const struct llc_request_add_link *m)
{
	wire_write_zeros(w, 20);
	wire_write_u8(w, m->gid_count);
	wire_write_zeros(w, 3);
	wire_write_bytes(w, m->gid, m->gid_count * sizeof(m->gid[0]));
}

static void write_key(struct wire_writer *w, const struct llc_key *key)
{
	wire_write_u8(w, key->link);
	wire_write_u32(w, key->rkey);
	wire_write_u64(w, key->address);
}

static void encode_confirm_rkey(struct wire_writer *w,
				const struct llc_confirm_rkey *m)
{
	wire_write_u8(w, m->other_count);
	wire_write_u32(w, m->rkey);
	wire_write_u64(w, m->address);
	for (int i = 0; i < 2; i++)
		write_key(w, &m->other[i]);
}

static void encode_confirm_rkey_cont(struct wire_writer *w,
				     const struct llc_confirm_rkey_cont *m)
{
	wire_write_u8(w, m->other_count);
	for (int i = 0; i < 3; i++)
		write_key(w, &m->other[i]);
}

static void encode_delete_rkey(struct wire_writer *w,
			       const struct llc_message *m)
{
	const struct llc_delete_rkey *d = &m->delete_rkey;
	int keys = d->count;

	wire_write_u8(w, d->count);
	if (m->version == 1) {
		wire_write_u8(w, m->response ? d->error_mask : 0);
	} else {
		wire_write_u8(w, m->response ? d->invalid_count : 0);
		if (m->response)
			keys = d->invalid_count;
	}
	if (m->response && keys > DELETE_RKEY_KEYS)
		keys = DELETE_RKEY_KEYS;
	wire_write_zeros(w, 2);
	for (int i = 0; i < keys; i++)
		wire_write_u32(w, d->rkey[i]);
}

static uint8_t encode_flags(const struct llc_message *m)
{
	uint8_t flags = m->response ? FLAG_RESPONSE : 0;

	switch (m->type) {
	case LLC_CONFIRM_LINK:
		if (m->confirm_link.no_eyecatcher)
			flags |= FLAG_NO_EYECATCHER;
		break;
	case LLC_ADD_LINK:
		if (m->add_link.reject)
			flags |= FLAG_REJECT;
		if (m->add_link.reject && m->version == 2)
			flags |= m->add_link.reason;
		break;
	case LLC_DELETE_LINK:
		if (m->delete_link.all)
			flags |= FLAG_ALL;
		if (m->delete_link.orderly)
			flags |= FLAG_ORDERLY;
		break;
	case LLC_REQUEST_ADD_LINK:
		if (m->request_add_link.reject)
			flags |= FLAG_REJECT | m->request_add_link.reason;
		break;
	case LLC_CONFIRM_RKEY:
		if (m->confirm_rkey.negative)
			flags |= FLAG_NEGATIVE;
		if (m->confirm_rkey.retry)
			flags |= FLAG_RETRY;
		break;
	case LLC_CONFIRM_RKEY_CONT:
		if (m->confirm_rkey_cont.negative)
			flags |= FLAG_NEGATIVE;
		if (m->confirm_rkey_cont.retry)
			flags |= FLAG_RETRY;
		break;
	case LLC_DELETE_RKEY:
		if (m->delete_rkey.negative)
			flags |= FLAG_NEGATIVE;
		break;
	}
	return flags;
}

static bool add_link_has_form(const struct llc_message *m)
{
	const struct llc_add_link *add = &m->add_link;

	if (add->mtu > 15 || add->reason > REASON_MASK)
		return false;
	if (add->reject)
		return m->response && !add->has_keys;
	return m->version == 2 || !add->has_keys;
}

static bool has_form(const struct llc_message *m)
{
	if (m->version != 1 && m->version != 2)
		return false;
	switch (m->type) {
	case LLC_ADD_LINK:
		return add_link_has_form(m);
	case LLC_ADD_LINK_CONT:
	case LLC_CONFIRM_RKEY_CONT:
		return m->version == 1;
	case LLC_REQUEST_ADD_LINK:
		return m->version == 2 &&
		       m->request_add_link.gid_count <= LLC_GIDS_MAX &&
		       m->request_add_link.reason <= REASON_MASK &&
		       (m->response || !m->request_add_link.reject);
	case LLC_DELETE_RKEY:
		return m->version == 2 ||
		       m->delete_rkey.count <= DELETE_RKEY_KEYS;
	case LLC_CONFIRM_LINK:
	case LLC_DELETE_LINK:
	case LLC_CONFIRM_RKEY:
	case LLC_TEST_LINK:
		return true;
	default:
		return false;
	}
}

static void encode_body(struct wire_writer *w, const struct llc_message *m)
{
	switch (m->type) {
	case LLC_CONFIRM_LINK:
		encode_confirm_link(w, &m->confirm_link);
		break;
	case LLC_ADD_LINK:
		encode_add_link(w, m);
		break;
	case LLC_ADD_LINK_CONT:
		encode_add_link_cont(w, &m->add_link_cont);
		break;
	case LLC_DELETE_LINK:
		encode_delete_link(w, &m->delete_link);
		break;
	case LLC_REQUEST_ADD_LINK:
		encode_request_add_link(w, &m->request_add_link);
		break;
	case LLC_CONFIRM_RKEY:
		encode_confirm_rkey(w, &m->confirm_rkey);
		break;
	case LLC_TEST_LINK:
		wire_write_bytes(w, m->test_link.data,
				 sizeof(m->test_link.data));
		break;
	case LLC_CONFIRM_RKEY_CONT:
		encode_confirm_rkey_cont(w, &m->confirm_rkey_cont);
		break;
	case LLC_DELETE_RKEY:
		encode_delete_rkey(w, m);
		break;
	}
}

/* The length goes into the header when it is known. */
static void encode_length(const struct llc_message *m, uint8_t *out, int length)
{
	struct wire_writer w;

	wire_writer_init(&w, out + 1, 2);
	if (m->version == 1)
		wire_write_u8(&w, (uint8_t)length);
	else
		write_u16(&w, (uint16_t)length, m->low_byte_first);
}

int llc_encode(const struct llc_message *m, void *out, size_t room)
{
	struct wire_writer w;
	int length;

	if (!has_form(m))
		return -EINVAL;
	wire_writer_init(&w, out, room);
	wire_write_u8(&w, (uint8_t)(m->version == 2 ? VERSION_2 << 4 | m->type
						    : m->type));
	wire_write_zeros(&w, 2);
	wire_write_u8(&w, encode_flags(m));
	encode_body(&w, m);
	if (!w.bad && w.used < LLC_BYTES)
		wire_write_zeros(&w, LLC_BYTES - w.used);
	length = wire_write_length(&w);
	if (length < 0)
		return length;
	encode_length(m, out, length);
	if (m->version == 1 && m->type == LLC_ADD_LINK && m->add_link.reject)
		((uint8_t *)out)[2] = m->add_link.reason;
	return length;
}
