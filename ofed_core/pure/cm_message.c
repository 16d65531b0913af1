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

/* Where a value of the messages stands on the wire. */
struct field {
	uint16_t kinds; /* bits: the messages that have it there */
	uint16_t at;    /* first bit, after the MAD header */
	uint8_t bits;
	uint8_t size; /* of the member, bytes */
	size_t member;
};

#define IN(kind) (1u << ((kind)-CM_REQ))
#define REQ      IN(CM_REQ)
#define REP      IN(CM_REP)
#define REJ      IN(CM_REJ)
#define MRA      IN(CM_MRA)
#define DREQ     IN(CM_DREQ)
#define SIDR_REQ IN(CM_SIDR_REQ)
#define SIDR_REP IN(CM_SIDR_REP)
#define ALL      (2 * SIDR_REP - 1)
#define FIELD(name)                                                            \
	sizeof(((struct cm_message *)0)->name),                                \
	    offsetof(struct cm_message, name)

static const struct field fields[] = {
    {ALL, 0, 32, FIELD(local_id)},
    {ALL & ~(REQ | SIDR_REQ | SIDR_REP), 32, 32, FIELD(remote_id)},
    {REQ | SIDR_REQ, 64, 64, FIELD(service_id)},
    {REQ, 128, 64, FIELD(guid)},
    {REQ, 224, 32, FIELD(qkey)},
    {REQ, 256, 24, FIELD(qpn)},
    {REQ, 280, 8, FIELD(responder_resources)},
    {REQ, 312, 8, FIELD(initiator_depth)},
    {REQ, 344, 5, FIELD(remote_timeout)},
    {REQ, 349, 2, FIELD(service_type)},
    {REQ, 352, 24, FIELD(psn)},
    {REQ, 376, 5, FIELD(local_timeout)},
    {REQ, 381, 3, FIELD(retry_count)},
    {REQ, 400, 4, FIELD(mtu)},
    {REQ, 405, 3, FIELD(rnr_retry)},
    {REQ, 408, 4, FIELD(max_retries)},
    {REQ, 412, 1, FIELD(has_srq)},
    {REQ, 704, 20, FIELD(flow_label)},
    {REQ, 736, 8, FIELD(traffic_class)},
    {REQ, 744, 8, FIELD(hop_limit)},
    {REQ, 752, 4, FIELD(sl)},
    {REQ, 760, 5, FIELD(ack_timeout)},
    {REP, 64, 32, FIELD(qkey)},
    {REP, 96, 24, FIELD(qpn)},
    {REP, 160, 24, FIELD(psn)},
    {REP, 192, 8, FIELD(responder_resources)},
    {REP, 200, 8, FIELD(initiator_depth)},
    {REP, 208, 5, FIELD(ack_delay)},
    {REP, 216, 3, FIELD(rnr_retry)},
    {REP, 219, 1, FIELD(has_srq)},
    {REP, 224, 64, FIELD(guid)},
    {MRA | REJ, 64, 2, FIELD(about)},
    {MRA, 72, 5, FIELD(service_timeout)},
    {REJ, 80, 16, FIELD(reason)},
    {DREQ, 64, 24, FIELD(qpn)},
    {SIDR_REP, 32, 8, FIELD(status)},
    {SIDR_REP, 64, 24, FIELD(qpn)},
    {SIDR_REP, 96, 64, FIELD(service_id)},
    {SIDR_REP, 160, 32, FIELD(qkey)},
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint64_t load(const struct field *f, const struct cm_message *m)
{
	const void *p = (const char *)m + f->member;

	switch (f->size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static void store(const struct field *f, struct cm_message *m, uint64_t value)
{
	void *p = (char *)m + f->member;

	switch (f->size) {
	case 1:
		*(uint8_t *)p = (uint8_t)value;
		return;
	case 2:
		*(uint16_t *)p = (uint16_t)value;
		return;
	case 4:
		*(uint32_t *)p = (uint32_t)value;
		return;
	default:
		*(uint64_t *)p = value;
	}
}

static void encode_body(const struct cm_message *m, uint8_t *b)
{
	for (const struct field *f = fields; f < fields + FIELDS; f++) {
		uint64_t value = load(f, m);

		for (unsigned i = f->at + f->bits; i-- > f->at; value >>= 1)
			if ((f->kinds & IN(m->kind)) && (value & 1))
				b[i / 8] |= (uint8_t)(0x80 >> i % 8);
	}
	if (m->kind == CM_SIDR_REQ)
		put_be16(b + 4, PKEY);
	if (m->kind != CM_REQ)
		return;
	put_be16(b + 48, PKEY);
	put_be32(b + 52, LID_PERMISSIVE);
	memcpy(b + 56, m->local_gid, 16);
	memcpy(b + 72, m->remote_gid, 16);
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
	for (const struct field *f = fields; f < fields + FIELDS; f++) {
		uint64_t value = 0;

		if (!(f->kinds & IN(m->kind)))
			continue;
		for (unsigned i = f->at; i < f->at + f->bits; i++)
			value = value << 1 | (b[i / 8] >> (7 - i % 8) & 1);
		store(f, m, value);
	}
	if (m->kind != CM_REQ)
		return;
	memcpy(m->local_gid, b + 56, 16);
	memcpy(m->remote_gid, b + 72, 16);
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
