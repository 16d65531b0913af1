/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * death_trace: runs a process up to a point in its life and kills it there.
 */
#include "death_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define OPTIONS                                                                \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK |      \
	 PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK)

void death_offer(void)
{
	check(!ptrace(PTRACE_TRACEME, 0, 0, 0), "ptrace");
	raise(SIGSTOP);
}

static void detach(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* The child of an event comes by itself, stopped. */
static void await_stop(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status),
	      "a new child does not stop");
}

/* One stop of a traced process: goes on, and says whether it was at a system
 * call. *child is set at a fork. */
static bool is_call(pid_t pid, int status, pid_t *child, int *signal)
{
	int event = status >> 16;
	unsigned long message = 0;

	*child = 0;
	*signal = 0;
	if (event) {
		ptrace(PTRACE_GETEVENTMSG, pid, 0, &message);
		if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE ||
		    event == PTRACE_EVENT_VFORK)
			*child = (pid_t)message;
		return false;
	}
	if (WSTOPSIG(status) == SYSCALL_STOP)
		return true;
	if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
		*signal = WSTOPSIG(status);
	return false;
}

/* So many instructions; fewer when one of them sleeps, or is the last. */
static bool step(pid_t pid, int steps, struct death_result *r)
{
	int status = 0;

	for (int i = 0; i < steps; i++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0))
			return false;
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			return false;
		/* It forked: the child goes on alone. */
		if (status >> 16) {
			unsigned long child = 0;

			ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
			await_stop((pid_t)child);
			detach((pid_t)child);
			if (!r->child)
				r->child = (pid_t)child;
		}
	}
	return true;
}

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		;
	return status;
}

/* Runs one process to its point, or to its end. Its first child is left
 * stopped and traced in *child if that is asked for. */
static int run(pid_t pid, const struct death_point *point, pid_t *child,
	       struct death_result *r, void (*before)(void))
{
	int status = 0, signal = 0;

	for (;;) {
		pid_t made;

		if (ptrace(PTRACE_SYSCALL, pid, 0, signal) && errno == ESRCH)
			return reap(pid);
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			return status;
		if (is_call(pid, status, &made, &signal))
			r->stops++;
		if (made) {
			await_stop(made);
			if (!r->child)
				r->child = made;
			if (child) {
				*child = made;
				return status;
			}
			detach(made);
		}
		if (r->stops <= point->at)
			continue;
		if (step(pid, point->steps, r)) {
			before();
			kill(pid, SIGKILL);
			r->killed = true;
		}
		return reap(pid);
	}
}

struct death_result death_run(pid_t victim, const struct death_point *point,
			      void (*before)(void))
{
	const struct death_point never = {.at = INT32_MAX};
	struct death_result r = {.killed = false};
	pid_t child = 0;

	await_stop(victim);
	check(!ptrace(PTRACE_SETOPTIONS, victim, 0, OPTIONS), "ptrace");
	if (!point->child) {
		r.status = run(victim, point, NULL, &r, before);
		return r;
	}
	r.status = run(victim, &never, &child, &r, before);
	if (!child)
		return r;
	detach(victim);
	r.stops = 0;
	r.status = run(child, point, NULL, &r, before);
	r.child = child;
	return r;
}
