/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_wire: the messages of the handshake inside the TCP stream, as bytes
 * and as structs (CLC, RFC 7609 appendix A.2; version 2 as Linux speaks it).
 *
 * All integers in the structs are in host order. Peer IDs, GIDs and MAC
 * addresses are kept as they are on the wire. EIDs and host names are ASCII,
 * padded with blanks to their full length and not ended by a zero byte.
 *
 * Encoders return the length of the message, -ENOSPC when there is no room
 * for it, or -EINVAL for a struct that has no form on the wire. Decoders take
 * exactly one message, as long as clc_peek_length() said, and return 0 or
 * -EPROTO; after -EPROTO the struct is undefined. They judge the form only:
 * whether a value makes sense is for the caller to say, which can still
 * decline.
 *
 * Locking: none; nothing is shared.
 */
#ifndef SMC_R_CLC_WIRE_H
#define SMC_R_CLC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clc_type {
	CLC_PROPOSAL = 1,
	CLC_ACCEPT = 2,
	CLC_CONFIRM = 3,
	CLC_DECLINE = 4,
};

/* Which kind of SMC a message offers or has chosen; two bits on the wire. */
enum clc_path {
	CLC_PATH_SMCR = 0,
	CLC_PATH_SMCD = 1,
	CLC_PATH_NONE = 2,
	CLC_PATH_BOTH = 3,
};

enum clc_os {
	CLC_OS_ZOS = 1,
	CLC_OS_LINUX = 2,
	CLC_OS_AIX = 3,
	CLC_OS_UNKNOWN = 15,
};

#define CLC_HEADER_BYTES   8
#define CLC_BYTES_MAX      652 /* the longest message there is, a Proposal */
#define CLC_PEER_ID_BYTES  8
#define CLC_GID_BYTES      16
#define CLC_MAC_BYTES      6
#define CLC_EID_BYTES      32
#define CLC_HOST_BYTES     32
#define CLC_NONCE_BYTES    16
#define CLC_PREFIXES_MAX   8
#define CLC_EIDS_MAX       8
#define CLC_GIDS_MAX       8
#define CLC_RMBE_BYTES_MIN 16384 /* RMBE size of code 0; each code doubles */

/* An IPv6 prefix of the client's interface. */
struct clc_prefix {
	uint8_t address[16]; /* host bits are zero */
	uint8_t bits;
};

struct clc_proposal {
	uint8_t version; /* 1, or 2 and above for the long form */
	uint8_t path_v1; /* enum clc_path */
	uint8_t path_v2; /* enum clc_path; CLC_PATH_NONE in version 1 */
	uint8_t peer_id[CLC_PEER_ID_BYTES];
	uint8_t gid[CLC_GID_BYTES]; /* of RoCE v1 */
	uint8_t mac[CLC_MAC_BYTES];

	/* Only with path_v1 other than none. */
	uint32_t subnet;     /* IPv4; 0 on an IPv6 connection */
	uint8_t subnet_bits; /* 0..32 */
	uint8_t prefix_count;
	struct clc_prefix prefix[CLC_PREFIXES_MAX];

	/* Only with path_v2 other than none. */
	uint8_t release; /* 0 or 1 */
	uint8_t gid_v2[CLC_GID_BYTES];
	uint8_t connections_max; /* release 1: wanted limit per link group */
	uint8_t links_max;       /* release 1: wanted limit per link group */
	uint16_t features;
	uint8_t eid_count;
	char eid[CLC_EIDS_MAX][CLC_EID_BYTES];
};

