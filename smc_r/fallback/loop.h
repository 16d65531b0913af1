/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loop: a TCP connection to ourselves, between the addresses of another one.
 *
 * Any process of this host may see that somebody listens, and connect. So the
 * listener takes packets of the sender alone, and what is accepted counts only
 * when it is the sender's other end.
 *
 * Ownership: the caller closes the loop, also one that could not be opened, and
 *            may take a descriptor out by setting it to -1.
 */
#ifndef SMC_R_LOOP_H
#define SMC_R_LOOP_H

#include <stdbool.h>

/* -1 where there is nothing. */
struct loop {
	int listener;
	int sender; /* does not block */
	int receiver;
};

#define LOOP_NONE ((struct loop){-1, -1, -1})

/* The sender has the address of one of these. */
enum loop_sender {
	LOOP_OF_PEER, /* fd's, which is on this host */
	LOOP_OF_OWN,  /* the receiver's: the peer is on another host */
};

/* The receiver has the local address of fd; their ports are new ones. False:
 * not within a second or two. */
bool loop_open(struct loop *l, int fd, enum loop_sender sender);
void loop_close(struct loop *l);

#endif
