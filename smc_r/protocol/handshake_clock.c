/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake_clock: for how long a handshake is waited for, and hidden. */
#include "smc_r/protocol/handshake_clock.h"

#include "smc_r/protocol/port_history.h"

#define MS            1000000ull
#define HIDDEN_NS     (5 * MS)
/* For an acceptor that may not hear the knock, and for one that does, and may
 * only be busy: a Proposal would be no sooner there. */
#define KNOCK_NS      (2 * MS)
#define KNOCK_SURE_NS (10 * MS)
#define OWN_NS        (1 * MS)
/* They divide the limit, or multiply it. A write that must not block waits all
 * the same, less than a busy host's scheduler takes to let the acceptor run. */
#define PART          2u
#define BACKOFF       4u
#define MOST          5u

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Until when the acceptor counts as at work. */
static uint64_t working_until(const struct handshake_clock *k, uint64_t since)
{
	return k->answered_ns == 0 ? 0
				   : sooner(k->answered_ns + k->limit_ns / PART,
					    since + k->limit_ns * MOST);
}

static uint64_t hidden_until(const struct handshake_clock *k)
{
	uint64_t until = k->begun_ns + k->limit_ns / PART;

	if (k->own)
		return k->begun_ns + k->limit_ns;
	if (k->timeouts >= PORT_HISTORY_TIMEOUTS)
		return k->begun_ns;
	if (!k->crowd)
		return k->begun_ns + HIDDEN_NS;
	if (k->late_ns)
		until = later(until, k->late_ns + HIDDEN_NS);
	return later(until, working_until(k, k->begun_ns));
}

static uint64_t knock_until(const struct handshake_clock *k)
{
	uint64_t until = k->begun_ns + KNOCK_NS;

	if (k->knock == HANDSHAKE_KNOCK_NONE || k->asker == HANDSHAKE_WRITE_NOW)
		return 0;
	if (k->asker == HANDSHAKE_WRITE)
		return k->asked_ns + (k->knock == HANDSHAKE_KNOCK_SURE
					  ? KNOCK_SURE_NS
					  : KNOCK_NS);
	return k->own || (k->crowd && k->knock == HANDSHAKE_KNOCK_SURE)
		   ? later(until, hidden_until(k))
		   : until;
}

/* The time counts from the write on, as a client that opened many connections
 * first is not late; but a poll has hidden this one in vain already. */
static uint64_t write_until(const struct handshake_clock *k)
{
	bool blocks = k->asker == HANDSHAKE_WRITE;
	uint64_t since = k->told && !blocks ? k->begun_ns : k->asked_ns;
	uint64_t until = since + k->limit_ns / (blocks ? 1 : PART) /
				     (k->timeouts ? BACKOFF : 1);

	if (k->timeouts >= PORT_HISTORY_TIMEOUTS)
		until = k->asked_ns;
	if (k->own)
		return sooner(until, k->asked_ns + OWN_NS);
	return blocks ? later(until, working_until(k, k->asked_ns)) : until;
}

struct handshake_verdict handshake_judge(const struct handshake_clock *k,
					 uint64_t now_ns)
{
	bool polls = k->asker == HANDSHAKE_POLL;
	struct handshake_verdict v = {HANDSHAKE_KNOCK, knock_until(k)};

	if (now_ns < v.until_ns)
		return v;
	v.turn = HANDSHAKE_HIDE;
	v.until_ns = polls ? hidden_until(k) : write_until(k);
	if (now_ns < v.until_ns && !(polls && k->told))
		return v;
	if (polls)
		v.until_ns = k->begun_ns + k->limit_ns;
	v.turn =
	    polls && now_ns < v.until_ns ? HANDSHAKE_TELL : HANDSHAKE_GIVE_UP;
	return v;
}
