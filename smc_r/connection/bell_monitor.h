/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bell_monitor: how a thread sleeps on a bell that other processes may sleep on
 * as well.
 *
 * All processes of an end have the same bells. Threads that sleep in a call
 * agree on which of them takes the rings (sleepers.h). One that waits by epoll
 * is woken by each ring, but finds nothing where another process has taken it
 * already, and then has asked for no further ring. So where a connection is in
 * an epoll instance and several processes hold it, those in a call sleep on a
 * bell_monitor: an epoll instance of their own with the bell in it,
 * edge-triggered. It hears each ring and takes none. Rings that pile up are
 * taken now and then, and one is put in their place.
 *
 * Ownership: of the connection in one process; connection.c closes them.
 * Locking:   the engine lock is taken where one is made.
 */
#ifndef SMC_R_BELL_MONITOR_H
#define SMC_R_BELL_MONITOR_H

#include "smc_r/connection/connection.h"

/* They say where to sleep for bytes, or for room: the bell or a monitor; asked
 * before every sleep. Both are for poll(), bell_drain(), and bell_wait() with a
 * time-out. */
int bell_monitor_data(struct connection *c);
int bell_monitor_room(struct connection *c);

static inline bool bell_monitor_is(const struct connection *c, int bell)
{
	return bell != c->bells.data && bell != c->bells.room;
}

/* Does bell_drain() on what was slept on, which then is no monitor any more if
 * the bell has hung up: that is no edge once more. */
bool bell_monitor_drain(struct connection *c, int bell);

/* After a sleep that ended with a ring: gives back what was taken to threads
 * that began to watch the bell meanwhile, as it may have been theirs. */
void bell_monitor_give_back(struct connection *c, int bell);

#endif
