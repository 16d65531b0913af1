/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * far_hello: a program and the link service say this to each other, over an
 * AF_UNIX socket that serves one hello.
 *
 *	program	  far_hello, with its TCP socket as the only descriptor
 *	service	  far_answer; nothing more where it refuses
 *	program	  one byte: it is attached. Without that it goes on with TCP
 *		  by itself, and the service has said nothing on TCP.
 *
 * The element that the answer names comes as for a CLC Accept of this host
 * (linkgroup.h): the service is the server of the link group, whatever the TCP
 * role is. From then on the service alone reads and writes the TCP stream,
 * until the words in the element say that it is the program's again.
 *
 * The socket is <run directory>/rc.<cookie>, with the cookie of its network
 * namespace (SO_NETNS_COOKIE, socket(7)) as a decimal number. The owner
 * of the run directory made it.
 */
#ifndef SMC_R_FAR_HELLO_H
#define SMC_R_FAR_HELLO_H

#include <stdint.h>

#define FAR_MAGIC   0x46524353u
#define FAR_VERSION 1u
#define FAR_SOCKET  "rc."

enum far_kind {
	FAR_BEGIN = 1, /* a TCP connection whose ends agreed on CLC */
	FAR_RELAY = 2, /* a socket to go on with in the place of the rings */
	/* The next two are those of commands, which bring no descriptor:
	 * far_status.h. */
	FAR_STATUS = 3,
	FAR_RESET = 4, /* counters, too */
};

struct far_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;
	uint32_t server;       /* 1: the program accepted */
	uint8_t process_id[8]; /* where its rendezvous socket is */
	uint64_t ticket;       /* FAR_RELAY: of the answer then */
	uint64_t read;         /* FAR_RELAY: so far the program has read */
	uint32_t rcvbuf;       /* bytes the program asked for; 0: none */
	uint32_t reserved;
};

struct far_answer {
	uint32_t magic;
	uint32_t version;
	uint32_t reason; /* reason.h: why not; the rest is 0 then */
	uint32_t rmb_number;
	uint8_t service_id[8];
	uint8_t nonce[16];
	uint32_t element;
	uint32_t reserved;
	uint64_t ticket;
};

_Static_assert(sizeof(struct far_hello) == 48, "the same for all revisions");
_Static_assert(sizeof(struct far_answer) == 56, "the same");

#endif
