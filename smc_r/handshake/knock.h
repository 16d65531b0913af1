/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * knock: a connection that begins without CLC messages.
 *
 * A client that shares a link group with its acceptor knocks at an element
 * before it connects (linkgroup_knock.h); where several processes accept, at
 * one element of each. The acceptor hears of the knock with the answer to its
 * one question about the new socket, takes the element, and is on SMC. The
 * client sees that when it comes to write, and takes its other knocks back.
 * Nothing goes through TCP.
 *
 * The client's next write waits for the acceptor, for a moment. A poll or an
 * epoll instance waits for the bells that ring when the knock is taken, and
 * hides meanwhile that the socket is writable. Every other call settles the
 * knock first: either the client takes it back and sends its Proposal, as if
 * there had been none, or it was taken and the connection is active. So fork,
 * exec and close meet nothing new.
 *
 * Locking: engine lock, and the connection's rx lock inside it; but for
 *          knock_is_pending(), knock_await(), knock_has_answer() and
 * knock_hear().
 *
 * Bounds: a client knocks for at most eight processes that accepted at the port
 * lately. Its next write waits for 2 ms; for 10 ms where all processes that
 * accept are known and have answered lately. A poll or an epoll instance hides
 * for as long, and in a crowd for as long as the acceptor is at work. Clients
 * whose port has still other acceptors knock less and less often. A client
 * whose connect() does not wait does not knock at such a port at all.
 */
#ifndef SMC_R_KNOCK_H
#define SMC_R_KNOCK_H

#include "smc_r/connection/connection.h"
#include "smc_r/link/shm/linkgroup_knock.h"

/* ---- client ---- */

/* The knock of a connection that begins now. */
void knock_begin(struct connection *c, const struct knocks *k);

/* Is it undecided? */
bool knock_is_pending(const struct connection *c);

/* Waits a moment for the acceptor, which gets a Proposal otherwise. A
 * cancellation point. */
void knock_await(struct connection *c, uint64_t limit_ns);
/* A poll or an epoll instance asks: is the knock decided, for all that memory
 * tells? */
bool knock_has_answer(struct connection *c);
/* One of the bells of c->knock.k rings when it is taken. False: it has been. */
bool knock_hear(struct connection *c);

/* Was it taken? Then the connection is active when this returns. */
bool knock_was_taken(struct connection *c, int fd);
/* Nobody has taken it, and nobody will. False: it was taken before, and the
 * connection is active. */
bool knock_take_back(struct connection *c, int fd);
/* A thread that looked at a knock which another one decided may have left. */
void knock_tidy(struct connection *c);

/* This group's server accepted a connection; it may have knocked elsewhere. */
void knock_learn(struct connection *c);

/* ---- server ---- */

/* Takes what the client of this new connection knocked at, if that is possible:
 * it is active then. */
void knock_answer(struct connection *c, int fd,
		  const struct option_knock *knock);

#endif
