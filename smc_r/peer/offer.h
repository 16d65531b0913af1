/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * offer: marks sockets as speaking SMC, and asks what came of it.
 *
 * The kernel's side is the BPF program that bpf_load attaches. Where there is
 * none, each call fails with -ENOPROTOOPT or -EOPNOTSUPP: nothing is offered,
 * and the connection is plain TCP.
 *
 * A mark is a promise: any process that accepts from a marked listener, or that
 * reads and writes a marked client socket, reads the CLC messages that follow
 * an agreed option. Marks are the socket's and not the descriptor's: they stay
 * across dup, fork, exec and SCM_RIGHTS, and they are gone when the device is
 * removed. So mark listeners again whenever the generation word has moved.
 *
 * Locking: offer_init() before anything else; the others from any thread.
 *
 * Uses libc only, allocates nothing, leaves errno alone and enters the kernel
 * by number, so that no interposed name is called.
 */
#ifndef SMC_R_OFFER_H
#define SMC_R_OFFER_H

#include <netinet/in.h>
#include <stdint.h>

#include "smc_r/os/option.h"

/* Remembers the instance for the calls below. No system call. 0 or -EINVAL. */
int offer_init(const char *rundir);

/*
 * "This socket speaks SMC." Before connect() or listen(); a socket that listens
 * already is marked too, from Linux 6.12 on (older: -EOPNOTSUPP). Marking twice
 * is marking once. 0 or -errno.
 */
int offer_mark(int fd);

/* Marks a listener that keeps connections back until bytes came. */
int offer_mark_deferred(int fd);

/*
 * Marks a client that will connect to that address of this host. -ENOENT, and
 * it is not marked, when no marked listener of the host has the port: nobody
 * would answer; -EBUSY when the listener offers no SMC now. knock: for the
 * process that accepts it, or NULL; with one, -EINVAL comes from a BPF program
 * that was attached before there were any.
 */
int offer_mark_visitor(int fd, const struct in6_addr *where, uint16_t port,
		       const struct option_knock *knock);

/* What the connection of this server's socket carried, before its end. */
void offer_moved(int fd, const struct option_moved *moved);

/* No new connection of this listener, nor of another at its place, carries the
 * option for a second. -EINVAL: a BPF program that was attached before there
 * were pauses. */
int offer_pause(int fd);

/* No new connection of this socket carries the option. 0 or -errno. */
int offer_unmark(int fd);

/*
 * OFFER_* bits or -errno. OFFER_AGREED is final once connect() or accept() has
 * given the connection. On the server's side it may be set although our answer
 * never reached the client, so look at the first bytes before taking them for
 * CLC; on the client's side it says what the SYN-ACK carried. OFFER_MET is
 * still known when both ends are gone from the kernel but for the caller's, and
 * is lost only among very many newer connections.
 */
int offer_state(int fd);
/* Gives the bits, and the socket's own name in *a; a->port is 0 where the
 * kernel's getsockname() has to be asked. */
int offer_look(int fd, struct option_answer *a);
/*
 * Looks at a socket that was accepted, and gives what its client knocked with;
 * a->knock.token is 0, and the rest of the knock undefined, where the client
 * did not knock.
 */
int offer_look_accepted(int fd, struct option_answer *a);

#endif
