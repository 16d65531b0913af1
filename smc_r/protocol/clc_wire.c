/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_wire: Accept, Confirm and Decline, as bytes and as structs.
 */
#include "smc_r/protocol/clc_wire.h"
#include "smc_r/protocol/clc_frame.h"

#include <errno.h>
#include <string.h>

#define FLAG_FIRST_CONTACT 0x08
#define FLAG_OUT_OF_SYNC   0x08
#define FLAG_DIRECT        0x80
#define SMCD_V1_BYTES      48
#define SMCD_V2_BYTES      78

/* ---- Accept and Confirm ---- */

static bool has_gid_list(const struct clc_accept_confirm *m)
{
	return m->type == CLC_CONFIRM && m->version > 1 && m->first_contact;
}

static bool accept_confirm_has_form(const struct clc_accept_confirm *m)
{
	return (m->type == CLC_ACCEPT || m->type == CLC_CONFIRM) &&
	       (m->version == 1 || m->version == 2) &&
	       m->path == CLC_PATH_SMCR && m->size_code <= 15 && m->mtu <= 15 &&
	       m->os <= 15 && m->release <= 15 && m->gid_count <= CLC_GIDS_MAX;
}

static void write_extension(struct wire_writer *w,
			    const struct clc_accept_confirm *m)
{
	wire_write_u8(w, m->direct ? FLAG_DIRECT : 0);
	wire_write_u8(w, (uint8_t)(m->os << 4 | m->release));
	wire_write_zeros(w, 2);
	wire_write_bytes(w, m->host, CLC_HOST_BYTES);
	wire_write_u8(w, m->connections_max);
	wire_write_u8(w, m->links_max);
	wire_write_u16(w, m->features);
	wire_write_zeros(w, 12);
}

int clc_encode_accept_confirm(const struct clc_accept_confirm *m, void *out,
			      size_t room)
{
	struct wire_writer w;
	uint8_t flags;

	if (!accept_confirm_has_form(m))
		return -EINVAL;
	flags = (uint8_t)(m->version << CLC_VERSION_SHIFT | m->path);
	if (m->first_contact)
		flags |= FLAG_FIRST_CONTACT;
	clc_write_header(&w, out, room, m->type, flags);
	wire_write_bytes(&w, m->peer_id, CLC_PEER_ID_BYTES);
	wire_write_bytes(&w, m->gid, CLC_GID_BYTES);
	wire_write_bytes(&w, m->mac, CLC_MAC_BYTES);
	wire_write_u24(&w, m->qpn);
	wire_write_u32(&w, m->rkey);
	wire_write_u8(&w, m->index);
	wire_write_u32(&w, m->token);
	wire_write_u8(&w, (uint8_t)(m->size_code << 4 | m->mtu));
	wire_write_u8(&w, 0);
	wire_write_u64(&w, m->address);
	wire_write_u8(&w, 0);
	wire_write_u24(&w, m->psn);
	if (m->version > 1) {
		wire_write_bytes(&w, m->eid, CLC_EID_BYTES);
		wire_write_zeros(&w, 8);
		if (m->first_contact)
			write_extension(&w, m);
	}
	if (has_gid_list(m)) {
		wire_write_u8(&w, m->gid_count);
		wire_write_zeros(&w, 3);
		wire_write_bytes(&w, m->gids,
				 (size_t)m->gid_count * CLC_GID_BYTES);
	}
	return clc_write_trailer(&w, out);
}

static void read_extension(struct wire_reader *r,
			   struct clc_accept_confirm *out)
{
	uint8_t byte;

	out->direct = wire_read_u8(r) & FLAG_DIRECT;
	byte = wire_read_u8(r);
	out->os = byte >> 4;
	out->release = byte & 0x0f;
	wire_skip(r, 2);
	wire_read_bytes(r, out->host, CLC_HOST_BYTES);
	out->connections_max = wire_read_u8(r);
	out->links_max = wire_read_u8(r);
	out->features = wire_read_u16(r);
	wire_skip(r, 12);
}

static void read_gid_list(struct wire_reader *r, struct clc_accept_confirm *out)
{
	uint8_t count = wire_read_u8(r);
	uint8_t kept = count < CLC_GIDS_MAX ? count : CLC_GIDS_MAX;

	wire_skip(r, 3);
	wire_read_bytes(r, out->gids, (size_t)kept * CLC_GID_BYTES);
	wire_skip(r, (size_t)(count - kept) * CLC_GID_BYTES);
	out->gid_count = kept;
}

static void read_smcr_body(struct wire_reader *r,
			   struct clc_accept_confirm *out)
{
	uint8_t byte;

	wire_read_bytes(r, out->peer_id, CLC_PEER_ID_BYTES);
	wire_read_bytes(r, out->gid, CLC_GID_BYTES);
	wire_read_bytes(r, out->mac, CLC_MAC_BYTES);
	out->qpn = wire_read_u24(r);
	out->rkey = wire_read_u32(r);
	out->index = wire_read_u8(r);
	out->token = wire_read_u32(r);
	byte = wire_read_u8(r);
	out->size_code = byte >> 4;
	out->mtu = byte & 0x0f;
	wire_skip(r, 1);
	out->address = wire_read_u64(r);
	wire_skip(r, 1);
	out->psn = wire_read_u24(r);
	if (out->version == 1)
		return;
	wire_read_bytes(r, out->eid, CLC_EID_BYTES);
	wire_skip(r, 8);
	if (out->first_contact)
		read_extension(r, out);
	if (has_gid_list(out))
		read_gid_list(r, out);
}

