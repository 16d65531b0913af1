/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_message: the management datagrams of connection management.
 */
#include "ofed_core/pure/cm_message.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/pure/bytes.h"

#define MAD_BYTES      24
#define MAD_VERSION    1
#define CM_CLASS       7
#define CM_VERSION     2
#define METHOD_SEND    3
#define LID_PERMISSIVE 0xffffffffu
#define PKEY           0xffff

struct layout {
	size_t private_at; /* after the MAD header */
	size_t private_bytes;
};

static const struct layout layouts[] = {
    [CM_REQ - CM_REQ] = {140, 92},      [CM_MRA - CM_REQ] = {10, 222},
    [CM_REJ - CM_REQ] = {84, 148},      [CM_REP - CM_REQ] = {36, 196},
    [CM_RTU - CM_REQ] = {8, 224},       [CM_DREQ - CM_REQ] = {12, 220},
    [CM_DREP - CM_REQ] = {8, 224},      [CM_SIDR_REQ - CM_REQ] = {16, 216},
    [CM_SIDR_REP - CM_REQ] = {96, 136},
};

size_t cm_private_room(enum cm_kind kind)
{
	return layouts[kind - CM_REQ].private_bytes;
}

static void encode_req(const struct cm_message *m, uint8_t *b)
{
	put_be32(b, m->local_id);
	put_be64(b + 8, m->service_id);
	put_be64(b + 16, m->guid);
	put_be32(b + 28, m->qkey);
	put_be24(b + 32, m->qpn);
	b[35] = m->responder_resources;
	b[39] = m->initiator_depth;
	b[43] = (uint8_t)(m->remote_timeout << 3 | (m->service_type & 3) << 1);
	put_be24(b + 44, m->psn);
	b[47] = (uint8_t)(m->local_timeout << 3 | (m->retry_count & 7));
	put_be16(b + 48, PKEY);
	b[50] = (uint8_t)(m->mtu << 4 | (m->rnr_retry & 7));
	b[51] = (uint8_t)(m->max_retries << 4 | (m->has_srq ? 8 : 0));
	put_be32(b + 52, LID_PERMISSIVE);
	memcpy(b + 56, m->local_gid, 16);
	memcpy(b + 72, m->remote_gid, 16);
	put_be32(b + 88, m->flow_label << 12);
	b[92] = m->traffic_class;
	b[93] = m->hop_limit;
	b[94] = (uint8_t)(m->sl << 4);
	b[95] = (uint8_t)(m->ack_timeout << 3);
}

static void decode_req(struct cm_message *m, const uint8_t *b)
{
	m->local_id = get_be32(b);
	m->service_id = get_be64(b + 8);
	m->guid = get_be64(b + 16);
	m->qkey = get_be32(b + 28);
	m->qpn = get_be24(b + 32);
	m->responder_resources = b[35];
	m->initiator_depth = b[39];
	m->remote_timeout = b[43] >> 3;
	m->service_type = b[43] >> 1 & 3;
	m->psn = get_be24(b + 44);
	m->local_timeout = b[47] >> 3;
	m->retry_count = b[47] & 7;
	m->mtu = b[50] >> 4;
	m->rnr_retry = b[50] & 7;
	m->max_retries = b[51] >> 4;
	m->has_srq = b[51] & 8;
	memcpy(m->local_gid, b + 56, 16);
	memcpy(m->remote_gid, b + 72, 16);
	m->flow_label = get_be32(b + 88) >> 12;
	m->traffic_class = b[92];
	m->hop_limit = b[93];
	m->sl = b[94] >> 4;
	m->ack_timeout = b[95] >> 3;
}

static void encode_rep(const struct cm_message *m, uint8_t *b)
{
	put_be32(b + 8, m->qkey);
	put_be24(b + 12, m->qpn);
	put_be24(b + 20, m->psn);
	b[24] = m->responder_resources;
	b[25] = m->initiator_depth;
	b[26] = (uint8_t)(m->ack_delay << 3);
	b[27] = (uint8_t)(m->rnr_retry << 5 | (m->has_srq ? 0x10 : 0));
	put_be64(b + 28, m->guid);
}

static void decode_rep(struct cm_message *m, const uint8_t *b)
{
	m->qkey = get_be32(b + 8);
	m->qpn = get_be24(b + 12);
	m->psn = get_be24(b + 20);
	m->responder_resources = b[24];
	m->initiator_depth = b[25];
	m->ack_delay = b[26] >> 3;
	m->rnr_retry = b[27] >> 5;
	m->has_srq = b[27] & 0x10;
	m->guid = get_be64(b + 28);
}

static void encode_sidr_rep(const struct cm_message *m, uint8_t *b)
{
	put_be32(b, m->local_id);
	b[4] = m->status;
	put_be24(b + 8, m->qpn);
	put_be64(b + 12, m->service_id);
	put_be32(b + 20, m->qkey);
}

