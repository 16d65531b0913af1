/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_close: tracked descriptors that end: close, dup2 over them, ranges,
 * numbers that got another meaning; and dup, by which there are more of them.
 *
 * The kernel keeps a socket as long as a call on it lasts, whatever becomes of
 * the number. So do we for a call that sleeps, under a number of our own; the
 * last such call then ends what the close began.
 *
 * Locking: each takes the engine lock itself where it changes the table.
 *
 * A sleep in poll() counts for each of its first 16 connections. The child of a
 * fork has nothing of such a socket. A thread that sleeps in a call on a socket
 * that is disconnected (connect() to AF_UNSPEC) is woken, and finds `dead`.
 */
#ifndef SMC_R_SOCKET_CLOSE_H
#define SMC_R_SOCKET_CLOSE_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"
#include "smc_r/connection/sleepers.h"

/* close(fd) of any tracked descriptor. */
int socket_close(int fd);
/* The number is about to mean something else (dup2). */
void socket_replaced(int fd);
/* It went away unseen. */
void socket_forget(int fd);
/* After a dup that worked. */
void socket_dup(int from, int to);
/* May the program put another file at this number? Not at one of ours. */
bool socket_may_replace(int to);
/* close_range and closefrom: everything tracked in [first, last] but our own
 * private ones. */
void socket_close_range(unsigned first, unsigned last, bool cloexec_only);

/* A number goes whose end costs no system call, and needs no lock: that of a
 * listener, or of an instance without connections. False: nothing was done. */
bool socket_drop(int fd);
/* Is all that is tracked in [first, last] such, if anything is? And those. */
bool socket_range_is_simple(unsigned first, unsigned last);
void socket_drop_range(unsigned first, unsigned last);

void socket_number_was_ours(int fd);

/* A creator gave us this number, so what we knew of it is stale. */
static inline void socket_number_is_new(int fd)
{
	if (__builtin_expect(fdtable_get(fd) != NULL, 0))
		socket_number_was_ours(fd);
}

/* connect() to nobody ended the connection. */
void socket_disconnected(int fd);

/* struct connection: none of its calls sleeps any more. */
void socket_call_over(void *c);

/* For a call on c that may sleep; sleeper_end() when it is over, after its last
 * use of connection_fd(). */
static inline struct sleeper socket_sleeper(struct connection *c)
{
	return (struct sleeper){.count = &c->closing.callers,
				.over = socket_call_over,
				.astray = connection_pass_on,
				.owner = c};
}

#endif
