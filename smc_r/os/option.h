/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * option: what the BPF program, the library and the commands agree on about
 * the TCP option that announces SMC.
 *
 * The option (RFC 7609 appendix A, RFC 6994): kind 254, length 6, "SMCR" in
 * EBCDIC. It stands in the SYN of a client that speaks SMC, and in the SYN-ACK
 * of a server that does when the SYN had it.
 *
 * User space speaks to the BPF program by socket options of a level that no
 * kernel knows. The option's number is the instance: a hash of the path of the
 * run directory, so that several devices live on one host without seeing each
 * other.
 *   setsockopt(fd, OPTION_LEVEL, instance, int): 1 marks, 0 unmarks; 3 marks a
 * listener that has TCP_DEFER_ACCEPT. 5 leaves a marked listener as it is, and
 * no SYN-ACK from where it listens has the option for a second.
 *   setsockopt(fd, OPTION_LEVEL, instance, struct option_visit): marks a
 * client, unless no marked listener of this host has that port: then ENOENT;
 * or what listens at that place offers no SMC at the time: then EBUSY.
 *   setsockopt(fd, OPTION_LEVEL, instance, struct option_knocking): the same,
 * and the knock goes to the other end of the connection that follows.
 *   getsockopt(fd, OPTION_LEVEL, instance, int): OPTION_ANSWER | OFFER_*.
 *   getsockopt(fd, OPTION_LEVEL, instance, struct option_answer): the same,
 * the socket's own name, and what its client knocked with. The short form ends
 * before the knock.
 *   getsockopt(fd, OPTION_LEVEL, instance, struct option_account): the account
 * of the user who asks, on a socket of any kind.
 *   setsockopt(fd, OPTION_LEVEL, instance, struct option_moved): what a
 * connection carried, of a server's socket before its end.
 *   setsockopt(fd, OPTION_LEVEL, instance, struct option_account_name) and
 * (..., struct option_account_bytes): change it, likewise.
 *
 * The BPF program is compiled from this header too, so it uses nothing but
 * linux/types.h.
 */
#ifndef SMC_R_OPTION_H
#define SMC_R_OPTION_H

#include <linux/types.h>

#include "smc_r/protocol/worth.h"

#define OPTION_LEVEL       0x534d4358 /* "SMCX" */
#define OPTION_ANSWER      0x534d0000 /* upper half of each answer */
#define OPTION_ANSWER_MASK 0xffff0000

/* What offer_state() tells of a socket. */
#define OFFER_WANT     1 /* marked, or accepted and agreed */
#define OFFER_SENT     2 /* our SYN or SYN-ACK carried the option */
#define OFFER_AGREED   4 /* and so did the peer's */
#define OFFER_MET      8 /* then: the server has asked, so it had accepted */
/* Client: the listener on this host at the server's port has TCP_DEFER_ACCEPT,
 * as far as it is marked. */
#define OFFER_DEFERS   16
/* Nothing was agreed, and the place of the server offers no SMC these days. */
#define OFFER_UNWORTHY 32

/* What marks a socket. */
#define OPTION_MARK   1
#define OPTION_DEFERS 2 /* besides: TCP_DEFER_ACCEPT */
#define OPTION_PAUSES 4 /* besides: has too many clients that are silent */

/* A client that is about to connect to an address of this host. */
struct option_visit {
	__s32 mark; /* 1 */
	__u32 port; /* of the server, host order */
	/* Its address, as in struct option_answer. */
	__u32 address[4];
	__u32 pad[2];
};

/* TCP does not count these. */
struct option_moved {
	__u64 bytes; /* of both directions */
	__u64 requests;
};

/* What the BPF program carries from a client to its acceptor, and does not look
 * into: knock.h. One element for each process that may accept it. */
#define OPTION_KNOCKS_MAX 8

struct option_knocked {
	__u32 rmb; /* number within the link group; 0: no more of them */
	__u32 element;
};

struct option_knock {
	__u64 token;     /* 0: none */
	__u32 client[2]; /* peer ID */
	struct option_knocked at[OPTION_KNOCKS_MAX];
};

struct option_knocking {
	struct option_visit visit;
	struct option_knock knock;
};

struct option_answer {
	__u32 state; /* OPTION_ANSWER | OFFER_* */
	__u16 port;  /* local, host order; 0: has none any more */
	__u16 left;  /* A server's socket: OPTION_LEFT_*; 0: not known */
	/* in6_addr as it stands in memory; IPv4 as ::ffff:a.b.c.d */
	__u32 address[4];
	struct option_knock knock; /* of a server's socket */
};

