/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* deferred: listeners with TCP_DEFER_ACCEPT. */
#include "smc_r/poll/deferred.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "smc_r/connection/connection.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/poll/poll_wait.h"
#include "smc_r/protocol/port_history.h"

/* A client that proposed is in its first write, or has just got a processor
 * taken away: how long that lasts is for the same setting to say. */
#define FIRST_PART 4u /* divides process.handshake_ms */

#define NS_PER_MS 1000000u

/* Counts, for ports of ours, clients that proposed and wrote nothing. */
static _Alignas(64) struct port_history firsts;

/* No thread may be cancelled here: the program does not know the descriptor. */
static int await_input(int fd)
{
	const struct timespec limit = sys_timespec(
	    process.handshake_ms / FIRST_PART * (uint64_t)NS_PER_MS);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int state;
	int n;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	n = poll_members(&p, 1, &limit, NULL);
	pthread_setcancelstate(state, NULL);
	return n;
}

void deferred_accepted(int fd)
{
	struct connection *c = connection_of(fd);
	uint64_t now = sys_now_ns() / NS_PER_MS;
	uint16_t port;
	int n;

	if (!c || connection_phase(c) == PHASE_NATIVE)
		return;
	if (handshake_is_unheard(c, fd))
		return;
	port = c->slot->local_port;
	if (port_history_timeouts(&firsts, port, now) == PORT_HISTORY_TIMEOUTS)
		return;
	n = await_input(fd);
	if (n > 0)
		port_history_note_answer(&firsts, port, now, true);
	else if (n == 0)
		port_history_note_timeout(&firsts, port, now,
					  sys_now_ns() / NS_PER_MS);
}
