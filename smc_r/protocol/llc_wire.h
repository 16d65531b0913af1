/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * llc_wire: the control messages that the two ends of a link group exchange
 * over their queue pairs, as bytes and as structs (LLC, RFC 7609 appendix
 * A.3; version 2 as Linux and z/OS speak it).
 *
 * Integers are in host order; MAC addresses and GIDs are as on the wire. Only
 * the fields that a message of this type, version and direction has are set.
 * A struct llc_message is large, about 4 KiB.
 *
 * Locking: none; nothing is shared.
 */
#ifndef SMC_R_LLC_WIRE_H
#define SMC_R_LLC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LLC_BYTES     44   /* length of every message of version 1 */
#define LLC_BYTES_MAX 4152 /* an Add Link of version 2 with all its keys */
#define LLC_GIDS_MAX  8
#define LLC_KEYS_MAX  255

enum llc_type {
	LLC_CONFIRM_LINK = 1,
	LLC_ADD_LINK = 2,
	LLC_ADD_LINK_CONT = 3, /* version 1 only */
	LLC_DELETE_LINK = 4,
	LLC_REQUEST_ADD_LINK = 5, /* version 2 only */
	LLC_CONFIRM_RKEY = 6,
	LLC_TEST_LINK = 7,
	LLC_CONFIRM_RKEY_CONT = 8, /* version 1 only */
	LLC_DELETE_RKEY = 9,
};

/* Why an Add Link is rejected. */
enum llc_reject {
	LLC_REJECT_NO_PATH = 1, /* no alternate path */
	LLC_REJECT_MTU = 2,
};

/* Why links are deleted; the last two only in a response. */
enum llc_delete {
	LLC_DELETE_LOST_PATH = 0x00010000,
	LLC_DELETE_OPERATOR = 0x00020000,
	LLC_DELETE_PROGRAM = 0x00030000, /* inactivity */
	LLC_DELETE_VIOLATION = 0x00040000,
	LLC_DELETE_ASYMMETRIC = 0x00050000,
	LLC_DELETE_UNKNOWN_LINK = 0x00100000,
	LLC_DELETE_UNKNOWN_GROUP = 0x00200000,
};

struct llc_confirm_link {
	bool no_eyecatcher; /* there is none in the sender's RMBEs */
	uint8_t mac[6];
	uint8_t gid[16];
	uint32_t qpn;            /* 24 bits */
	uint8_t link;            /* number; the server's choice */
	uint32_t uid;            /* the sender's name for the link */
	uint8_t links_max;       /* per link group */
	uint8_t connections_max; /* per link group; release 1, else 0 */
};

/* How one RMB is named on the link of the message and on the new link. */
struct llc_key_pair {
	uint32_t rkey;
	uint32_t new_rkey;
	uint64_t new_address;
};

struct llc_add_link {
	bool reject;    /* in a response */
	uint8_t reason; /* enum llc_reject, with reject */
	uint8_t mac[6];
	uint8_t gid[16];
	uint32_t qpn; /* 24 bits */
	uint8_t link;
	uint8_t mtu;  /* QP MTU code, 1..5; 0 provokes a reject */
	uint32_t psn; /* initial, 24 bits */

	/* Version 2 only, and not with reject. */
	bool has_keys; /* the rest is set */
	bool direct;
	uint8_t target_gid[16];
	uint8_t pair_count; /* 0 .. LLC_KEYS_MAX */
	struct llc_key_pair pair[LLC_KEYS_MAX];
};

struct llc_add_link_cont {
	uint8_t link;
	uint8_t pairs_left; /* those of this message included */
	struct llc_key_pair pair[2];
};

struct llc_delete_link {
	bool all;     /* the whole link group */
	bool orderly; /* connections were moved or have ended */
	uint8_t link; /* 0 with all */
	uint32_t reason;
};

struct llc_request_add_link {
	bool reject;       /* in a response */
	uint8_t reason;    /* with reject */
	uint8_t gid_count; /* of those kept; a longer list is cut */
	uint8_t gid[LLC_GIDS_MAX][16];
};

/* How an RMB is named on one link. */
struct llc_key {
	uint8_t link;
	uint32_t rkey;
	uint64_t address;
};

struct llc_confirm_rkey {
	bool negative; /* in a response: no room, or something is wrong */
	bool retry;    /* in a response: try again */
	uint32_t rkey; /* on the link of the message */
	uint64_t address;
	uint8_t other_count; /* above 2, the rest comes in continuations */
	struct llc_key other[2];
};

struct llc_confirm_rkey_cont {
	bool negative;
	bool retry;
	uint8_t other_count; /* above 3, the rest comes in continuations */
	struct llc_key other[3];
};

struct llc_test_link {
	uint8_t data[16]; /* comes back in the response */
};

struct llc_delete_rkey {
	bool negative;         /* in a response */
	uint8_t count;         /* keys deleted: version 1 has 1..8 */
	uint8_t error_mask;    /* response, version 1: 0x80 is rkey[0] */
	uint8_t invalid_count; /* response, version 2 */
	/* count of them; in a response of version 2 invalid_count, up to 8. */
	uint32_t rkey[LLC_KEYS_MAX];
};

struct llc_message {
	uint8_t type;    /* enum llc_type; says which member is set */
	uint8_t version; /* 1 or 2 */
	bool response;
	/*
	 * Version 2: length and key count have their low byte first. Linux
	 * sends its own byte order; the peer's order is the one to answer in.
	 */
	bool low_byte_first;
	union {
		struct llc_confirm_link confirm_link;
		struct llc_add_link add_link;
		struct llc_add_link_cont add_link_cont;
		struct llc_delete_link delete_link;
		struct llc_request_add_link request_add_link;
		struct llc_confirm_rkey confirm_rkey;
		struct llc_confirm_rkey_cont confirm_rkey_cont;
		struct llc_test_link test_link;
		struct llc_delete_rkey delete_rkey;
	};
};

/* Length of the message, -ENOSPC, or -EINVAL for what has no form. */
int llc_encode(const struct llc_message *m, void *out, size_t room);

/*
 * n is what arrived. 0; -EPROTO; or -ENOMSG for a type that is not known
 * here, which is to be ignored. After an error *out is undefined.
 */
int llc_decode(struct llc_message *out, const void *bytes, size_t n);

/* "Confirm Link" and so on, or "unknown". */
const char *llc_type_name(int type);

#endif
