/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * port_history: whether the acceptors of a port are worth waiting for.
 *
 * A client that waits for its acceptor gains SMC, but seems slower than on TCP
 * when nobody accepts. So the connections to a port that waited in vain are
 * counted, up to PORT_HISTORY_TIMEOUTS. The count ends PORT_HISTORY_MS after
 * the first of them, or when one of the port's acceptors answers in time.
 * Connections that wait beside each other count as one.
 *
 * A word for each port of a small table; two ports may share one.
 *
 * Writes that must not block share one such account, whatever their ports are,
 * as they hold up a whole program.
 */
#ifndef SMC_R_PORT_HISTORY_H
#define SMC_R_PORT_HISTORY_H

#include <stdatomic.h>
#include <stdint.h>

#define PORT_HISTORY_TIMEOUTS 3u
#define PORT_HISTORY_MS       1000u
#define PORT_HISTORY_PORTS    64u

struct port_history {
	_Atomic uint64_t ports[PORT_HISTORY_PORTS];
};

/* As a connection that begins now sees it. Milliseconds of any clock that does
 * not go back. */
uint32_t port_history_timeouts(const struct port_history *g, uint16_t port,
			       uint64_t now_ms);

/* One that began at began_ms waited in vain. */
void port_history_note_timeout(struct port_history *g, uint16_t port,
			       uint64_t began_ms, uint64_t now_ms);

/* One was answered in time. */
void port_history_note_answer(struct port_history *g, uint16_t port);

/* When each port's acceptor answered last, in time or not; 0: never. */
struct port_answers {
	_Atomic uint64_t ports[PORT_HISTORY_PORTS];
};

void port_answers_note(struct port_answers *p, uint16_t port, uint64_t now_ms);
uint64_t port_answers_last(const struct port_answers *p, uint16_t port);

#endif
