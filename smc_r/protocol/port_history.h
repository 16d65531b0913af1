/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * port_history: whether the acceptors of a port are worth waiting for.
 *
 * A client that waits for its acceptor gains SMC, but seems slower than on TCP
 * when nobody accepts. So the waits for a port that were in vain are counted,
 * up to PORT_HISTORY_TIMEOUTS. The count ends PORT_HISTORY_MS after the last of
 * them, or when one of the port's acceptors answers in time. Connections that
 * wait beside each other count as one.
 *
 * An entry for each port of a small table; two ports may share one.
 * Milliseconds of any clock that does not go back.
 */
#ifndef SMC_R_PORT_HISTORY_H
#define SMC_R_PORT_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PORT_HISTORY_TIMEOUTS 3u
#define PORT_HISTORY_MS       1000u
#define PORT_HISTORY_PORTS    64u

struct port_history {
	struct {
		_Atomic uint64_t timeouts; /* how many, and when the last was */
		_Atomic uint64_t answered_ms;
	} ports[PORT_HISTORY_PORTS];
};

/* As a connection that begins now sees it. */
uint32_t port_history_timeouts(const struct port_history *g, uint16_t port,
			       uint64_t now_ms);
/* When one was answered last, in time or not; 0: never. */
uint64_t port_history_answered(const struct port_history *g, uint16_t port);

/* One that began at began_ms waited in vain. */
void port_history_note_timeout(struct port_history *g, uint16_t port,
			       uint64_t began_ms, uint64_t now_ms);
/* One was answered. */
void port_history_note_answer(struct port_history *g, uint16_t port,
			      uint64_t now_ms, bool in_time);

#endif
