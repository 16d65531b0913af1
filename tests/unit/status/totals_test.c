/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* totals: the memory ledger and the counters of many processes at once. */
#include <fcntl.h>
#include <sys/file.h>

#include "smc_r/status/segment.h"
#include "smc_r/status/status_sweep.h"
#include "smc_r/status/totals.h"
#include "tests/unit/children.h"
#include "tests/unit/place.h"

#define MB         (1u << 20)
#define PROCESSES  32
#define NO_LIMIT   UINT64_MAX
#define COUNT_EACH 1000u

TestSuite(totals, .init = place_make, .fini = place_remove);

struct board {
	_Atomic int gate;
	_Atomic int stop;
	_Atomic uint64_t taken;   /* no more than what the ledger holds */
	_Atomic uint64_t granted; /* reservations that succeeded */
	_Atomic uint64_t refused;
	_Atomic int over_limit;
};

/* ---- memory ---- */

static void check_sum(struct board *b, uint64_t sum)
{
	if (sum > 4 * MB)
		atomic_store(&b->over_limit, 1);
}

static void take_and_give(int number, void *argument)
{
	struct board *b = argument;
	uint64_t random = 77u + (uint64_t)number;
	uint64_t used;

	process_forked();
	children_must(segment_open() == 0);
	children_meet(&b->gate, PROCESSES);
	for (int i = 0; i < 60; i++) {
		uint64_t bytes = 65536 * (1 + children_random(&random) % 16);
		int result = segment_reserve(bytes, 4 * MB, &used);

		if (result == -ENOMEM || result == -EAGAIN) {
			atomic_fetch_add(&b->refused, 1);
			continue;
		}
		children_must(result == 0);
		children_must(used <= 4 * MB);
		atomic_fetch_add(&b->granted, 1);
		check_sum(b, atomic_fetch_add(&b->taken, bytes) + bytes);
		sched_yield();
		atomic_fetch_sub(&b->taken, bytes);
		segment_give_back(bytes);
	}
	segment_close();
}

Test(totals, processes_at_once_never_take_more_than_the_limit)
{
	struct board *b = children_share(sizeof(*b));

	children_run(PROCESSES, take_and_give, b);
	cr_assert_eq(atomic_load(&b->over_limit), 0);
	cr_assert_gt(atomic_load(&b->granted), PROCESSES);
	cr_assert_eq(place_rmb_bytes(), 0);
}

Test(totals, the_limit_is_kept_to_the_byte)
{
	uint64_t used = 99;

	cr_assert_eq(segment_reserve(0, NO_LIMIT, &used), 0);
	cr_assert_eq(used, 0);
	cr_assert_eq(segment_reserve(MB, MB, &used), 0);
	cr_assert_eq(used, MB);
	cr_assert_eq(segment_reserve(1, MB, &used), -ENOMEM);
	cr_assert_eq(used, MB);
	cr_assert_eq(segment_reserve(1, MB + 1, &used), 0);
	segment_give_back(MB);
	cr_assert_eq(segment_reserve(MB - 1, MB, &used), 0);
	cr_assert_eq(segment_reserve(1, MB, &used), -ENOMEM);
	cr_assert_eq(place_rmb_bytes(), MB);
	/* A limit that was lowered beneath what is used refuses too. */
	cr_assert_eq(segment_reserve(1, 4096, &used), -ENOMEM);
}

static void take_and_die(int number, void *argument)
{
	uint64_t used;

	(void)argument;
	process_forked();
	children_must(segment_reserve(MB, NO_LIMIT, &used) == 0);
	if (number & 1)
		raise(SIGKILL);
	segment_close();
}

Test(totals, memory_of_dead_processes_comes_back_when_it_is_needed)
{
	uint64_t used;

	/* Each one that comes sweeps those before it; the last one stays. */
	for (int i = 0; i < 4; i++)
		children_wait(children_start(take_and_die, i, NULL));
	cr_assert_eq(place_rmb_bytes(), MB);
	cr_assert_eq(segment_reserve(2 * MB, 2 * MB, &used), 0);
	cr_assert_eq(used, 2 * MB);
	cr_assert_eq(place_rmb_bytes(), 2 * MB);
	/* Ours and the totals: the dead ones' files are gone. */
	cr_assert_eq(place_count(place_path(PLACE_STATUS)), 2);
}

/* A parent that never waits must not keep memory from others. */
Test(totals, memory_of_a_process_that_nobody_waited_for_comes_back)
{
	pid_t pid = children_start(take_and_die, 1, NULL);
	siginfo_t info;
	uint64_t used;

	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	cr_assert_eq(segment_reserve(MB, MB, &used), 0);
	children_wait(pid);
}

