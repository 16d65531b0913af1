/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake_timeout: what the clock says of a handshake. */
#include "smc_r/handshake/handshake_timeout.h"

#include <sys/single_threaded.h>

#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/process.h"
#include "smc_r/protocol/port_history.h"

/* More clients of this process that begin beside each other are a crowd: in
 * their writes they would wait one after another. */
#define CROWD_MIN 8u

#define NS_PER_MS 1000000ull

static _Alignas(64) struct port_history history;

static uint64_t limit_ns(void)
{
	return process.handshake_ms * NS_PER_MS;
}

static bool is_client(const struct connection *c)
{
	return c->slot->role == STATUS_CLIENT;
}

/* A listener that a fork left to others as well is not ours alone. */
void handshake_note_own(struct connection *c)
{
	c->handshake.to_self = false;
	for (int fd = 0; is_client(c) && fd < fdtable_listeners_end(); fd++) {
		const struct listener *l =
		    (const void *)fdtable_kind(fd, FDENTRY_LISTENER);

		if (l && l->port == c->slot->peer_port)
			c->handshake.to_self =
			    l->marked_by == process.pid &&
			    l->forks == atomic_load(&process.forks);
	}
}

void handshake_note_answer(const struct connection *c, uint64_t now)
{
	if (is_client(c))
		port_history_note_answer(
		    &history, c->slot->peer_port, now / NS_PER_MS,
		    now - c->handshake.begun_ns < limit_ns() / 2);
}

void handshake_note_timeout(const struct connection *c, uint64_t now)
{
	if (is_client(c))
		port_history_note_timeout(&history, c->slot->peer_port,
					  c->handshake.begun_ns / NS_PER_MS,
					  now / NS_PER_MS);
}

/* Only this thread would accept, and it comes to that as it goes on. A loop
 * that must not block may be that thread, whatever others there are. */
static bool is_own(const struct connection *c, enum handshake_asker asker)
{
	return c->handshake.to_self && !c->handshake.deferred &&
	       (__libc_single_threaded || asker == HANDSHAKE_WRITE_NOW);
}

struct handshake_clock handshake_clock_of(const struct connection *c,
					  enum handshake_asker asker,
					  uint64_t now)
{
	struct handshake_clock k = {
	    .asker = asker,
	    .limit_ns = limit_ns(),
	    .begun_ns = c->handshake.begun_ns,
	    .asked_ns = now,
	    .late_ns = c->handshake.late_ns,
	    .crowd = c->handshake.in_crowd,
	    .own = is_own(c, asker),
	    .told = c->handshake.told,
	};

	if (knock_is_pending(c))
		k.knock = c->knock.k.all_acceptors_known
			      ? HANDSHAKE_KNOCK_SURE
			      : HANDSHAKE_KNOCK_UNSURE;
	if (!is_client(c))
		return k;
	k.timeouts = port_history_timeouts(&history, c->slot->peer_port,
					   now / NS_PER_MS);
	k.answered_ns =
	    port_history_answered(&history, c->slot->peer_port) * NS_PER_MS;
	return k;
}

/* ---- polls ---- */

static struct handshake_verdict judge(const struct connection *c, uint64_t now)
{
	struct handshake_clock k = handshake_clock_of(c, HANDSHAKE_POLL, now);

	return handshake_judge(&k, now);
}

/* A crowd that nobody accepts has been hidden as long as a write waits. */
enum handshake_turn handshake_look_output(struct connection *c, uint64_t now)
{
	struct handshake_wait *w = &c->handshake;
	enum handshake_turn turn;

	if (handshake_way(c, true) != WAY_AGAIN || w->deferred)
		return HANDSHAKE_TELL;
	if (is_client(c) && connections_starting() > CROWD_MIN)
		w->in_crowd = true;
	turn = judge(c, now).turn;
	if (turn >= HANDSHAKE_TELL && w->late_ns == 0) {
		w->late_ns = now;
		turn = judge(c, now).turn;
	}
	if (turn < HANDSHAKE_TELL)
		return w->told ? HANDSHAKE_TELL : turn;
	if (!w->told && w->in_crowd && !is_own(c, HANDSHAKE_POLL))
		handshake_note_timeout(c, now);
	w->told = true;
	return turn;
}

bool handshake_awaits_knock(const struct connection *c, uint64_t now)
{
	return judge(c, now).turn == HANDSHAKE_KNOCK;
}

static bool is_hidden(struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE && !c->handshake.told &&
	       !c->handshake.deferred && handshake_way(c, true) == WAY_AGAIN;
}

bool handshake_tells_output(struct connection *c)
{
	if (!is_hidden(c))
		return false;
	c->handshake.told = true;
	return true;
}

bool handshake_is_own(const struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE && !c->handshake.told &&
	       is_own(c, HANDSHAKE_POLL);
}

/* Other threads may accept as well: a thread that is told of the listener is
 * about to accept. A connection that is late is seen without that. */
bool handshake_tells_first(struct connection *c)
{
	return connections_starting() == 1 && c->handshake.to_self &&
	       handshake_tells_output(c);
}

bool handshake_tells_alone(struct connection *c)
{
	return handshake_is_own(c) && handshake_tells_output(c);
}

uint64_t handshake_changes_ns(const struct connection *c, uint64_t now)
{
	return c->handshake.deferred ? 0 : judge(c, now).until_ns;
}

bool handshake_owes_output(struct connection *c, uint64_t now)
{
	return is_hidden(c) && judge(c, now).turn >= HANDSHAKE_TELL;
}
