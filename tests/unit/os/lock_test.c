/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/os/lock.h"

#include <pthread.h>
#include <setjmp.h>

#include "tests/unit/children.h"

struct shared {
	struct status_stream stream;
	_Atomic int gate;
	_Atomic int gate2;
	uint64_t plain; /* guarded by the lock, and by nothing else */
};

static struct shared *shared;

static void setup(void)
{
	process_init();
	alarm(15);
	shared = children_share(sizeof(*shared));
}

TestSuite(lock, .init = setup);

static void take_and_give(void)
{
	bool taken = stream_lock(&shared->stream);

	cr_assert(taken);
	stream_unlock(&shared->stream, taken);
}

Test(lock, it_carries_its_holder_and_is_free_afterwards)
{
	bool taken = stream_lock(&shared->stream);

	cr_assert(taken);
	cr_assert_eq(atomic_load(&shared->stream.lock), process_tid());
	cr_assert_eq(process_tid(), (uint32_t)gettid());
	stream_unlock(&shared->stream, taken);
	cr_assert_eq(atomic_load(&shared->stream.lock), 0);
	take_and_give();
}

/* ---- several threads, several processes ---- */

#define ROUNDS 20000

static void *count_up(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		bool taken = stream_lock(&shared->stream);

		if (!taken)
			atomic_store((_Atomic int *)argument, 1);
		shared->plain++;
		stream_unlock(&shared->stream, taken);
	}
	return NULL;
}

Test(lock, threads_exclude_each_other)
{
	static _Atomic int nested;
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		cr_assert_eq(
		    pthread_create(&thread[i], NULL, count_up, &nested), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	cr_assert_eq(shared->plain, 4 * ROUNDS);
	cr_assert_eq(atomic_load(&nested), 0);
	cr_assert_eq(atomic_load(&shared->stream.waiters), 0);
	cr_assert_eq(atomic_load(&shared->stream.lock), 0);
}

static void count_as_child(int number, void *argument)
{
	_Atomic int nested = 0;

	(void)number;
	(void)argument;
	process_forked();
	count_up(&nested);
	children_must(nested == 0);
}

Test(lock, forked_processes_exclude_each_other)
{
	/* The parent's number is in the cache that children inherit. */
	take_and_give();
	children_run(4, count_as_child, NULL);
	cr_assert_eq(shared->plain, 4 * ROUNDS);
	cr_assert_eq(atomic_load(&shared->stream.lock), 0);
}

static void *hold_for_a_while(void *argument)
{
	const struct timespec pause = {0, 20000000};
	bool taken = stream_lock(&shared->stream);

	(void)argument;
	atomic_store(&shared->gate, 1);
	nanosleep(&pause, NULL);
	shared->plain = 7;
	stream_unlock(&shared->stream, taken);
	return NULL;
}

Test(lock, who_finds_it_held_for_long_waits_to_the_end)
{
	pthread_t thread;
	bool taken;

	cr_assert_eq(pthread_create(&thread, NULL, hold_for_a_while, NULL), 0);
	children_wait_for(&shared->gate, 1);
	taken = stream_lock(&shared->stream);
	cr_assert(taken);
	cr_assert_eq(shared->plain, 7);
	stream_unlock(&shared->stream, taken);
	pthread_join(thread, NULL);
}

/* ---- holders that never give it back ---- */

static void die_holding(int number, void *argument)
{
	(void)number;
	(void)argument;
	process_forked();
	children_must(stream_lock(&shared->stream));
	raise(SIGKILL);
}

Test(lock, it_is_taken_from_a_process_that_died)
{
	cr_assert_eq(children_wait(children_start(die_holding, 0, NULL)),
		     256 + SIGKILL);
	cr_assert_neq(atomic_load(&shared->stream.lock), 0);
	take_and_give();
}

/* The parent may be the very one that has to wait for its child. */
Test(lock, it_is_taken_from_a_process_that_died_and_was_not_waited_for)
{
	pid_t pid = children_start(die_holding, 0, NULL);
	siginfo_t info;

	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	take_and_give();
	cr_assert_eq(children_wait(pid), 256 + SIGKILL);
}

static void *end_holding(void *argument)
{
	(void)argument;
	(void)stream_lock(&shared->stream);
	return NULL;
}

Test(lock, it_is_taken_from_a_thread_that_ended)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, end_holding, NULL), 0);
	pthread_join(thread, NULL);
	take_and_give();
}

static void die_waiting(int number, void *argument)
{
	(void)number;
	(void)argument;
	process_forked();
	atomic_store(&shared->gate, 1);
	(void)stream_lock(&shared->stream);
}

