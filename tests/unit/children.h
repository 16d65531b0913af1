/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * children: child processes of a unit test, each of which does one job and says
 * by its exit whether all was well.
 *
 * A job is a function of the child; it uses children_must() where the test
 * itself would use cr_assert(). A child ends with its parent, and after a time.
 *
 * Ownership: the process that starts a child waits for it.
 * Locking:   none.
 */
#ifndef TESTS_UNIT_CHILDREN_H
#define TESTS_UNIT_CHILDREN_H

#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN_SECONDS 40
#define CHILDREN_MAX     64

typedef void children_job(int number, void *argument);

#define children_must(condition)                                               \
	do {                                                                   \
		if (!(condition))                                              \
			children_fail(__FILE__, __LINE__, #condition);         \
	} while (0)

static inline _Noreturn void children_fail(const char *file, int line,
					   const char *what)
{
	fprintf(stderr, "%s:%d: in a child: not so: %s (errno %d)\n", file,
		line, what, errno);
	_exit(1);
}

/* Zeroed memory that the test and all its children see. */
static inline void *children_share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	return memory;
}

static inline pid_t children_start(children_job *job, int number,
				   void *argument)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(CHILDREN_SECONDS);
		job(number, argument);
		_exit(0);
	}
	cr_assert_gt(pid, 0);
	return pid;
}

/* Its exit, or 256 and the signal that ended it. */
static inline int children_wait(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static inline void children_run(int count, children_job *job, void *argument)
{
	pid_t pid[CHILDREN_MAX];

	cr_assert_leq(count, CHILDREN_MAX);
	for (int i = 0; i < count; i++)
		pid[i] = children_start(job, i, argument);
	for (int i = 0; i < count; i++) {
		int end = children_wait(pid[i]);

		cr_expect_eq(end, 0, "child %d ended with %d", i, end);
	}
}

#ifdef __SANITIZE_ADDRESS__
#define CHILDREN_ASAN 1
#else
#define CHILDREN_ASAN 0
#endif
#ifdef __SANITIZE_THREAD__
#define CHILDREN_TSAN 1
#else
#define CHILDREN_TSAN 0
#endif

/* Everybody waits here until `count` have come. */
static inline void children_meet(_Atomic int *gate, int count)
{
	atomic_fetch_add(gate, 1);
	while (atomic_load(gate) < count)
		sched_yield();
}

/* Waits for a word of shared memory, sleeping. */
static inline void children_wait_for(_Atomic int *word, int value)
{
	static const struct timespec pause = {0, 1000000};

	while (atomic_load(word) != value)
		nanosleep(&pause, NULL);
}

/* xorshift: the same numbers from the same seed, everywhere. */
static inline uint32_t children_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

#endif