/* Accept and Confirm have one form; each side describes its own end. */
struct clc_accept_confirm {
	uint8_t type;       /* CLC_ACCEPT or CLC_CONFIRM */
	uint8_t version;    /* 1 or 2 */
	uint8_t path;       /* CLC_PATH_SMCR; else nothing below is set */
	bool first_contact; /* the link group is new */
	uint8_t peer_id[CLC_PEER_ID_BYTES];
	uint8_t gid[CLC_GID_BYTES];
	uint8_t mac[CLC_MAC_BYTES];
	uint32_t qpn;      /* 24 bits */
	uint32_t rkey;     /* of the RMB */
	uint8_t index;     /* of the RMBE within the RMB, from 1 */
	uint32_t token;    /* alert token, not zero */
	uint8_t size_code; /* 0..15: RMBE of 16384 << size_code bytes */
	uint8_t mtu;       /* QP MTU, 1..5: 128 << mtu bytes */
	uint64_t address;  /* of the RMB, as the peer must name it */
	uint32_t psn;      /* initial, 24 bits */

	/* Only in version 2. */
	char eid[CLC_EID_BYTES];

	/* Only in version 2 with first_contact. */
	bool direct;     /* sender sees the peer in its own subnet */
	uint8_t os;      /* enum clc_os */
	uint8_t release; /* 0..15 */
	char host[CLC_HOST_BYTES];
	uint8_t connections_max; /* release 1 */
	uint8_t links_max;       /* release 1 */
	uint16_t features;

	/* Only in a Confirm of version 2 with first_contact. */
	uint8_t gid_count; /* of those kept; a longer list is cut */
	uint8_t gids[CLC_GIDS_MAX][CLC_GID_BYTES];
};

struct clc_decline {
	uint8_t version;  /* 1, or 2 and above for the long form */
	bool out_of_sync; /* the link group is to be given up */
	uint8_t peer_id[CLC_PEER_ID_BYTES];
	uint32_t reason;  /* enum smc_reason, or a code of the peer's own */
	uint8_t os;       /* version 2: enum clc_os */
	uint32_t more[4]; /* version 2: further codes */
};

struct clc_message {
	uint8_t type; /* enum clc_type; says which member is set */
	union {
		struct clc_proposal proposal;
		struct clc_accept_confirm accept_confirm;
		struct clc_decline decline;
	};
};

/*
 * Length of the message that begins with these n bytes, CLC_HEADER_BYTES ..
 * CLC_BYTES_MAX, so that a reader takes no byte of what follows it.
 * -EAGAIN: more bytes are needed to tell (never with CLC_HEADER_BYTES).
 * -EPROTO: this is no CLC message; said as soon as one byte does not fit.
 */
int clc_peek_length(const uint8_t *bytes, size_t n);

/* Decodes a message of any type. */
int clc_decode(struct clc_message *out, const void *bytes, size_t n);

/* "Proposal", "Accept", "Confirm", "Decline" or "unknown". */
const char *clc_type_name(int type);

/*
 * Version 1 makes 52 bytes, and 17 more for each IPv6 prefix. Version 2 is
 * for SMC-R only; a path with SMC-D gives -EINVAL.
 */
int clc_encode_proposal(const struct clc_proposal *m, void *out, size_t room);
/* Demands the exact length that the counts inside lead to. */
int clc_decode_proposal(struct clc_proposal *out, const void *bytes, size_t n);

/* SMC-R only; another path gives -EINVAL. */
int clc_encode_accept_confirm(const struct clc_accept_confirm *m, void *out,
			      size_t room);
/* A longer message of version 2 is taken too; what is beyond is skipped. */
int clc_decode_accept_confirm(struct clc_accept_confirm *out, const void *bytes,
			      size_t n);

int clc_encode_decline(const struct clc_decline *m, void *out, size_t room);
int clc_decode_decline(struct clc_decline *out, const void *bytes, size_t n);

/*
 * On a same-host link there is no RMB to name. The fields rkey, address and
 * token together carry a nonce by which the two ends find each other. The
 * token must not be zero: if the last four bytes of the nonce are, set() makes
 * its last byte 1.
 */
void clc_nonce_get(const struct clc_accept_confirm *m,
		   uint8_t nonce[CLC_NONCE_BYTES]);
void clc_nonce_set(struct clc_accept_confirm *m,
		   uint8_t nonce[CLC_NONCE_BYTES]);

#endif