static void take_and_wait(int number, void *argument)
{
	struct board *b = argument;
	uint64_t used;

	(void)number;
	process_forked();
	children_must(segment_reserve(MB, NO_LIMIT, &used) == 0);
	atomic_fetch_add(&b->gate, 1);
	children_wait_for(&b->stop, 1);
	segment_give_back(MB);
	segment_close();
}

Test(totals, memory_of_living_processes_stays_theirs)
{
	struct board *b = children_share(sizeof(*b));
	pid_t pid[3];
	uint64_t used;

	for (int i = 0; i < 3; i++)
		pid[i] = children_start(take_and_wait, i, b);
	children_wait_for(&b->gate, 3);
	cr_assert_eq(segment_reserve(1, 3 * MB, &used), -ENOMEM);
	cr_assert_eq(used, 3 * MB);
	cr_assert_eq(segment_reserve(1, 3 * MB + 1, &used), 0);
	atomic_store(&b->stop, 1);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(children_wait(pid[i]), 0);
	cr_assert_eq(place_rmb_bytes(), 1);
}

/* What another pid namespace sees of us: a number that nobody has here. */
static void take_under_a_number_of_elsewhere(int number, void *argument)
{
	struct board *b = argument;
	uint64_t used;

	process_forked();
	process.pid = 99999999 - number;
	process.start = 1;
	children_must(segment_reserve(MB, NO_LIMIT, &used) == 0);
	atomic_fetch_add(&b->gate, 1);
	children_wait_for(&b->stop, 1);
	if (number)
		raise(SIGKILL);
	segment_give_back(MB);
	segment_close();
}

Test(totals, nobody_sweeps_who_lives_in_another_pid_namespace)
{
	struct board *b = children_share(sizeof(*b));
	pid_t ends = children_start(take_under_a_number_of_elsewhere, 0, b);
	pid_t killed = children_start(take_under_a_number_of_elsewhere, 1, b);
	uint64_t used;

	children_wait_for(&b->gate, 2);
	cr_assert_eq(segment_reserve(1, 2 * MB, &used), -ENOMEM);
	cr_assert_eq(status_sweep(rundir_path()), 0);
	cr_assert_eq(place_rmb_bytes(), 2 * MB);
	atomic_store(&b->stop, 1);
	cr_assert_eq(children_wait(ends), 0);
	cr_assert_eq(children_wait(killed), 256 + SIGKILL);
	cr_assert_eq(place_rmb_bytes(), MB);
	cr_assert_eq(segment_reserve(1, MB, &used), 0);
	cr_assert_eq(place_rmb_bytes(), 1);
}

Test(totals, no_count_falls_below_zero)
{
	_Atomic uint64_t held = 5;

	cr_assert_eq(totals_take_from(&held, 2), 2);
	cr_assert_eq(totals_take_from(&held, 7), 3);
	cr_assert_eq(atomic_load(&held), 0);
}

/* ---- deaths within a change of the ledger ---- */

static struct status_totals *map_totals(void)
{
	void *map;
	int fd = open(place_path(PLACE_STATUS "/" STATUS_TOTALS), O_RDWR);

