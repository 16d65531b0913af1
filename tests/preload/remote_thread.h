/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * puppet: a process that has the other ends of many connections, and does with
 * them as it is told. So the process that tells it knows what its own ends must
 * say.
 *
 * It ends with the process that made it. Anything that fails ends both.
 */
#ifndef TESTS_PRELOAD_PUPPET_H
#define TESTS_PRELOAD_PUPPET_H

#include <stddef.h>
#include <stdint.h>

#define PUPPET_ENDS 1024

enum puppet_verb {
	PUPPET_WRITE, /* so many bytes */
	PUPPET_TAKE,  /* reads so many, or up to the end */
	PUPPET_SHUT,  /* shutdown for writing */
	PUPPET_RENEW  /* puppet_renew() */
};

struct puppet {
	int line; /* orders and answers */
	int listener;
	int count;
	int fds[PUPPET_ENDS]; /* our ends, non-blocking */
};

/* Begins with so many connections, whose handshakes are over. small: with
 * little room on TCP. */
void puppet_begin(struct puppet *p, int count, int small);

void puppet_tell(struct puppet *p, enum puppet_verb verb, int i, size_t bytes);
/* The last order has been carried out. */
void puppet_await(struct puppet *p);
/* Both. */
void puppet_do(struct puppet *p, enum puppet_verb verb, int i, size_t bytes);

/* Another connection in the place of the i-th, which the caller has closed. It
 * is new: a byte of the peer's is on its way, and the handshake, too. */
void puppet_renew(struct puppet *p, int i);

#endif