static void encode_body(const struct cm_message *m, uint8_t *b)
{
	switch (m->kind) {
	case CM_REQ:
		encode_req(m, b);
		return;
	case CM_SIDR_REQ:
		put_be32(b, m->local_id);
		put_be16(b + 4, PKEY);
		put_be64(b + 8, m->service_id);
		return;
	case CM_SIDR_REP:
		encode_sidr_rep(m, b);
		return;
	case CM_MRA:
		b[8] = (uint8_t)(m->about << 6);
		b[9] = (uint8_t)(m->service_timeout << 3);
		break;
	case CM_REJ:
		b[8] = (uint8_t)(m->about << 6);
		put_be16(b + 10, m->reason);
		break;
	case CM_REP:
		encode_rep(m, b);
		break;
	case CM_DREQ:
		put_be24(b + 8, m->qpn);
		break;
	case CM_RTU:
	case CM_DREP:
		break;
	}
	put_be32(b, m->local_id);
	put_be32(b + 4, m->remote_id);
}

void cm_encode(const struct cm_message *m, uint8_t out[CM_MESSAGE_BYTES])
{
	const struct layout *l = &layouts[m->kind - CM_REQ];
	uint8_t *b = out + MAD_BYTES;
	size_t n = m->private_bytes;

	memset(out, 0, CM_MESSAGE_BYTES);
	out[0] = MAD_VERSION;
	out[1] = CM_CLASS;
	out[2] = CM_VERSION;
	out[3] = METHOD_SEND;
	put_be64(out + 8, m->transaction);
	put_be16(out + 16, (uint16_t)m->kind);
	encode_body(m, b);
	if (n > l->private_bytes)
		n = l->private_bytes;
	memcpy(b + l->private_at, m->private_data, n);
}

static void decode_body(struct cm_message *m, const uint8_t *b)
{
	switch (m->kind) {
	case CM_REQ:
		decode_req(m, b);
		return;
	case CM_SIDR_REQ:
		m->local_id = get_be32(b);
		m->service_id = get_be64(b + 8);
		return;
	case CM_SIDR_REP:
		m->local_id = get_be32(b);
		m->status = b[4];
		m->qpn = get_be24(b + 8);
		m->service_id = get_be64(b + 12);
		m->qkey = get_be32(b + 20);
		return;
	case CM_MRA:
		m->about = b[8] >> 6;
		m->service_timeout = b[9] >> 3;
		break;
	case CM_REJ:
		m->about = b[8] >> 6;
		m->reason = get_be16(b + 10);
		break;
	case CM_REP:
		decode_rep(m, b);
		break;
	case CM_DREQ:
		m->qpn = get_be24(b + 8);
		break;
	case CM_RTU:
	case CM_DREP:
		break;
	}
	m->local_id = get_be32(b);
	m->remote_id = get_be32(b + 4);
}

int cm_decode(struct cm_message *m, const uint8_t *bytes, size_t count)
{
	const uint8_t *b = bytes + MAD_BYTES;
	const struct layout *l;
	uint16_t attribute;

	if (count < CM_MESSAGE_BYTES || bytes[0] != MAD_VERSION ||
	    bytes[1] != CM_CLASS || bytes[2] != CM_VERSION ||
	    bytes[3] != METHOD_SEND)
		return -EPROTO;
	attribute = get_be16(bytes + 16);
	if (attribute < CM_REQ || attribute > CM_SIDR_REP)
		return -EPROTO;
	*m = (struct cm_message){.kind = (enum cm_kind)attribute,
				 .transaction = get_be64(bytes + 8)};
	decode_body(m, b);
	l = &layouts[attribute - CM_REQ];
	m->private_bytes = l->private_bytes;
	memcpy(m->private_data, b + l->private_at, l->private_bytes);
	return 0;
}

void cm_ip_encode(const struct cm_ip_header *h, uint8_t *out)
{
	memset(out, 0, CM_IP_HEADER_BYTES);
	out[1] = h->is_ip6 ? 0x60 : 0x40;
	put_be16(out + 2, h->source_port);
	if (h->is_ip6) {
		memcpy(out + 4, h->source, 16);
		memcpy(out + 20, h->dest, 16);
	} else {
		memcpy(out + 16, h->source + 12, 4);
		memcpy(out + 32, h->dest + 12, 4);
	}
}

static void mapped(uint8_t out[16], const uint8_t *ip4)
{
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	memcpy(out + 12, ip4, 4);
}

int cm_ip_decode(struct cm_ip_header *h, const uint8_t *in, size_t count)
{
	if (count < CM_IP_HEADER_BYTES || in[0] ||
	    ((in[1] & 0xf0) != 0x40 && (in[1] & 0xf0) != 0x60))
		return -EPROTO;
	h->is_ip6 = (in[1] & 0xf0) == 0x60;
	h->source_port = get_be16(in + 2);
	if (h->is_ip6) {
		memcpy(h->source, in + 4, 16);
		memcpy(h->dest, in + 20, 16);
	} else {
		mapped(h->source, in + 16);
		mapped(h->dest, in + 32);
	}
	return 0;
}
