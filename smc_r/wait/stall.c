/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stall: a full ring that nobody empties. */
#include "smc_r/wait/stall.h"

#include <sys/single_threaded.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/link/shm/overflow_memory.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/protocol/stall_clock.h"
#include "smc_r/stream/overflow.h"
#include "smc_r/stream/stream.h"

static uint64_t reader_at(const struct connection *c)
{
	return relaxed_load(&c->out_consumer->cursor);
}

static struct stall_clock clock_of(const struct connection *c)
{
	return (struct stall_clock){relaxed_load(&c->stall.full_ns),
				    relaxed_load(&c->stall.full_at)};
}

static void keep(struct connection *c, const struct stall_clock *k)
{
	relaxed_store(&c->stall.full_at, k->at);
	relaxed_store(&c->stall.full_ns, k->since_ns);
}

/* True: the reader has read since the last look, or this is the first. */
static bool look(struct connection *c, uint64_t now)
{
	struct stall_clock k = clock_of(c);

	if (!stall_clock_look(&k, reader_at(c), now))
		return false;
	keep(c, &k);
	return true;
}

void stall_begin(struct connection *c)
{
	look(c, sys_now_ns());
}

/* Between the last time and now the reader has read enough to be written to
 * again: so a program that was told that there is no room never finds some that
 * no read made. */
bool stall_is_avoided(struct connection *c)
{
	struct stall_clock k = clock_of(c);

	return k.since_ns && overflow_is_possible(c, OVERFLOW_MOST) &&
	       stall_clock_was_late(&k, reader_at(c), c->out.ring[0].bytes / 3,
				    sys_now_ns()) &&
	       overflow_enter(c, OVERFLOW_MOST);
}

bool stall_is_avoided_at_once(struct connection *c, size_t left)
{
	return left > c->out.ring[1].bytes / 2 &&
	       overflow_enter(c, OVERFLOW_MOST_LARGE);
}

/* Each end waits for the other one to read. */
static bool is_crossed(struct connection *c)
{
	return c->slot->peer_pid == process.pid ||
	       (relaxed_load(&c->peer_wait->armed_room) &&
		stream_fill(c) > stream_mark(c));
}

/* Would anybody read it while this thread sleeps? */
static bool only_we_read(const struct connection *c)
{
	return __libc_single_threaded && c->slot->peer_pid == process.pid &&
	       c->stall.forks == atomic_load(&process.forks);
}

/* It does not stall under a number that was closed: the bell tells of the end
 * then. */
static bool may_stall(struct connection *c)
{
	return process.stall_ms && relaxed_load(&c->stall.full_ns) &&
	       !connection_is_far(c) && connection_phase(c) == PHASE_ACTIVE &&
	       !stream_writes_tcp(c) && !connection_writes_no_more(c) &&
	       !atomic_load(&c->closing.fd);
}

static uint64_t left_ns(struct connection *c, uint64_t now)
{
	struct stall_clock k = clock_of(c);

	return stall_clock_left(&k, process.stall_ms * 1000000ull,
				is_crossed(c), now);
}

bool stall_is_over(struct connection *c, int fd)
{
	uint64_t now;

	if (__builtin_expect(!may_stall(c), 1))
		return false;
	now = sys_now_ns();
	if (look(c, now) || left_ns(c, now) > 0)
		return false;
	demote(c, fd, REASON_DEMOTED_STALLED);
	return true;
}

int stall_left_ms(struct connection *c)
{
	struct stall_clock k;
	uint64_t left;

	if (!may_stall(c) || stream_has_room(c, stream_free(c)))
		return -1;
	if (only_we_read(c)) {
		k = clock_of(c);
		stall_clock_end(&k);
		keep(c, &k);
	}
	left = left_ns(c, sys_now_ns());
	return left ? (int)(left / 1000000u) + 1 : 0;
}
