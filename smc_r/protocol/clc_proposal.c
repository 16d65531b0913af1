/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_proposal: the first message of the handshake, as bytes and as a struct.
 */
#include "smc_r/protocol/clc_frame.h"
#include "smc_r/protocol/clc_wire.h"

#include <errno.h>
#include <string.h>

#define PATH_V2_SHIFT        2
#define BASE_BYTES           40
#define ANCHOR_BYTES         40 /* SMC-D GID, CHID, offset of version 2 */
#define AREA_BYTES           8  /* IP area without IPv6 prefixes */
#define AREA_PREFIX_BYTES    17
#define V2_BASE              52 /* where the offset of version 2 counts from */
#define V2_BYTES             40 /* version 2 extension without EIDs */
#define V2_SMCD_BASE         8  /* where SMC-D's offset counts from */
#define V2_SMCD_BYTES        48 /* its SMC-D part without devices */
#define V2_SMCD_DEVICE_BYTES 10
#define V2_SMCD_DEVICES_MAX  8

static bool path_has_smcd(uint8_t path)
{
	return path == CLC_PATH_SMCD || path == CLC_PATH_BOTH;
}

static size_t area_bytes(const struct clc_proposal *m)
{
	if (m->path_v1 == CLC_PATH_NONE)
		return 0;
	return AREA_BYTES + (size_t)AREA_PREFIX_BYTES * m->prefix_count;
}

static void write_area(struct wire_writer *w, const struct clc_proposal *m)
{
	wire_write_u32(w, m->subnet);
	wire_write_u8(w, m->subnet_bits);
	wire_write_zeros(w, 2);
	wire_write_u8(w, m->prefix_count);
	for (int i = 0; i < m->prefix_count; i++) {
		wire_write_bytes(w, m->prefix[i].address, 16);
		wire_write_u8(w, m->prefix[i].bits);
	}
}

static void write_v2(struct wire_writer *w, const struct clc_proposal *m)
{
	wire_write_u8(w, m->eid_count);
	wire_write_u8(w, 0);
	wire_write_u8(w, 0);
	wire_write_u8(w, (uint8_t)(m->release << 4));
	wire_write_zeros(w, 4);
	wire_write_bytes(w, m->gid_v2, CLC_GID_BYTES);
	wire_write_u8(w, m->connections_max);
	wire_write_u8(w, m->links_max);
	wire_write_u16(w, m->features);
	wire_write_zeros(w, 12);
	for (int i = 0; i < m->eid_count; i++)
		wire_write_bytes(w, m->eid[i], CLC_EID_BYTES);
}

static bool proposal_has_form(const struct clc_proposal *m)
{
	if (m->version < 1 || m->version > 15 || m->path_v1 > CLC_PATH_MASK ||
	    m->path_v2 > CLC_PATH_MASK || m->subnet_bits > 32 ||
	    m->prefix_count > CLC_PREFIXES_MAX || m->release > 15)
		return false;
	if (path_has_smcd(m->path_v1) || path_has_smcd(m->path_v2))
		return false;
	if (m->version == 1)
		return m->path_v1 != CLC_PATH_NONE &&
		       m->path_v2 == CLC_PATH_NONE;
	return m->eid_count <= CLC_EIDS_MAX;
}

int clc_encode_proposal(const struct clc_proposal *m, void *out, size_t room)
{
	bool long_form = m->version > 1;
	bool has_area = m->path_v1 != CLC_PATH_NONE;
	bool has_v2 = m->path_v2 != CLC_PATH_NONE;
	struct wire_writer w;
	uint8_t flags;

	if (!proposal_has_form(m))
		return -EINVAL;
	flags = (uint8_t)(m->version << CLC_VERSION_SHIFT | m->path_v1);
	/* These bits are reserved in version 1. */
	if (long_form)
		flags |= (uint8_t)(m->path_v2 << PATH_V2_SHIFT);

	clc_write_header(&w, out, room, CLC_PROPOSAL, flags);
	wire_write_bytes(&w, m->peer_id, CLC_PEER_ID_BYTES);
	wire_write_bytes(&w, m->gid, CLC_GID_BYTES);
	wire_write_bytes(&w, m->mac, CLC_MAC_BYTES);
	wire_write_u16(&w, long_form && has_area ? ANCHOR_BYTES : 0);
	if (long_form) {
		size_t offset =
		    ANCHOR_BYTES - (V2_BASE - BASE_BYTES) + area_bytes(m);

		wire_write_zeros(&w, 10);
		wire_write_u16(&w, has_v2 ? (uint16_t)offset : 0);
		wire_write_zeros(&w, 28);
	}
	if (has_area)
		write_area(&w, m);
	if (has_v2)
		write_v2(&w, m);
	return clc_write_trailer(&w, out);
}

