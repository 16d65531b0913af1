/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake_timeout: for how long a handshake is waited for, and hidden. */
#include "smc_r/handshake/handshake_timeout.h"

#include <sys/single_threaded.h>

#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/port_history.h"
#include "smc_r/protocol/reason.h"

/* A write that must not block waits for the acceptor all the same: once in the
 * life of a connection, and less than a busy host's scheduler takes to let it
 * run. When the acceptor is this very process it may be this very thread, so
 * only one look is worth it. */
#define NONBLOCK_PART 2 /* divides process.handshake_ms */
#define OWN_MS        1
/* Divides the timeout of writes where one has waited in vain. */
#define MISSED_PART   4u
/* More clients of this process that begin beside each other are hidden as long
 * as a write may wait: in their writes they would wait one after another. They
 * stay hidden while no such time passes without an answer to any of them: the
 * acceptor is at work, and comes to the next ones. But they do so for so many
 * process.handshake_ms at most. */
#define CROWD_MIN     8u
#define MOVING_MOST   5u

#define NS_PER_MS 1000000ull

/* They note the ports to which polls told late that a program can write, and to
 * which writes waited in vain. A write that must not block keeps a whole
 * program from its other work: those count together. */
static struct port_history polls;
static struct port_history writes;
static struct port_answers answers;
#define ANY_PORT 0

static uint64_t handshake_ns(void)
{
	return process.handshake_ms * NS_PER_MS;
}

/* Until when the acceptor counts as at work, for a connection that waits since
 * then; 0: it does not. */
static uint64_t moving_until(const struct connection *c, uint64_t since)
{
	uint64_t met =
	    port_answers_last(&answers, c->slot->peer_port) * NS_PER_MS;
	uint64_t until = met + handshake_ns() / NONBLOCK_PART;
	uint64_t most = since + handshake_ns() * MOVING_MOST;

	return met == 0 ? 0 : until < most ? until : most;
}

static const struct listener *own_listener(const struct connection *c)
{
	if (c->slot->role != STATUS_CLIENT)
		return NULL;
	for (int fd = 0; fd < fdtable_listeners_end(); fd++) {
		const struct listener *l =
		    (const void *)fdtable_kind(fd, FDENTRY_LISTENER);

		if (l && l->port == c->slot->peer_port)
			return l;
	}
	return NULL;
}

/* A listener that a fork left to others as well is not ours alone. */
static bool is_ours(const struct listener *l)
{
	return l && l->marked_by == process.pid &&
	       l->forks == atomic_load(&process.forks);
}

void handshake_start_clock(struct connection *c)
{
	uint64_t now = sys_now_ns();

	c->handshake.begun_ns = now;
	c->handshake.to_self = is_ours(own_listener(c));
	c->handshake.hidden_until_ns = now;
	if (c->slot->role != STATUS_CLIENT ||
	    port_history_timeouts(&polls, c->slot->peer_port, now / NS_PER_MS) <
		PORT_HISTORY_TIMEOUTS)
		c->handshake.hidden_until_ns += HIDDEN_MS * NS_PER_MS;
}

/* If a listener of ours answers a connection that was not hidden, that may be
 * the reason for its answer: a process connects, and accepts then. */
void handshake_was_met(struct connection *c)
{
	uint64_t now = sys_now_ns();
	uint64_t after = now - c->handshake.begun_ns;

	if (c->slot->role != STATUS_CLIENT)
		return;
	port_answers_note(&answers, c->slot->peer_port, now / NS_PER_MS);
	if (after < HIDDEN_MS * NS_PER_MS &&
	    (c->handshake.hidden_until_ns != c->handshake.begun_ns ||
	     !own_listener(c)))
		port_history_note_answer(&polls, c->slot->peer_port);
	if (after < handshake_ns() / NONBLOCK_PART) {
		port_history_note_answer(&writes, c->slot->peer_port);
		port_history_note_answer(&writes, ANY_PORT);
	}
}

static void note_miss(const struct connection *c, struct port_history *g,
		      uint16_t port)
{
	if (c->slot->role == STATUS_CLIENT)
		port_history_note_timeout(g, port,
					  c->handshake.begun_ns / NS_PER_MS,
					  sys_now_ns() / NS_PER_MS);
}

/* Will nobody accept it for as long as this thread does something else? Only
 * this thread would, and it is here. */
static bool handshake_nobody_accepts(const struct connection *c)
{
	return __libc_single_threaded && is_ours(own_listener(c));
}

/* ---- writes ---- */

static uint16_t port_of_write(const struct connection *c, bool wait)
{
	return wait ? c->slot->peer_port : ANY_PORT;
}

/* The time-out counts from the write on: a client that opened many connections
 * first, and an acceptor that has as many to accept, are not late. */
static uint64_t write_timeout_until(const struct connection *c, bool wait)
{
	uint64_t now = sys_now_ns();
	uint64_t timeout = handshake_ns() / (wait ? 1 : NONBLOCK_PART);
	uint32_t misses = 0;

	if (c->slot->role == STATUS_CLIENT)
		misses = port_history_timeouts(&writes, port_of_write(c, wait),
					       now / NS_PER_MS);
	if (misses == PORT_HISTORY_TIMEOUTS)
		return now;
	if (misses)
		timeout /= MISSED_PART;
	/* It was hidden in vain meanwhile. */
	if (c->handshake.output_late && !wait)
		return c->handshake.begun_ns + timeout;
	return now + timeout;
}