#define OPTION_ANSWER_SHORT 24

/*
 * What a server is told of a place that is left to TCP: for so many
 * milliseconds, from before the question on, none of the sockets that its
 * listener gives has agreed. ONE: the place has the socket's address; it says
 * nothing of what a listener at all addresses gives. A place comes back so much
 * later.
 */
#define OPTION_LEFT_MS  20u
#define OPTION_LEFT_FOR (OPTION_LEFT_MS - 1)
#define OPTION_LEFT_ONE 0x8000u

/*
 * What a user has in the run directory. The BPF program keeps one account for
 * each user who asked for it, under the number that the kernel has for the user
 * outside all user namespaces; nobody can ask for another one's.
 */
struct option_account {
	__u32 answer;    /* OPTION_ANSWER */
	__u32 directory; /* number of the user's directory, 0: none yet */
	__u64 bytes;     /* of RMB memory that the user's processes hold */
	__u64 used;      /* that all users hold */
	__u32 share;     /* one user may have this part of max_memory: 1 or 2 */
	__u32 pad;
};

/* Names the user's directory: -EEXIST unless `before` is what the account says;
 * -ENOSPC: there are too many accounts. */
struct option_account_name {
	__u32 before; /* 0: there was none */
	__u32 after;
	__u32 pad;
};

/*
 * The user's processes hold so many bytes from now on. More than before:
 * -ENOMEM where the limit, or max_memory if that is less, would be passed, by
 * all users or, in a part of it, by this one. -ESTALE: the account has another
 * directory.
 */
struct option_account_bytes {
	__u64 bytes;
	__u64 limit;
	__u32 directory;
	__u32 pad;
};

/* What is kept of it, in the map "accounts". */
struct option_account_kept {
	__u64 bytes;
	__u32 directory;
	__u32 pad;
};

#define OPTION_DIRECTORY_BITS 24
#define OPTION_ACCOUNTS_MAX   65536

/* Where a marked socket listens, the key of the map "listeners"; address as in
 * struct option_settings. */
struct option_place {
	__u64 netns; /* the kernel's cookie of it */
	__u32 address[4];
	__u32 port; /* host order */
	__u32 pad;
};

/* An element of the map "listeners" holds this of a place. */
struct option_listening {
	__u32 count; /* marked listeners */
	/* Connections from other hosts that agreed, and nobody has asked about;
	 * since when that is so, or an earlier one was asked about. */
	__u32 waiting;
	__u32 waiting_since_ms;
	/* Servers were told that it stays on TCP until then; 0: none was. */
	__u32 left_until_ms;
	struct worth worth;
};

#define OPTION_KIND   254
#define OPTION_LENGTH 6
#define OPTION_MAGIC  0xe2d4c3d9 /* in network order */

/* SNAPSHOT_ADDRESSES_MAX, which this header must not include. */
#define OPTION_ADDRESSES_MAX 2
#define OPTION_PORT_WORDS    1024 /* 65536 ports, 64 a word */

/* The one element of the map "settings"; a command replaces it as a whole. */
struct option_settings {
	__u32 build; /* which build of the BPF program this is */
	__u32 enabled;
	__u32 address_count;
	__u32 share;      /* as in struct option_account */
	__u64 max_memory; /* bytes */
	__u32 learns;     /* places go to TCP by what ends there */
	__u32 pad;
	/* in6_addr as it stands in memory; IPv4 as ::ffff:a.b.c.d */
	__u32 addresses[OPTION_ADDRESSES_MAX][4];
	/* bit (port % 64) of word (port / 64): a server port of SMC-R */
	__u64 ports[OPTION_PORT_WORDS];
};

_Static_assert(sizeof(struct option_answer) ==
		   OPTION_ANSWER_SHORT + sizeof(struct option_knock),
	       "no gap");
_Static_assert(sizeof(struct option_account) == 32 &&
		   sizeof(struct option_account_name) == 12 &&
		   sizeof(struct option_account_bytes) == 24 &&
		   sizeof(struct option_moved) == 16 &&
		   sizeof(struct option_visit) == 32,
	       "each form has a length of its own");
_Static_assert(sizeof(struct option_settings) == 8256,
	       "the BPF program and the commands see one layout");

#endif
