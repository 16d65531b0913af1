/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* restart: a sleep that we limit and the program did not. */
#include "smc_r/wait/restart.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/single_threaded.h>

#include "smc_r/memory/bell.h"
#include "smc_r/os/sys.h"

#define SLICE_MS 10

enum verdict {
	GO_ON,  /* nothing there, or what nobody would notice */
	LET_IN, /* something happens, and the call goes on */
	END     /* the call ends */
};

static enum verdict judge(int number, bool has_part)
{
	struct sigaction a;

	if (sigaction(number, NULL, &a) < 0 || a.sa_handler == SIG_IGN)
		return GO_ON;
	if (a.sa_handler != SIG_DFL)
		return has_part || !(a.sa_flags & SA_RESTART) ? END : LET_IN;
	/* The others end the process, or stop it for a while, which ends a call
	 * that has something to return. */
	if (has_part &&
	    (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU))
		return END;
	return number == SIGCHLD || number == SIGURG || number == SIGWINCH ||
		       number == SIGCONT
		   ? GO_ON
		   : LET_IN;
}

/* Judges those of `which` that the program itself does not block. */
static enum verdict judge_all(const sigset_t *which, const sigset_t *programs,
			      bool has_part)
{
	enum verdict all = GO_ON;

	for (int i = 1; i <= SIGRTMAX; i++) {
		enum verdict one;

		if (sigismember(which, i) != 1 || sigismember(programs, i) != 0)
			continue;
		one = judge(i, has_part);
		all = one > all ? one : all;
	}
	return all;
}

static void restore(void *programs)
{
	pthread_sigmask(SIG_SETMASK, programs, NULL);
}

struct stretch {
	int bell;
	bool has_part;
	uint64_t end_ns;
	sigset_t programs; /* what it blocks itself */
	int result;
	enum verdict verdict;
};

static bool goes_on(const struct stretch *s, enum verdict verdict)
{
	return s->result == BELL_TIMEOUT && s->verdict == verdict &&
	       sys_left_ns(s->end_ns) > 0;
}

/* SIGSTOP cannot be kept out. */
static int wait_slice(int bell, const struct timespec *slice, bool has_part)
{
	return has_part ? bell_wait_once(bell, slice) : bell_wait(bell, slice);
}

/* Waits until something comes that must be let in. */
static void wait_without_signals(struct stretch *s)
{
	struct timespec slice = {0, SLICE_MS * 1000000};
	sigset_t there;

	do {
		s->result = wait_slice(s->bell, &slice, s->has_part);
		sigpending(&there);
		s->verdict = judge_all(&there, &s->programs, s->has_part);
	} while (goes_on(s, GO_ON));
}

static void wait_stretch(struct stretch *s)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &s->programs);
	pthread_cleanup_push(restore, &s->programs);
	wait_without_signals(s);
	pthread_cleanup_pop(1);
}

static int wait_masked(int bell, int ms, bool has_part)
{
	struct stretch s = {.bell = bell, .has_part = has_part};

	s.end_ns = sys_end_in_ms((uint64_t)ms);
	do {
		wait_stretch(&s);
	} while (goes_on(&s, LET_IN));
	return s.verdict == END ? -EINTR : s.result;
}

bool restart_ends_call(bool has_part)
{
	sigset_t programs, all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, NULL, &programs);
	return judge_all(&all, &programs, has_part) == END;
}

/* Another thread would take what this one keeps out. Which handler ran is not
 * known then; mostly a program's are all of one kind. */
static int wait_open(int bell, int ms, bool has_part)
{
	uint64_t end = sys_end_in_ms((uint64_t)ms);

	for (;;) {
		struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};
		int result = wait_slice(bell, &left, has_part);
		uint64_t left_ns = sys_left_ns(end);

		if (result != -EINTR)
			return result;
		if (has_part || restart_ends_call(false))
			return -EINTR;
		if (left_ns == 0)
			return BELL_TIMEOUT;
		ms = (int)(left_ns / 1000000u) + 1;
	}
}

int restart_wait(int bell, int ms, bool has_part)
{
	return __libc_single_threaded ? wait_masked(bell, ms, has_part)
				      : wait_open(bell, ms, has_part);
}