static bool read_area(struct wire_reader *r, struct clc_proposal *out)
{
	out->subnet = wire_read_u32(r);
	out->subnet_bits = wire_read_u8(r);
	wire_skip(r, 2);
	out->prefix_count = wire_read_u8(r);
	if (out->subnet_bits > 32 || out->prefix_count > CLC_PREFIXES_MAX)
		return false;
	for (int i = 0; i < out->prefix_count; i++) {
		wire_read_bytes(r, out->prefix[i].address, 16);
		out->prefix[i].bits = wire_read_u8(r);
		if (out->prefix[i].bits > 128)
			return false;
	}
	return true;
}

/* SMC-D's part is stepped over: its place and its length must be right. */
static bool read_v2(struct wire_reader *r, struct clc_proposal *out)
{
	uint8_t devices;
	uint16_t offset;

	out->eid_count = wire_read_u8(r);
	devices = wire_read_u8(r);
	wire_skip(r, 1);
	out->release = wire_read_u8(r) >> 4;
	wire_skip(r, 2);
	offset = wire_read_u16(r);
	wire_read_bytes(r, out->gid_v2, CLC_GID_BYTES);
	out->connections_max = wire_read_u8(r);
	out->links_max = wire_read_u8(r);
	out->features = wire_read_u16(r);
	wire_skip(r, 12);
	if (out->eid_count > CLC_EIDS_MAX || devices > V2_SMCD_DEVICES_MAX)
		return false;
	for (int i = 0; i < out->eid_count; i++)
		wire_read_bytes(r, out->eid[i], CLC_EID_BYTES);
	if (!path_has_smcd(out->path_v2))
		return true;
	wire_skip(r, V2_SMCD_BYTES + (size_t)V2_SMCD_DEVICE_BYTES * devices);
	return offset ==
	       V2_BYTES - V2_SMCD_BASE + CLC_EID_BYTES * (size_t)out->eid_count;
}

/* What follows the base in version 2 and above. */
static bool read_long_form(struct wire_reader *r, struct clc_proposal *out,
			   uint16_t area_offset)
{
	size_t expected;
	uint16_t offset;

	wire_skip(r, 10);
	offset = wire_read_u16(r);
	wire_skip(r, 28);
	if (out->path_v1 != CLC_PATH_NONE &&
	    (area_offset != ANCHOR_BYTES || !read_area(r, out)))
		return false;
	if (out->path_v2 == CLC_PATH_NONE)
		return true;
	expected = ANCHOR_BYTES - (V2_BASE - BASE_BYTES) + area_bytes(out);
	return offset == expected && read_v2(r, out);
}

/* What follows the base in version 1. */
static bool read_short_form(struct wire_reader *r, struct clc_proposal *out,
			    uint16_t area_offset)
{
	if (out->path_v1 == CLC_PATH_NONE || area_offset > ANCHOR_BYTES ||
	    (path_has_smcd(out->path_v1) && area_offset != ANCHOR_BYTES))
		return false;
	wire_skip(r, area_offset);
	return read_area(r, out);
}

int clc_decode_proposal(struct clc_proposal *out, const void *bytes, size_t n)
{
	uint16_t area_offset;
	struct wire_reader r;
	uint8_t flags;
	bool good;

	memset(out, 0, sizeof(*out));
	if (!clc_read_header(&r, bytes, n, CLC_PROPOSAL, &flags))
		return -EPROTO;
	out->version = flags >> CLC_VERSION_SHIFT;
	out->path_v1 = flags & CLC_PATH_MASK;
	out->path_v2 = CLC_PATH_NONE;
	if (out->version > 1)
		out->path_v2 = flags >> PATH_V2_SHIFT & CLC_PATH_MASK;
	wire_read_bytes(&r, out->peer_id, CLC_PEER_ID_BYTES);
	wire_read_bytes(&r, out->gid, CLC_GID_BYTES);
	wire_read_bytes(&r, out->mac, CLC_MAC_BYTES);
	area_offset = wire_read_u16(&r);
	if (out->version > 1)
		good = read_long_form(&r, out, area_offset);
	else
		good = read_short_form(&r, out, area_offset);
	return good && clc_read_trailer(&r) ? 0 : -EPROTO;
}
