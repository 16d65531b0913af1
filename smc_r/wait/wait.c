/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* wait: a thread that has nothing to read, or no room to write. */
#include "smc_r/wait/wait.h"

#include <pthread.h>

#include "smc_r/connection/spin.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/direction.h"
#include "smc_r/wait/stall.h"
#include "smc_r/wait/wait_sleep.h"

#define POLLS_A_ROUND      8
#define POLLS_BEFORE_CLOCK 64
#define SPIN_ROOM_BYTES    8192

/* ---- spinning ---- */

static bool changed_in(const struct connection *c, uint64_t seen)
{
	return relaxed_load(&c->in_producer->cursor) != seen ||
	       relaxed_load(&c->in_producer->flags);
}

/* A writer that is awake goes on with little room; only one that has to be
 * woken waits for a third. */
static bool changed_out(const struct connection *c, uint64_t seen)
{
	uint64_t cursor = relaxed_load(&c->out_consumer->cursor);

	return cursor - seen >= SPIN_ROOM_BYTES;
}

/* Most answers come at once: look without a clock, and before anything is asked
 * that only matters to a long wait. */
bool wait_briefly(struct connection *c)
{
	uint64_t seen =
	    __atomic_load_n(&c->slot->rx.peer_position, __ATOMIC_RELAXED);

	first_burst_end();
	if (process.spin_us == 0 || peer_is_on_our_core(c))
		return false;
	for (int i = 0; i < POLLS_BEFORE_CLOCK; i++) {
		if (changed_in(c, seen)) {
			/* It comes while we go back to where it is copied. */
			stream_expect(c);
			spin_hit(&c->spin_score);
			return true;
		}
		/* The other thread of this core may be the one that we wait
		 * for. */
		sys_relax();
	}
	return false;
}

static bool spin(struct connection *c, uint64_t seen,
		 const struct timespec *timeout, struct spin *s,
		 bool (*changed)(const struct connection *, uint64_t))
{
	s->start_ns = 0;
	if (process.spin_us == 0 ||
	    !spin_begin(s, &c->spin_score, peer_is_on_our_core(c),
			sys_end_ns(timeout)))
		return false;
	do {
		for (int i = 0; i < POLLS_A_ROUND; i++) {
			if (changed(c, seen)) {
				spin_hit(&c->spin_score);
				return true;
			}
			sys_relax();
		}
	} while (spin_step(s));
	return false;
}

/* ---- sleeping ---- */

/* Among the rings that the first thread took there may be one for a thread that
 * waits in an epoll instance. */
static void pass_on(struct connection *c, bool first)
{
	inject_step(STEP_DRAINED);
	if (first)
		connection_pass_on(c);
}

static int sleep_for_input(struct connection *c, int fd, size_t need,
			   const struct timespec *timeout, bool has_part)
{
	struct wait_sleep s;
	bool first;
	int result;

	wait_sleep_begin(&s, timeout, has_part);
	do {
		result = 0;
		/* This comes before arming: the first one before us may have
		 * taken rings until now. */
		first = sleepers_first(place_for_data(c));
		inject_nap();
		atomic_store(&c->own_wait->armed_data, RMB_ARMED);
		atomic_thread_fence(memory_order_seq_cst);
		/* Without the barrier a ring may never come. */
		if (!connection_settle(c))
			first = false;
		inject_step(STEP_ARMED);
		if (input_state(c, fd, need) != INPUT_NONE ||
		    demotion_is_due(c) || atomic_load(&c->dead))
			break;
		result = wait_sleep_for_bytes(c, fd, first, &s);
		pass_on(c, first);
		fd = connection_fd(c, fd);
	} while (result == 0 && input_state(c, fd, need) == INPUT_NONE &&
		 !demotion_is_due(c));
	return result;
}

int wait_for_input(struct connection *c, int fd, size_t need,
		   const struct timespec *timeout, bool has_part,
		   struct sleeper *call)
{
	uint64_t seen = atomic_load(&c->in_producer->cursor);
	struct sleep_place place = place_for_data(c);
	struct spin s;
	int result;

	if (input_state(c, fd, need) != INPUT_NONE)
		return 0;
	first_burst_end();
	if (spin(c, seen, timeout, &s, changed_in)) {
		/* It comes while we go back to where it is copied. */
		stream_expect(c);
		return 0;
	}
	sleeper_begin(call, &place);
	pthread_cleanup_push(sleeper_end, call);
	result = sleep_for_input(c, fd, need, timeout, has_part);
	pthread_cleanup_pop(0);
	sleeper_wake(call);
	spin_slept(&c->spin_score, &s);
	return result;
}

static int sleep_for_output(struct connection *c, int fd,
			    const struct timespec *timeout, bool has_part)
{
	struct wait_sleep s;
	bool first;
	int result;

	wait_sleep_begin(&s, timeout, has_part);
	do {
		result = 0;
		first = sleepers_first(place_for_room(c));
		inject_nap();
		atomic_store(&c->own_wait->armed_room, RMB_ARMED);
		atomic_thread_fence(memory_order_seq_cst);
		if (!connection_settle_room(c))
			first = false;
		inject_step(STEP_ARMED);
		if (output_is_ready(c, fd) || atomic_load(&c->dead))
			break;
		result = wait_sleep_for_room(c, fd, first, &s);
		pass_on(c, first);
		fd = connection_fd(c, fd);
	} while (result == 0 && !output_is_ready(c, fd));
	return result;
}

int wait_for_output(struct connection *c, int fd,
		    const struct timespec *timeout, bool has_part,
		    struct sleeper *call)
{
	uint64_t seen = atomic_load(&c->out_consumer->cursor);
	struct sleep_place place = place_for_room(c);
	struct spin s;
	int result;

	segment_count(buffer_full);
	stall_begin(c);
	if (output_is_ready(c, fd))
		return 0;
	if (spin(c, seen, timeout, &s, changed_out))
		return 0;
	sleeper_begin(call, &place);
	pthread_cleanup_push(sleeper_end, call);
	result = sleep_for_output(c, fd, timeout, has_part);
	pthread_cleanup_pop(0);
	sleeper_wake(call);
	spin_slept(&c->spin_score, &s);
	return result;
}
