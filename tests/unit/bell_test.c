/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/bell.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "crew.h"
#include "smc_r/fdtable.h"
#include "smc_r/process.h"
#include "smc_r/real.h"

static int ours, theirs;

static void setup(void)
{
	real_init();
	process_init();
	cr_assert_eq(fdtable_init(), 0);
	cr_assert_eq(bell_pair(&ours, &theirs), 0);
	alarm(20);
}

TestSuite(bell, .init = setup);

static const struct timespec now = {0, 0};
static const struct timespec soon = {0, 20000000};
static const struct timespec late = {15, 0};

Test(bell, ours_is_hidden_and_neither_passes_an_exec)
{
	cr_assert_not_null(fdtable_kind(ours, FDENTRY_HIDDEN));
	cr_assert_null(fdtable_get(theirs));
	cr_assert(fcntl(ours, F_GETFD) & FD_CLOEXEC);
	cr_assert(fcntl(theirs, F_GETFD) & FD_CLOEXEC);
}

Test(bell, a_ring_before_the_sleep_ends_it_at_once)
{
	bell_ring(theirs);
	cr_assert_eq(bell_wait(ours, NULL), BELL_RUNG);
	bell_ring(theirs);
	cr_assert_eq(bell_wait(ours, &late), BELL_RUNG);
	/* It was taken. */
	cr_assert_eq(bell_wait(ours, &now), BELL_TIMEOUT);
}

Test(bell, it_rings_both_ways)
{
	bell_ring(ours);
	cr_assert_eq(bell_wait(theirs, NULL), BELL_RUNG);
	bell_ring(theirs);
	cr_assert_eq(bell_wait(ours, NULL), BELL_RUNG);
}

Test(bell, without_a_ring_the_time_passes)
{
	cr_assert_eq(bell_wait(ours, &now), BELL_TIMEOUT);
	cr_assert_eq(bell_wait(ours, &soon), BELL_TIMEOUT);
}

static void ring_from_child(int number, void *argument)
{
	(void)number;
	(void)argument;
	nanosleep(&soon, NULL);
	bell_ring(theirs);
}

Test(bell, a_sleeper_is_woken_from_another_process)
{
	pid_t pid = crew_start(ring_from_child, 0, NULL);

	cr_assert_eq(bell_wait(ours, NULL), BELL_RUNG);
	cr_assert_eq(crew_wait(pid), 0);
	pid = crew_start(ring_from_child, 0, NULL);
	cr_assert_eq(bell_wait(ours, &late), BELL_RUNG);
	cr_assert_eq(crew_wait(pid), 0);
}

Test(bell, many_rings_never_hold_up_the_ringer)
{
	for (int i = 0; i < 20000; i++)
		bell_ring(theirs);
	cr_assert_eq(bell_wait(ours, NULL), BELL_RUNG);
	cr_assert_eq(bell_drain(ours), 0);
	cr_assert_eq(bell_wait(ours, &now), BELL_TIMEOUT);
	/* And it works on. */
	bell_ring(theirs);
	cr_assert_eq(bell_wait(ours, &now), BELL_RUNG);
}

Test(bell, draining_takes_all_and_waits_for_nothing)
{
	const int rings[] = {0, 1, 127, 128, 129, 256};
	size_t i;

	for (i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		for (int k = 0; k < rings[i]; k++)
			bell_ring(theirs);
		cr_assert_eq(bell_drain(ours), 0, "%d rings", rings[i]);
		cr_assert_eq(bell_wait(ours, &now), BELL_TIMEOUT);
	}
}

Test(bell, a_peer_that_is_gone_is_told_and_harms_nobody)
{
	close(theirs);
	bell_ring(ours);
	cr_assert_eq(bell_wait(ours, NULL), BELL_HUNG_UP);
	cr_assert_eq(bell_wait(ours, &late), BELL_HUNG_UP);
	cr_assert_neq(bell_drain(ours), 0);
}

Test(bell, a_ring_that_was_never_heard_still_counts_as_gone)
{
	/* The peer ends with a ring of ours unread: a reset, not an end. */
	bell_ring(ours);
	close(theirs);
	cr_assert_eq(bell_wait(ours, NULL), BELL_HUNG_UP);
}

static void sleep_and_die(int number, void *argument)
{
	(void)number;
	(void)argument;
	close(ours);
	nanosleep(&soon, NULL);
	raise(SIGKILL);
}

Test(bell, the_death_of_the_peer_wakes_a_sleeper)
{
	pid_t pid = crew_start(sleep_and_die, 0, NULL);

	close(theirs);
	cr_assert_eq(bell_wait(ours, NULL), BELL_HUNG_UP);
	cr_assert_eq(crew_wait(pid), 256 + SIGKILL);
}

Test(bell, ringing_what_there_is_not_does_nothing)
{
	int gone = dup(theirs);

	close(gone);
	bell_ring(-1);
	bell_ring(gone);
	cr_assert_eq(bell_drain(-1), 0);
}

/* ---- signals ---- */

/* TSan hands a signal on only when the program enters a function that it
 * knows, which a sleep entered past it is not. */
#if !CREW_TSAN

static void ignore(int number)
{
	(void)number;
}

static void ring_on_signal(int number)
{
	(void)number;
	bell_ring(theirs);
}

/* Again and again: the first one may come before the sleep. */
static void alarm_every(long us, void (*handler)(int), int flags)
{
	const struct itimerval t = {{0, us}, {0, us}};
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	alarm(0);
	cr_assert_eq(sigaction(SIGALRM, &a, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &t, NULL), 0);
}

Test(bell, a_signal_without_restart_ends_the_sleep)
{
	alarm_every(20000, ignore, 0);
	cr_assert_eq(bell_wait(ours, NULL), -EINTR);
	alarm_every(20000, ignore, 0);
	cr_assert_eq(bell_wait(ours, &late), -EINTR);
}

/* Were it not restarted the result would be -EINTR. */
Test(bell, a_signal_with_restart_does_not_end_the_sleep)
{
	alarm_every(20000, ring_on_signal, SA_RESTART);
	cr_assert_eq(bell_wait(ours, NULL), BELL_RUNG);
}

/* A read with a time-out is not restarted: signal(7). */
Test(bell, a_sleep_with_a_time_is_never_restarted)
{
	alarm_every(20000, ignore, SA_RESTART);
	cr_assert_eq(bell_wait(ours, &late), -EINTR);
}

#endif

/* ---- cancellation ---- */

/* Neither of them knows that a cancelled thread's frames are gone. */
#if !CREW_ASAN && !CREW_TSAN

static void *sleep_for_ever(void *timeout)
{
	bell_wait(ours, timeout);
	return NULL;
}

static void cancel_sleep(const struct timespec *timeout)
{
	pthread_t thread;
	void *result;

	cr_assert_eq(pthread_create(&thread, NULL, sleep_for_ever,
				    (void *)(uintptr_t)timeout),
		     0);
	nanosleep(&soon, NULL);
	cr_assert_eq(pthread_cancel(thread), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
}

Test(bell, a_sleeper_can_be_cancelled)
{
	cancel_sleep(NULL);
	cancel_sleep(&late);
}

#endif

Test(bell, without_descriptors_there_is_no_pair_and_nothing_is_lost)
{
	struct rlimit limit;
	int first = dup(1);
	int a = -1;
	int b = -1;

	close(first);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max = (rlim_t)first + 1;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_eq(bell_pair(&a, &b), -EMFILE);
	/* The one free number is free again. */
	cr_assert_eq(dup(1), first);
}
