/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_message: the management datagrams of connection management.
 *
 * Pure. Sources: InfiniBand chapter 12 (messages), annex A11 (the IP
 * addresses in the private data of a request).
 */
#ifndef OFED_CORE_CM_MESSAGE_H
#define OFED_CORE_CM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CM_MESSAGE_BYTES 256
#define CM_PRIVATE_MAX   224
#define CM_QKEY          0x80010000u
#define CM_UDP_QKEY      0x01234567u /* of datagram services */

enum cm_kind {
	CM_REQ = 0x10,
	CM_MRA = 0x11,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
	CM_SIDR_REQ = 0x17,
	CM_SIDR_REP = 0x18,
};

enum cm_reason {
	CM_REASON_TIMEOUT = 4,
	CM_REASON_SERVICE_ID = 8,
	CM_REASON_STALE = 10,
	CM_REASON_GID = 12, /* among ours: of another version of RoCE */
	CM_REASON_CONSUMER = 28,
};

enum cm_sidr_status {
	CM_SIDR_OK = 0,
	CM_SIDR_UNSUPPORTED = 1,
	CM_SIDR_REJECTED = 2,
};

struct cm_message {
	enum cm_kind kind;
	uint64_t transaction;
	uint32_t local_id; /* of the sender; request id in SIDR */
	uint32_t remote_id;
	uint64_t service_id;
	uint64_t guid; /* as on the wire */
	uint32_t qkey;
	uint32_t qpn;
	uint32_t psn; /* the first one the sender wants to receive */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_timeout; /* REQ: for the receiver to answer */
	uint8_t local_timeout;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint8_t max_retries;
	uint8_t mtu; /* enum */
	bool has_srq;
	uint8_t service_type; /* REQ: 0 RC, 1 UC */
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t ack_timeout;
	uint8_t ack_delay;       /* REP */
	uint8_t about;           /* REJ, MRA: 0 REQ, 1 REP, 2 other */
	uint8_t service_timeout; /* MRA */
	uint16_t reason;         /* REJ */
	uint8_t status;          /* SIDR_REP */
	size_t private_bytes;    /* encode: given; decode: all there is */
	uint8_t private_data[CM_PRIVATE_MAX];
};

/* Room for private data in a kind of message. */
size_t cm_private_room(enum cm_kind kind);

void cm_encode(const struct cm_message *m, uint8_t out[CM_MESSAGE_BYTES]);
/* -EPROTO when it is not a message of connection management. */
int cm_decode(struct cm_message *m, const uint8_t *bytes, size_t count);

/* The addresses that lead the private data of REQ and SIDR_REQ. */
#define CM_IP_HEADER_BYTES 36
struct cm_ip_header {
	bool is_ip6;
	uint16_t source_port; /* host order */
	uint8_t source[16];   /* IPv4 as ::ffff:a.b.c.d */
	uint8_t dest[16];
};
void cm_ip_encode(const struct cm_ip_header *h, uint8_t *out);
int cm_ip_decode(struct cm_ip_header *h, const uint8_t *in, size_t count);

#endif
