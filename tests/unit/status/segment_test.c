/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* segment: the slots of a process and of its forked children. */
#include "smc_r/status/segment.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/children.h"
#include "tests/unit/place.h"

TestSuite(segment, .init = place_make, .fini = place_remove);

static struct status_slot *get(void)
{
	struct status_slot *slot = segment_slot_get();

	cr_assert_not_null(slot);
	return slot;
}

/* ---- one process ---- */

Test(segment, it_is_a_file_that_names_its_process)
{
	struct status_header *h;
	struct stat st;
	char name[64];

	cr_assert_null(segment_header());
	cr_assert_eq(segment_open(), 0);
	cr_assert_eq(segment_open(), 0);
	h = segment_header();
	cr_assert_not_null(h);
	cr_assert_eq(h->magic, STATUS_MAGIC);
	cr_assert_eq(h->version, STATUS_VERSION);
	cr_assert_eq(h->slot_size, sizeof(struct status_slot));
	cr_assert_eq(h->pid, getpid());
	cr_assert_eq(h->uid, geteuid());
	cr_assert_eq(h->start, process.start);
	cr_assert_str_eq(h->program, process.program);
	cr_assert_eq(atomic_load(&h->holders[0].pid), getpid());
	snprintf(name, sizeof(name), PLACE_STATUS "/%d.%" PRIu64, getpid(),
		 process.start);
	cr_assert_eq(stat(place_path(name), &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	segment_close();
	cr_assert_eq(stat(place_path(name), &st), -1);
	cr_assert_null(segment_header());
}

Test(segment, a_process_without_a_run_directory_has_none)
{
	uint64_t used;

	place_remove();
	cr_assert_lt(segment_open(), 0);
	cr_assert_null(segment_header());
	cr_assert_null(segment_slot_get());
	cr_assert_lt(segment_reserve(1, UINT64_MAX, &used), 0);
	/* Counting is always allowed, and goes nowhere. */
	segment_count(doorbells);
	segment_give_back(1);
	segment_close();
	place_make();
}

Test(segment, a_limit_of_file_sizes_is_an_error_and_leaves_no_file)
{
	const struct rlimit small = {65536, RLIM_INFINITY};

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	cr_assert_lt(segment_open(), 0);
	cr_assert_null(segment_slot_get());
	/* The totals are small enough. */
	cr_assert_leq(place_count(place_path(PLACE_STATUS)), 1);
}

Test(segment, slots_are_apart_empty_and_ours)
{
	struct status_slot *slot[100];

	for (int i = 0; i < 100; i++) {
		slot[i] = get();
		for (int k = 0; k < i; k++)
			cr_assert_neq(slot[k], slot[i]);
		cr_assert_eq(atomic_load(&slot[i]->state), STATUS_INIT);
		cr_assert_eq(slot[i]->pid, getpid());
		cr_assert_eq(atomic_load(&slot[i]->rx.position), 0);
		cr_assert(segment_slot_is_mine(slot[i]));
		memset(&slot[i]->rx, 0xff, sizeof(slot[i]->rx));
		memset(slot[i]->handshake, 0xff, sizeof(slot[i]->handshake));
	}
	cr_assert_geq(atomic_load(&segment_header()->slot_count), 100);
	/* All memory is there: a fault would be a signal. */
	cr_assert_leq(atomic_load(&segment_header()->slot_count), 128);
}

Test(segment, a_slot_that_was_freed_is_used_again_and_is_clean)
{
	for (int i = 0; i < 5000; i++) {
		struct status_slot *slot = get();

		cr_assert_eq(slot->cookie, 0);
		cr_assert_eq(slot->reason, 0);
		cr_assert_eq(atomic_load(&slot->tx.position), 0);
		slot->cookie = 1;
		slot->reason = 1;
		atomic_store(&slot->tx.position, 3);
		cr_assert(segment_slot_leave(slot));
		segment_slot_free(slot);
	}
	cr_assert_leq(atomic_load(&segment_header()->slot_count), 32);
	cr_assert_eq(atomic_load(&segment_header()->counters.bytes_sent),
		     15000);
}

Test(segment, slots_do_not_go_on_for_ever)
{
	struct status_slot *slot;
	uint32_t n = 0;

	while ((slot = segment_slot_get()) != NULL) {
		n++;
		cr_assert_leq(n, STATUS_SLOTS_MAX);
	}
	cr_assert_geq(n, STATUS_SLOTS_MAX - 64);
	cr_assert_null(segment_slot_get());
}

/* ---- fork ---- */

struct family {
	_Atomic int step;
	_Atomic int gate;
	_Atomic int ready;
	_Atomic int wrong;
	struct status_slot *slot;
};

static pid_t fork_engine(children_job *job, int number, void *argument);

/* What the engine does around a fork. */
static void in_child(int number, void *argument)
{
	struct {
		children_job *job;
		void *argument;
	} *call = argument;

	process_forked();
	segment_after_fork(true);
	call->job(number, call->argument);
}

static pid_t fork_engine(children_job *job, int number, void *argument)
{
	struct {
		children_job *job;
		void *argument;
	} call = {job, argument};
	pid_t pid;

	segment_before_fork();
	pid = children_start(in_child, number, &call);
	segment_after_fork(false);
	return pid;
}

static void hold_and_leave(int number, void *argument)
{
	struct family *f = argument;

	(void)number;
	children_must(!segment_slot_is_mine(f->slot));
	atomic_store(&f->step, 1);
	children_wait_for(&f->step, 2);
	children_must(segment_slot_leave(f->slot));
	segment_slot_free(f->slot);
	segment_close();
}

Test(segment, parent_and_child_hold_a_slot_together)
{
	struct family *f = children_share(sizeof(*f));
	pid_t pid;

	f->slot = get();
	pid = fork_engine(hold_and_leave, 0, f);
	children_wait_for(&f->step, 1);
	cr_assert(!segment_slot_is_mine(f->slot));
	/* Not the last one: the child still has it. */
	cr_assert(!segment_slot_leave(f->slot));
	atomic_store(&f->step, 2);
	cr_assert_eq(children_wait(pid), 0);
	cr_assert_eq(atomic_load(&f->slot->state), STATUS_FREE);
}

static void move_and_free(int number, void *argument)
{
	struct family *f = argument;

	(void)number;
	children_wait_for(&f->step, 1);
	atomic_store(&f->slot->tx.position, 1000);
	atomic_store(&f->slot->rx.position, 2000);
	children_must(segment_slot_leave(f->slot));
	segment_slot_free(f->slot);
	segment_close();
}

Test(segment, bytes_of_a_slot_that_the_child_frees_are_counted)
{
	struct family *f = children_share(sizeof(*f));
	struct status_totals t;
	pid_t pid;

	f->slot = get();
	pid = fork_engine(move_and_free, 0, f);
	cr_assert(!segment_slot_leave(f->slot));
	atomic_store(&f->step, 1);
	cr_assert_eq(children_wait(pid), 0);
	segment_close();
	t = place_totals();
	cr_assert_eq(t.counters.bytes_sent, 1000);
	cr_assert_eq(t.counters.bytes_received, 2000);
}

static void hold_and_die(int number, void *argument)
{
	struct family *f = argument;

	(void)number;
	children_must(!segment_slot_is_mine(f->slot));
	raise(SIGKILL);
}

Test(segment, a_child_that_was_killed_holds_nothing)
{
	struct family *f = children_share(sizeof(*f));

	f->slot = get();
	children_wait(fork_engine(hold_and_die, 0, f));
	cr_assert(segment_slot_is_mine(f->slot));
	cr_assert(segment_slot_leave(f->slot));
}

Test(segment, a_child_that_was_killed_and_not_waited_for_holds_nothing)
{
	struct family *f = children_share(sizeof(*f));
	siginfo_t info;
	pid_t pid;

	f->slot = get();
	pid = fork_engine(hold_and_die, 0, f);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	cr_assert(segment_slot_is_mine(f->slot));
	cr_assert(segment_slot_leave(f->slot));
	children_wait(pid);
}

/* The child that it saw, or thinks it did, died since. */
Test(segment, who_saw_a_child_live_does_not_look_again)
{
	struct family *f = children_share(sizeof(*f));
	uint64_t cookie;

	f->slot = get();
	cookie = f->slot->cookie;
	children_wait(fork_engine(hold_and_die, 0, f));
	cr_assert(!segment_slot_leave_shared(f->slot));
	cr_assert(segment_slot_is_over(f->slot, cookie));
	f->slot = get();
	cr_assert(segment_slot_leave_shared(f->slot));
}

struct program {
	int input[2];
	int executed[2]; /* its end tells */
};

static void execute(int successor, void *argument)
{
	struct program *p = argument;

	if (successor)
		segment_before_successor();
	if (dup2(p->input[0], STDIN_FILENO) == STDIN_FILENO)
		execlp("cat", "cat", NULL);
	_exit(1);
}

static pid_t fork_program(struct program *p, bool successor)
{
	pid_t pid;
	char byte;

	cr_assert_eq(pipe2(p->input, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(p->executed, O_CLOEXEC), 0);
	pid = fork_engine(execute, successor, p);
	close(p->executed[1]);
	cr_assert_eq(read(p->executed[0], &byte, 1), 0);
	return pid;
}

static void end_program(struct program *p, pid_t pid)
{
	close(p->input[1]);
	cr_assert_eq(children_wait(pid), 0);
}

Test(segment, a_child_that_executed_a_program_holds_what_that_got)
{
	struct status_slot *slot = get();
	struct program successor, other;
	pid_t pid = fork_program(&other, false);
	pid_t successor_pid;

	cr_assert(segment_slot_is_mine(slot));
	successor_pid = fork_program(&successor, true);
	cr_assert(!segment_slot_is_mine(slot));
	end_program(&successor, successor_pid);
	cr_assert(segment_slot_is_mine(slot));
	end_program(&other, pid);
	cr_assert(segment_slot_leave(slot));
}

/* RLIMIT_NPROC, or no memory: the handlers ran, and there is no child. */
Test(segment, a_fork_that_failed_leaves_no_holder)
{
	struct status_slot *slot = get();

	segment_before_fork();
	segment_after_fork(false);
	segment_fork_failed();
	cr_assert(segment_slot_is_mine(slot));
	cr_assert(segment_slot_leave(slot));
}

static void end_without_closing(int number, void *argument)
{
	(void)number;
	(void)argument;
	segment_close();
}

/* A server that forks for each connection, whose children just exit. */
Test(segment, slots_that_only_ended_children_held_are_used_again)
{
	for (int i = 0; i < 100; i++) {
		struct status_slot *slot = get();
		pid_t pid = fork_engine(end_without_closing, 0, NULL);

		if (segment_slot_leave(slot))
			segment_slot_free(slot);
		cr_assert_eq(children_wait(pid), 0);
	}
	cr_assert_leq(atomic_load(&segment_header()->slot_count), 64);
}

static void hold_on(int number, void *argument)
{
	struct family *f = argument;

	(void)number;
	atomic_fetch_add(&f->gate, 1);
	children_wait_for(&f->step, 1);
	segment_slot_leave(f->slot);
	segment_close();
}

Test(segment, more_children_than_entries_do_no_harm)
{
	struct family *f = children_share(sizeof(*f));
	pid_t pid[80];

	f->slot = get();
	for (int i = 0; i < 80; i++)
		pid[i] = fork_engine(hold_on, i, f);
	children_wait_for(&f->gate, 80);
	cr_assert(!segment_slot_is_mine(f->slot));
	atomic_store(&f->step, 1);
	for (int i = 0; i < 80; i++)
		cr_assert_eq(children_wait(pid[i]), 0);
	cr_assert(segment_slot_is_mine(f->slot));
	/* The entries can be had again. */
	atomic_store(&f->step, 0);
	atomic_store(&f->gate, 0);
	pid[0] = fork_engine(hold_on, 0, f);
	children_wait_for(&f->gate, 1);
	cr_assert(!segment_slot_is_mine(f->slot));
	atomic_store(&f->step, 1);
	cr_assert_eq(children_wait(pid[0]), 0);
}

/* Entries for children: one more is our own, and one is for all that have
 * none. */
#define ENTRIES (STATUS_HOLDERS_MAX - 2)

Test(segment, is_crowded_by_children_until_one_of_them_is_found_gone)
{
	struct family *f = children_share(sizeof(*f));
	int asked = 0;
	pid_t pid[ENTRIES];

	f->slot = get();
	for (int i = 0; i < ENTRIES; i++) {
		cr_assert(!segment_is_crowded());
		pid[i] = fork_engine(hold_on, i, f);
	}
	children_wait_for(&f->gate, ENTRIES);
	for (int i = 0; i < 200; i++)
		cr_assert(segment_is_crowded());
	atomic_store(&f->step, 1);
	for (int i = 0; i < ENTRIES; i++)
		cr_assert_eq(children_wait(pid[i]), 0);
	while (segment_is_crowded())
		asked++;
	cr_assert_lt(asked, STATUS_HOLDERS_MAX);
}

static void go_deeper(int number, void *argument)
{
	struct family *f = argument;

	children_must(!segment_slot_is_mine(f->slot));
	if (number < 12) {
		/* A slot of its own in each generation. */
		struct status_slot *own = segment_slot_get();

		children_must(own);
		children_must(segment_slot_is_mine(own));
		children_must(
		    children_wait(fork_engine(go_deeper, number + 1, f)) == 0);
		children_must(segment_slot_leave(own));
		segment_slot_free(own);
	}
	segment_slot_leave(f->slot);
	segment_close();
}

Test(segment, generations_of_children_hold_what_they_inherited)
{
	struct family *f = children_share(sizeof(*f));

	f->slot = get();
	cr_assert_eq(children_wait(fork_engine(go_deeper, 0, f)), 0);
	cr_assert(segment_slot_is_mine(f->slot));
}

/* ---- brothers that fork at the same time from one segment ---- */

#define BROTHERS 4
#define FORKS    40

static void stay_a_moment(int number, void *argument)
{
	struct family *f = argument;
	uint64_t before = atomic_load(&f->slot->holders);

	(void)number;
	/* Nobody else goes by our entry: leaving takes away one bit that was
	 * there. */
	segment_slot_leave(f->slot);
	if (atomic_load(&f->slot->holders) == before)
		atomic_store(&f->wrong, 1);
	sched_yield();
}

static void fork_often(int number, void *argument)
{
	struct family *f = argument;

	(void)number;
	children_meet(&f->gate, BROTHERS);
	for (int i = 0; i < FORKS; i++)
		children_must(children_wait(fork_engine(stay_a_moment, i, f)) ==
			      0);
	if (segment_slot_is_mine(f->slot))
		atomic_store(&f->wrong, 2);
	atomic_fetch_add(&f->ready, 1);
	children_wait_for(&f->ready, BROTHERS);
	segment_slot_leave(f->slot);
	segment_close();
}

Test(segment, processes_that_fork_at_once_share_no_entry)
{
	struct family *f = children_share(sizeof(*f));
	pid_t pid[BROTHERS];

	f->slot = get();
	for (int i = 0; i < BROTHERS; i++)
		pid[i] = fork_engine(fork_often, i, f);
	for (int i = 0; i < BROTHERS; i++)
		cr_assert_eq(children_wait(pid[i]), 0);
	cr_assert_eq(atomic_load(&f->wrong), 0, "kind %d",
		     atomic_load(&f->wrong));
	cr_assert(segment_slot_is_mine(f->slot));
}