	cr_assert_geq(fd, 0);
	map = mmap(NULL, sizeof(struct status_totals), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	close(fd);
	return map;
}

Test(totals, a_ledger_that_was_left_open_is_counted_anew)
{
	struct status_totals *t;
	uint64_t used;

	cr_assert_eq(segment_reserve(MB, NO_LIMIT, &used), 0);
	t = map_totals();
	/* One died between the two words, in either order. */
	atomic_fetch_add(&t->rmb_bytes, 5 * MB);
	atomic_store(&t->ledger, STATUS_LEDGER_OPEN);
	cr_assert_eq(segment_reserve(MB, 2 * MB, &used), 0);
	cr_assert_eq(used, 2 * MB);
	atomic_store(&t->rmb_bytes, 0);
	atomic_store(&t->ledger, STATUS_LEDGER_STALE);
	cr_assert_eq(segment_reserve(1, 2 * MB, &used), -ENOMEM);
	cr_assert_eq(used, 2 * MB);
	cr_assert_eq(atomic_load(&t->ledger), 0);
	segment_give_back(MB);
	cr_assert_eq(place_rmb_bytes(), MB);
	munmap(t, sizeof(*t));
}

/* A lock of ours belongs to the open file, which a child has as well. */
static void outlive_the_holder(int number, void *argument)
{
	struct board *b = argument;
	int dir;
	pid_t pid;

	(void)number;
	process_forked();
	children_must(segment_open() == 0);
	segment_before_fork();
	pid = fork();
	children_must(pid >= 0);
	if (pid == 0) {
		process_forked();
		segment_after_fork(true);
		atomic_store(&b->gate, 1);
		children_wait_for(&b->stop, 1);
		_exit(0);
	}
	segment_after_fork(false);
	children_wait_for(&b->gate, 1);
	/* All that the parent has open there is locked when it dies. */
	for (dir = 0; dir < 65536; dir++)
		flock(dir, LOCK_EX | LOCK_NB);
	raise(SIGKILL);
}

Test(totals, locks_of_a_dead_parent_are_not_its_childs)
{
	struct board *b = children_share(sizeof(*b));
	pid_t pid = children_start(outlive_the_holder, 0, b);
	uint64_t used;

	cr_assert_eq(children_wait(pid), 256 + SIGKILL);
	cr_assert_eq(segment_reserve(MB, NO_LIMIT, &used), 0);
	segment_give_back(MB);
	atomic_store(&b->stop, 1);
}

/* ---- counters ---- */

static void count(struct status_slot **slot)
{
	for (unsigned i = 0; i < COUNT_EACH; i++) {
		segment_count(doorbells);
		segment_count(fallbacks[3]);
	}
	/* One connection that ended, and one that did not; both carried bytes
	 * before their handshake was over. */
	for (int i = 0; i < 2; i++) {
		slot[i] = segment_slot_get();
		children_must(slot[i]);
		atomic_store(&slot[i]->rx.position, 5);
		atomic_store(&slot[i]->tx.position, 7);
		atomic_store(&slot[i]->rx.requests, 1);
		atomic_store(&slot[i]->tx.requests, 2);
	}
	children_must(segment_slot_leave(slot[0]));
	segment_slot_free(slot[0]);
}

static void count_and_end(int number, void *argument)
{
	struct status_slot *slot[2];
	struct board *b = argument;

	process_forked();
	children_must(segment_open() == 0);
	count(slot);
	if (number % 3 == 0)
		raise(SIGKILL);
	/* Some end together, so that merges and sweeps meet. */
	if (number % 3 == 1)
		children_meet(&b->gate, PROCESSES / 3);
	segment_close();
}

static void assert_counted(uint64_t processes)
{
	struct status_totals t = place_totals();

	cr_assert_eq(t.counters.doorbells, processes * COUNT_EACH);
	cr_assert_eq(t.counters.fallbacks[3], processes * COUNT_EACH);
	cr_assert_eq(t.counters.bytes_received, processes * 2 * 5);
	cr_assert_eq(t.counters.bytes_sent, processes * 2 * 7);
	cr_assert_eq(t.counters.requests_received, processes * 2);
	cr_assert_eq(t.counters.requests_sent, processes * 2 * 2);
	cr_assert_eq(t.counters.smc_connections, processes * 2);
	cr_assert_eq(t.counters.client_connections, processes * 2);
	cr_assert_eq(t.counters.sleeps, 0);
}

Test(totals, merging_and_sweeping_lose_no_count_and_count_nothing_twice)
{
	struct board *b = children_share(sizeof(*b));
	pid_t pid[30];

	for (int i = 0; i < 30; i++)
		pid[i] = children_start(count_and_end, i, b);
	for (int i = 0; i < 30; i++)
		children_wait(pid[i]);
	/* The last one to come sweeps what the others left. */
	cr_assert_eq(segment_open(), 0);
	assert_counted(30);
	cr_assert_eq(place_count(place_path(PLACE_STATUS)), 2);
}

static void sweep_together(int number, void *argument)
{
	struct board *b = argument;

	(void)number;
	process_forked();
	children_meet(&b->gate, 8);
	children_must(segment_open() == 0);
	segment_close();
}

Test(totals, sweepers_that_meet_count_each_dead_process_once)
{
	struct board *b = children_share(sizeof(*b));

	for (int i = 0; i < 12; i++)
		cr_assert_eq(
		    children_wait(children_start(count_and_end, 3 * i, b)),
		    256 + SIGKILL);
	children_run(8, sweep_together, b);
	assert_counted(12);
	cr_assert_eq(place_count(place_path(PLACE_STATUS)), 1);
}

Test(totals, files_that_are_no_segments_stay)
{
	static const char *const name[] = {
	    PLACE_STATUS "/1x", PLACE_STATUS "/99999999.1",
	    PLACE_STATUS "/99999999", PLACE_STATUS "/.12",
	    PLACE_STATUS "/note"};
	size_t i;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		place_write(name[i], "scrap", 5);
	cr_assert_eq(segment_open(), 0);
	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		cr_assert_eq(access(place_path(name[i]), F_OK), 0, "%s",
			     name[i]);
}
