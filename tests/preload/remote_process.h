/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * remote_process: a process that has the other ends of many connections, and
 * does with them as it is told. So the process that tells it knows what its own
 * ends must say.
 *
 * It ends with the process that made it. Anything that fails ends both.
 */
#ifndef TESTS_PRELOAD_REMOTE_PROCESS_H
#define TESTS_PRELOAD_REMOTE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#define REMOTE_ENDS 1024

enum remote_verb {
	REMOTE_WRITE, /* so many bytes */
	REMOTE_TAKE,  /* reads so many, or up to the end */
	REMOTE_SHUT,  /* shutdown for writing */
	REMOTE_RENEW  /* remote_renew() */
};

struct remote {
	int line; /* orders and answers */
	int listener;
	int count;
	int fds[REMOTE_ENDS]; /* our ends, non-blocking */
};

/* Begins with so many connections, whose handshakes are over. small: with
 * little room on TCP. */
void remote_begin(struct remote *p, int count, int small);

void remote_tell(struct remote *p, enum remote_verb verb, int i, size_t bytes);
/* The last order has been carried out. */
void remote_await(struct remote *p);
/* Both. */
void remote_do(struct remote *p, enum remote_verb verb, int i, size_t bytes);

/* Another connection in the place of the i-th, which the caller has closed. It
 * is new: a byte of the peer's is on its way, and the handshake, too. */
void remote_renew(struct remote *p, int i);

#endif
