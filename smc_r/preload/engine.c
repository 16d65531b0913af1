/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* engine: the life of the engine in one process: start, fork, end. */
#include "smc_r/preload/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/single_threaded.h>

#include "conf/rundir.h"
#include "smc_r/connection/connection.h"
#include "smc_r/connection/passthrough.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/fallback/half_close.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/outcome.h"
#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/os/barrier.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/exec_check.h"
#include "smc_r/socket/sandbox.h"
#include "smc_r/socket/successor.h"
#include "smc_r/status/segment.h"

/*
 * The thread that makes a copy of us now, by its id; 0: none. Written under the
 * lock that it holds. A program may run what pthread_atfork() was given by
 * itself, around a clone() that we see as well (Firefox): what comes first
 * before the copy, and first after it on either side, counts. It is 0 also
 * while a copy is made that gets nothing, before which there is nothing to be
 * done twice.
 */
FORK_PAGE static _Atomic uint32_t forking;

/*
 * What the copy gets: all; nothing, as nobody knows this process; or nothing,
 * as it has a slot and no connection. A thread that forks finds its last
 * answer, and seldom has to write another one, in a page that the fork itself
 * writes to.
 */
static __thread enum {
	COPY_WHOLE,
	COPY_BARE,
	COPY_EMPTY,
} copy;

/* Others may know of this process: by a slot, or by the registry. */
static bool is_known(void)
{
	return !process.confined && (segment_is_open() || registry_is_open());
}

/* Another thread could be at work on any of that. */
static bool has_nothing_to_pass_on(void)
{
	return __libc_single_threaded && !process_vforks &&
	       fdtable_connections() == 0 && !segment_holds_any() &&
	       !linkgroup_list_has_any() && !identity_is_open() &&
	       !registry_is_open() && !epoll_shared_has_any();
}

static void choose_copy(void)
{
	int now = COPY_BARE;

	/* Is this itself a copy that nobody has noticed? */
	if (is_known())
		process_tid();
	if (is_known())
		now = has_nothing_to_pass_on() ? COPY_EMPTY : COPY_WHOLE;
	if ((int)copy != now)
		copy = now;
}

static void before_fork(void)
{
	if (atomic_load(&forking) && atomic_load(&forking) == process_tid())
		return;
	sleepers_reap();
	choose_copy();
	process_count_fork();
	if (copy != COPY_WHOLE)
		return;
	engine_lock_for_fork();
	atomic_store(&forking, process_tid());
	handshake_before_fork();
	epoll_shared_before_fork();
	registry_before_fork();
	process_before_fork();
	if (!segment_before_fork()) {
		connection_drop_native();
		passthrough_drop_all();
		segment_before_uncounted_fork();
	}
}

static void after_fork_in_parent(void)
{
	if (copy != COPY_WHOLE || atomic_load(&forking) != process_tid())
		return;
	atomic_store(&forking, 0);
	segment_after_fork(false);
	engine_unlock_after_fork(false);
}

FORK_TEXT static void after_fork_in_child(void)
{
	if (copy == COPY_BARE) {
		copy = COPY_WHOLE;
		process_is_empty_copy = false;
		process_forked_bare();
		sleepers_forked();
		return;
	}
	if (copy == COPY_EMPTY) {
		copy = COPY_WHOLE;
		process_is_empty_copy = true;
		passthrough_leave();
		segment_leave_files();
		return;
	}
	if (!atomic_exchange(&forking, 0))
		return;
	process_is_empty_copy = false;
	process_forked();
	segment_after_fork(true);
	linkgroup_forked();
	registry_forked();
	connection_forked();
	epoll_shared_forked();
	engine_unlock_after_fork(true);
}

/* An empty copy, or a child that nothing of ours saw being made (clone by
 * number): it becomes a holder of what it inherited now, at its first call. */
static void join_late(void)
{
	atomic_store(&forking, 0);
	copy = COPY_WHOLE;
	if (process_is_empty_copy)
		segment_begin_empty();
	else if (!segment_before_fork())
		segment_before_uncounted_fork();
	if (!process_is_empty_copy)
		segment_after_fork(true);
	process_is_empty_copy = false;
	linkgroup_forked();
	registry_forked();
	connection_forked();
	epoll_shared_forked();
}

void engine_before_fork(void)
{
	if (!process.off)
		before_fork();
}

void engine_after_fork(pid_t pid)
{
	if (process.off)
		return;
	if (pid == 0)
		after_fork_in_child();
	else
		after_fork_in_parent();
	if (pid < 0)
		engine_fork_failed();
}

void engine_before_sharing(void)
{
	if (!process.off)
		successor_all(REASON_DEMOTED_CALL);
}

/* Not a word of ours is touched: numbers that are private here are its
 * parent's.
 */
void engine_leave(void)
{
	process.off = true;
	process_on_copy = NULL;
	fdtable_end_tracking();
	passthrough_leave();
}

/* A filter that was set before exec allows no more than what the loader has
 * done itself, so nothing here asks the kernel for anything but memory. */
void engine_start(void)
{
	real_init();
	process_read_environment();
	if (process.off)
		return;
	exec_check_init();
	epoll_shared_init();
	if (fdtable_init() < 0) {
		process.off = true;
		return;
	}
	offer_init(rundir_path());
	process_on_copy = join_late;
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void engine_stand_aside(void)
{
	real_init();
	process.off = true;
}

void engine_begin(void)
{
	if (!fdtable || process.off || process_is_foreign())
		return;
	engine_lock();
	if (!process.begun) {
		process_begin();
		/* At once, as threads would make it slow. */
		barrier_register();
	}
	engine_unlock();
}

/* The kernel closes what an exit leaves open. */
static void leave_halves(void)
{
	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct connection *c = connection_of(fd);

		if (c && !atomic_load(&c->dead) && c->rmb &&
		    segment_slot_is_mine(c->slot)) {
			outcome_tell(c, fd);
			half_close_follow(c, fd);
		}
	}
}

void engine_stop(void)
{
	if (process.off || process_is_empty_copy || !is_known() ||
	    process_is_foreign())
		return;
	leave_halves();
	engine_lock();
	identity_close();
	segment_close();
	engine_unlock();
}

void engine_fork_failed(void)
{
	if (process.off || !is_known() || copy == COPY_EMPTY)
		return;
	engine_lock();
	segment_fork_failed();
	registry_fork_failed();
	engine_unlock();
}

void engine_retire(uint32_t reason)
{
	successor_all(reason);
	process.off = true;
	engine_lock();
	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct connection *c = connection_of(fd);

		if (c && c->epoll.members &&
		    connection_phase(c) == PHASE_NATIVE)
			connection_on_native(c, true);
	}
	/* So that a close needs nothing but the kernel's. */
	connection_drop_native();
	passthrough_drop_all();
	engine_unlock();
}

/* Shadows of ours would need calls, and instances are the kernel's alone. */
static void leave_instances(void)
{
	for (int fd = 0; fd < fdtable_program_end(); fd++)
		if (epoll_of(fd) && epoll_of(fd)->shadow >= 0)
			epoll_release_to_kernel(epoll_of(fd),
						REASON_DEMOTED_SANDBOX);
}

void engine_confine(void)
{
	if (exec_check_inherits_listeners())
		engine_begin();
	if (process.begun) {
		successor_adopt_listeners();
		sandbox_leave_listeners();
		engine_retire(REASON_DEMOTED_SANDBOX);
		leave_instances();
		sandbox_hold();
	}
	process.off = true;
	process.confined = true;
}
