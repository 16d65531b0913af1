/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stall: a full ring that nobody empties. */
#include "smc_r/wait/stall.h"

#include <sys/single_threaded.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/stream/overflow.h"
#include "smc_r/stream/stream.h"

#define CROSSED_PART 10       /* divides the limit */
#define LATE_NS      1000000u /* then a reader is late: overflow.h */
#define LONG_AGO     1u       /* ns on a clock that began with the machine */

static uint64_t reader_at(const struct connection *c)
{
	return relaxed_load(&c->out_consumer->cursor);
}

static void restart(struct connection *c, uint64_t cursor)
{
	relaxed_store(&c->full_at, cursor);
	relaxed_store(&c->full_ns, sys_now_ns());
}

void stall_begin(struct connection *c)
{
	uint64_t cursor = reader_at(c);

	if (!relaxed_load(&c->full_ns) || relaxed_load(&c->full_at) != cursor)
		restart(c, cursor);
}

/* Between the last time and now the reader has read enough to be written to
 * again: so a program that was told that there is no room never finds some that
 * no read made. */
bool stall_is_avoided(struct connection *c)
{
	uint64_t since = relaxed_load(&c->full_ns);
	uint64_t read = reader_at(c) - relaxed_load(&c->full_at);

	return since > LONG_AGO && read >= c->out.ring[0].bytes / 3 &&
	       overflow_is_possible(c) && sys_now_ns() - since >= LATE_NS &&
	       overflow_enter(c);
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
	       c->forks == atomic_load(&process.forks);
}

/* It does not stall under a number that was closed: the bell tells of the end
 * then. */
static bool may_stall(struct connection *c)
{
	return process.stall_ms && relaxed_load(&c->full_ns) &&
	       connection_phase(c) == PHASE_ACTIVE && !stream_writes_tcp(c) &&
	       !connection_writes_no_more(c) && !atomic_load(&c->closed_fd);
}

static uint64_t left_ns(struct connection *c)
{
	uint64_t limit = process.stall_ms * 1000000ull;
	uint64_t since = relaxed_load(&c->full_ns);
	uint64_t past = sys_now_ns() - since;

	if (since == LONG_AGO)
		return 0;
	if (is_crossed(c))
		limit /= CROSSED_PART;
	return past < limit ? limit - past : 0;
}

bool stall_is_over(struct connection *c, int fd)
{
	uint64_t cursor;

	if (__builtin_expect(!may_stall(c), 1))
		return false;
	cursor = reader_at(c);
	if (relaxed_load(&c->full_at) != cursor) {
		restart(c, cursor);
		return false;
	}
	if (left_ns(c) > 0)
		return false;
	demote(c, fd, REASON_DEMOTED_STALLED);
	return true;
}

int stall_left_ms(struct connection *c)
{
	uint64_t left;

	if (!may_stall(c) || stream_has_room(c, stream_free(c)))
		return -1;
	/* Whatever the time is, it is over with the next look. */
	if (only_we_read(c))
		relaxed_store(&c->full_ns, LONG_AGO);
	left = left_ns(c);
	return left ? (int)(left / 1000000u) + 1 : 0;
}
