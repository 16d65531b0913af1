/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * grace: whether the acceptors of a port are worth waiting for.
 *
 * A client that waits for its acceptor gains SMC, but seems slower than on TCP
 * when nobody accepts. So the connections to a port that waited in vain are
 * counted, up to GRACE_MISSES. The count ends GRACE_MS after the first of them,
 * or when one of the port's acceptors answers in time. Connections that wait
 * beside each other count as one.
 *
 * A word for each port of a small table; two ports may share one.
 *
 * Writes that must not block share one such account, whatever their ports are,
 * as they hold up a whole program.
 */
#ifndef SMC_R_GRACE_H
#define SMC_R_GRACE_H

#include <stdatomic.h>
#include <stdint.h>

#define GRACE_MISSES 3u
#define GRACE_MS     1000u
#define GRACE_PORTS  64u

struct grace {
	_Atomic uint64_t ports[GRACE_PORTS];
};

/* As a connection that begins now sees it. Milliseconds of any clock that does
 * not go back. */
uint32_t grace_misses(const struct grace *g, uint16_t port, uint64_t now_ms);

/* One that began at began_ms waited in vain. */
void grace_missed(struct grace *g, uint16_t port, uint64_t began_ms,
		  uint64_t now_ms);

/* One was answered in time. */
void grace_met(struct grace *g, uint16_t port);

/* When each port's acceptor answered last, in time or not; 0: never. */
struct pace {
	_Atomic uint64_t ports[GRACE_PORTS];
};

void pace_met(struct pace *p, uint16_t port, uint64_t now_ms);
uint64_t pace_last(const struct pace *p, uint16_t port);

#endif