Test(lock, one_who_died_in_the_queue_holds_nobody_up)
{
	bool taken = stream_lock(&shared->stream);
	pid_t pid = children_start(die_waiting, 0, NULL);
	const struct timespec pause = {0, 10000000};

	children_wait_for(&shared->gate, 1);
	nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	cr_assert_eq(children_wait(pid), 256 + SIGKILL);
	stream_unlock(&shared->stream, taken);
	take_and_give();
	shared->plain = 0;
	children_run(2, count_as_child, NULL);
	cr_assert_eq(shared->plain, 2 * ROUNDS);
}

/* ---- signals on top of the holder ---- */

static volatile sig_atomic_t nested_result = -1;

static void enter_again(int number)
{
	bool taken = stream_lock(&shared->stream);

	(void)number;
	nested_result = taken;
	stream_unlock(&shared->stream, taken);
}

Test(lock, a_handler_on_top_of_the_holder_passes_through)
{
	bool taken;

	signal(SIGUSR1, enter_again);
	taken = stream_lock(&shared->stream);
	raise(SIGUSR1);
	cr_assert_eq(nested_result, 0);
	cr_assert_eq(atomic_load(&shared->stream.lock), process_tid());
	stream_unlock(&shared->stream, taken);
	/* On top of nobody it is as everybody. */
	raise(SIGUSR1);
	cr_assert_eq(nested_result, 1);
	cr_assert_eq(atomic_load(&shared->stream.lock), 0);
}

/* Handlers may run on a stack that lies anywhere. */
static void enter_on_other_stack(void *memory, size_t bytes)
{
	stack_t stack = {.ss_sp = memory, .ss_size = bytes};
	struct sigaction action = {.sa_handler = enter_again,
				   .sa_flags = SA_ONSTACK};
	bool taken;

	cr_assert_eq(sigaltstack(&stack, NULL), 0);
	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	nested_result = -1;
	taken = stream_lock(&shared->stream);
	raise(SIGUSR1);
	cr_assert_eq(nested_result, 0);
	cr_assert_eq(atomic_load(&shared->stream.lock), process_tid());
	stream_unlock(&shared->stream, taken);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

#define STACK_BYTES 65536

Test(lock, a_handler_on_a_stack_below_passes_through)
{
	void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	cr_assert_lt((uintptr_t)memory, (uintptr_t)&memory);
	enter_on_other_stack(memory, STACK_BYTES);
}

struct high {
	void *memory;
};

static void *enter_above(void *argument)
{
	struct high *high = argument;

	enter_on_other_stack(high->memory, STACK_BYTES);
	return NULL;
}

/* The first thread's stack lies above those of all others. */
Test(lock, a_handler_on_a_stack_above_passes_through)
{
	unsigned char memory[STACK_BYTES] __attribute__((aligned(64)));
	struct high high = {memory};
	pthread_t thread;

	memset(memory, 0, sizeof(memory));
	cr_assert_eq(pthread_create(&thread, NULL, enter_above, &high), 0);
	pthread_join(thread, NULL);
}

static sigjmp_buf place;

static void leave(int number)
{
	(void)number;
	siglongjmp(place, 1);
}

static __attribute__((noinline)) void hold_and_be_left(int depth)
{
	volatile unsigned char room[256] = {0};

	if (depth > 0) {
		hold_and_be_left(depth - 1);
	} else {
		(void)stream_lock(&shared->stream);
		raise(SIGUSR1);
	}
	room[0]++;
}

Test(lock, one_that_siglongjmp_left_behind_is_taken_again)
{
	signal(SIGUSR1, leave);
	if (sigsetjmp(place, 1) == 0)
		hold_and_be_left(4);
	cr_assert_eq(atomic_load(&shared->stream.lock), process_tid());
	take_and_give();
	cr_assert_eq(atomic_load(&shared->stream.lock), 0);
}

/* A process that was made behind the back of the fork handlers. */
static void count_unseen(int number, void *argument)
{
	_Atomic int nested = 0;

	(void)argument;
	children_meet(&shared->gate2, 2);
	children_must(process_tid() == (uint32_t)gettid());
	count_up(&nested);
	children_must(nested == 0);
	(void)number;
}

Test(lock, a_child_that_no_handler_saw_has_a_number_of_its_own)
{
	pid_t pid;
	_Atomic int nested = 0;

	take_and_give();
	pid = _Fork();
	if (pid == 0) {
		alarm(CHILDREN_SECONDS);
		count_unseen(0, NULL);
		_exit(0);
	}
	cr_assert_gt(pid, 0);
	children_meet(&shared->gate2, 2);
	count_up(&nested);
	cr_assert_eq(children_wait(pid), 0);
	cr_assert_eq(atomic_load(&nested), 0);
	cr_assert_eq(shared->plain, 2 * ROUNDS);
}