/* Steps over what a later version may have put before the trailer. */
static void skip_to_trailer(struct wire_reader *r)
{
	if (r->left > CLC_TRAILER_BYTES)
		wire_skip(r, r->left - CLC_TRAILER_BYTES);
}

int clc_decode_accept_confirm(struct clc_accept_confirm *out, const void *bytes,
			      size_t n)
{
	struct wire_reader r;
	uint8_t flags;
	int type;

	memset(out, 0, sizeof(*out));
	if (n < CLC_HEADER_BYTES)
		return -EPROTO;
	type = ((const uint8_t *)bytes)[4];
	if ((type != CLC_ACCEPT && type != CLC_CONFIRM) ||
	    !clc_read_header(&r, bytes, n, type, &flags))
		return -EPROTO;
	out->type = (uint8_t)type;
	out->version = flags >> CLC_VERSION_SHIFT;
	out->path = flags & CLC_PATH_MASK;
	out->first_contact = flags & FLAG_FIRST_CONTACT;
	if (out->version > 2)
		return -EPROTO;
	if (out->path == CLC_PATH_SMCR)
		read_smcr_body(&r, out);
	else if (out->path != CLC_PATH_SMCD ||
		 (out->version == 1 && n != SMCD_V1_BYTES) ||
		 (out->version == 2 && n < SMCD_V2_BYTES))
		return -EPROTO;
	if (out->version > 1 || out->path == CLC_PATH_SMCD)
		skip_to_trailer(&r);
	return clc_read_trailer(&r) ? 0 : -EPROTO;
}

void clc_nonce_get(const struct clc_accept_confirm *m,
		   uint8_t nonce[CLC_NONCE_BYTES])
{
	struct wire_writer w;

	wire_writer_init(&w, nonce, CLC_NONCE_BYTES);
	wire_write_u32(&w, m->rkey);
	wire_write_u64(&w, m->address);
	wire_write_u32(&w, m->token);
}

void clc_nonce_set(struct clc_accept_confirm *m, uint8_t nonce[CLC_NONCE_BYTES])
{
	struct wire_reader r;

	wire_reader_init(&r, nonce, CLC_NONCE_BYTES);
	m->rkey = wire_read_u32(&r);
	m->address = wire_read_u64(&r);
	m->token = wire_read_u32(&r);
	if (m->token == 0) {
		m->token = 1;
		nonce[CLC_NONCE_BYTES - 1] = 1;
	}
}

/* ---- Decline ---- */

int clc_encode_decline(const struct clc_decline *m, void *out, size_t room)
{
	struct wire_writer w;
	uint8_t flags;

	if (m->version < 1 || m->version > 15 || m->os > 15)
		return -EINVAL;
	flags = (uint8_t)(m->version << CLC_VERSION_SHIFT);
	if (m->out_of_sync)
		flags |= FLAG_OUT_OF_SYNC;
	clc_write_header(&w, out, room, CLC_DECLINE, flags);
	wire_write_bytes(&w, m->peer_id, CLC_PEER_ID_BYTES);
	wire_write_u32(&w, m->reason);
	if (m->version == 1) {
		wire_write_zeros(&w, 4);
	} else {
		wire_write_u8(&w, (uint8_t)(m->os << 4));
		wire_write_zeros(&w, 3);
		for (int i = 0; i < 4; i++)
			wire_write_u32(&w, m->more[i]);
	}
	return clc_write_trailer(&w, out);
}

int clc_decode_decline(struct clc_decline *out, const void *bytes, size_t n)
{
	struct wire_reader r;
	uint8_t flags;

	memset(out, 0, sizeof(*out));
	if (!clc_read_header(&r, bytes, n, CLC_DECLINE, &flags))
		return -EPROTO;
	out->version = flags >> CLC_VERSION_SHIFT;
	out->out_of_sync = flags & FLAG_OUT_OF_SYNC;
	wire_read_bytes(&r, out->peer_id, CLC_PEER_ID_BYTES);
	out->reason = wire_read_u32(&r);
	if (out->version == 1) {
		wire_skip(&r, 4);
	} else {
		out->os = wire_read_u8(&r) >> 4;
		wire_skip(&r, 3);
		for (int i = 0; i < 4; i++)
			out->more[i] = wire_read_u32(&r);
	}
	return clc_read_trailer(&r) ? 0 : -EPROTO;
}

int clc_decode(struct clc_message *out, const void *bytes, size_t n)
{
	out->type = 0;
	if (n < CLC_HEADER_BYTES)
		return -EPROTO;
	out->type = ((const uint8_t *)bytes)[4];
	switch (out->type) {
	case CLC_PROPOSAL:
		return clc_decode_proposal(&out->proposal, bytes, n);
	case CLC_ACCEPT:
	case CLC_CONFIRM:
		return clc_decode_accept_confirm(&out->accept_confirm, bytes,
						 n);
	case CLC_DECLINE:
		return clc_decode_decline(&out->decline, bytes, n);
	default:
		return -EPROTO;
	}
}