uint64_t handshake_write_until(const struct connection *c, bool wait)
{
	uint64_t own = sys_now_ns() + OWN_MS * NS_PER_MS;
	uint64_t until = write_timeout_until(c, wait);
	bool is_own =
	    wait ? handshake_nobody_accepts(c) : own_listener(c) != NULL;

	return is_own && own < until ? own : until;
}

uint64_t handshake_write_on(const struct connection *c, uint64_t since,
			    uint64_t until)
{
	uint64_t moving;

	if (c->slot->role != STATUS_CLIENT || handshake_nobody_accepts(c))
		return until;
	moving = moving_until(c, since);
	return moving > until ? moving : until;
}

void handshake_write_missed(const struct connection *c, bool wait)
{
	note_miss(c, &writes, port_of_write(c, wait));
}

/* ---- polls ---- */

/* Only this thread could accept, and it comes to that as it goes on. */
static bool is_own(const struct connection *c)
{
	return c->handshake.to_self && !c->handshake.deferred &&
	       __libc_single_threaded;
}

static uint64_t hidden_until(const struct connection *c)
{
	uint64_t until = c->handshake.begun_ns + handshake_ns() / NONBLOCK_PART;
	uint64_t moving = moving_until(c, c->handshake.begun_ns);

	if (is_own(c))
		return c->handshake.begun_ns + handshake_ns();
	/* A program that was told once is not told otherwise. */
	if (!c->handshake.in_crowd || c->handshake.output_late)
		return c->handshake.hidden_until_ns;
	/* Others have waited in vain. */
	if (c->handshake.hidden_until_ns == c->handshake.begun_ns)
		until = c->handshake.begun_ns;
	if (until < c->handshake.hidden_until_ns)
		until = c->handshake.hidden_until_ns;
	return moving > until ? moving : until;
}

/*
 * Until when a knock hides POLLOUT. With many connections starting and all
 * acceptors known to hear knocks: as long as they are hidden anyway. Otherwise
 * KNOCK_MS, which a write waits as well, because the acceptor may be one that
 * ignores knocks.
 */
static uint64_t knock_until(const struct connection *c)
{
	uint64_t until = c->handshake.begun_ns + KNOCK_MS * NS_PER_MS;
	uint64_t hidden = hidden_until(c);

	return (c->handshake.in_crowd && c->knock.k.all_acceptors_known) ||
		       is_own(c)
		   ? (until > hidden ? until : hidden)
		   : until;
}

bool handshake_awaits_knock(const struct connection *c)
{
	return sys_now_ns() < knock_until(c);
}

static void note_crowd(struct connection *c)
{
	if (!c->handshake.in_crowd && c->slot->role == STATUS_CLIENT)
		c->handshake.in_crowd = connections_starting() > CROWD_MIN;
}

/* We were away ourselves: what was answered meanwhile is found by this look,
 * and tells about the others. */
static bool looks_again(struct connection *c, uint64_t now)
{
	uint64_t hidden = hidden_until(c);

	if (!c->handshake.in_crowd || c->handshake.output_late ||
	    c->handshake.extended || is_own(c) ||
	    hidden == c->handshake.begun_ns ||
	    now - hidden < HIDDEN_MS * NS_PER_MS)
		return false;
	c->handshake.extended = true;
	c->handshake.hidden_until_ns = now + HIDDEN_MS * NS_PER_MS;
	return true;
}

bool handshake_hides_output(struct connection *c, int fd)
{
	uint64_t now = sys_now_ns();

	if (handshake_way(c, true) != WAY_AGAIN || c->handshake.deferred)
		return false;
	note_crowd(c);
	if (now < hidden_until(c))
		return !c->handshake.output_told;
	if (looks_again(c, now))
		return !c->handshake.output_told;
	if (!c->handshake.output_late && !is_own(c))
		note_miss(c, &polls, c->slot->peer_port);
	c->handshake.output_late = true;
	if (now < c->handshake.begun_ns + handshake_ns())
		return false;
	handshake_abort(c, fd, REASON_TIMEOUT);
	return handshake_way(c, true) == WAY_AGAIN;
}

bool handshake_tells_output(struct connection *c)
{
	if (connection_phase(c) != PHASE_HANDSHAKE ||
	    c->handshake.output_told || c->handshake.deferred ||
	    handshake_way(c, true) != WAY_AGAIN)
		return false;
	c->handshake.output_told = true;
	return true;
}

bool handshake_is_own(const struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE &&
	       !c->handshake.output_told && is_own(c);
}

/* Other threads may accept as well: a thread that is told of the listener is
 * about to accept. A connection that is late is seen without that. */
bool handshake_tells_first(struct connection *c)
{
	return connections_starting() == 1 && c->handshake.to_self &&
	       !c->handshake.output_late && handshake_tells_output(c);
}

bool handshake_tells_alone(struct connection *c)
{
	return handshake_is_own(c) && handshake_tells_output(c);
}

uint64_t handshake_changes_ns(const struct connection *c, uint64_t now)
{
	uint64_t hidden = hidden_until(c);
	uint64_t next = now < hidden && !c->handshake.output_told
			    ? hidden
			    : c->handshake.begun_ns + handshake_ns();
	uint64_t knock = knock_is_pending(c) ? knock_until(c) : now;

	return now < knock && knock < next ? knock : next;
}

int handshake_left_ms(const struct connection *c, uint64_t *now)
{
	uint64_t next;

	if (*now == 0)
		*now = sys_now_ns();
	next = handshake_changes_ns(c, *now);
	return c->handshake.deferred || *now >= next
		   ? 0
		   : (int)((next - *now) / NS_PER_MS) + 1;
}
