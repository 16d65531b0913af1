/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * recorder: which system calls does a program make?
 *
 *   recorder FILE PROGRAM [ARGUMENT]...
 *
 * Writes a line for each call of each process, until that executes a program: a
 * number for the process, in the order in which they were made, and the name of
 * the part of the program and the call's number. A call with the number
 * RECORDER_MARK begins the part that its argument points to; no part, and what
 * is not recorded, are "" and "-". Ends as the program ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder.h"

#define TASKS 1024

struct task {
	pid_t pid;
	char part[RECORDER_PART];
	bool executed;
	FILE *out; /* into text, as processes take turns as they like */
	char *text;
	size_t bytes;
};

static struct task tasks[TASKS];
static int count;

static struct task *task_of(pid_t pid)
{
	for (int i = count - 1; i >= 0; i--)
		if (tasks[i].pid == pid)
			return &tasks[i];
	if (count == TASKS)
		exit(2);
	tasks[count].pid = pid;
	tasks[count].out =
	    open_memstream(&tasks[count].text, &tasks[count].bytes);
	return &tasks[count++];
}

static void begin_part(struct task *t, uint64_t where)
{
	struct iovec to = {t->part, sizeof(t->part) - 1};
	struct iovec from = {(void *)(uintptr_t)where, to.iov_len};

	memset(t->part, 0, sizeof(t->part));
	if (process_vm_readv(t->pid, &to, 1, &from, 1, 0) < 0)
		exit(2);
}

static void record(struct task *t)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) < 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY || t->executed)
		return;
	if (info.entry.nr == RECORDER_MARK)
		begin_part(t, info.entry.args[0]);
	else if (strcmp(t->part, "-") != 0)
		fprintf(t->out, "%d %s %llu\n", (int)(t - tasks),
			*t->part ? t->part : "_",
			(unsigned long long)info.entry.nr);
}

/* A child is in the part of its parent; it may come before we hear of it. */
static void made(const struct task *parent)
{
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid) == 0)
		strcpy(task_of((pid_t)pid)->part, parent->part);
}

/* The signal that it is to have. */
static int stopped(struct task *t, int status)
{
	int sig = WSTOPSIG(status);

	switch (status >> 16) {
	case PTRACE_EVENT_EXEC:
		t->executed = t != tasks || *t->part;
		return 0;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		made(t);
		return 0;
	default:
		if (sig == (SIGTRAP | 0x80))
			record(t);
		return sig == SIGSTOP || (sig & 0x7f) == SIGTRAP ? 0 : sig;
	}
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
			     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int status, result = 0;
	pid_t first, pid;
	FILE *out;

	if (argc < 3 || !(out = fopen(argv[1], "we")))
		return 2;
	first = fork();
	if (first == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (waitpid(first, &status, 0) != first ||
	    ptrace(PTRACE_SETOPTIONS, first, 0, options) < 0)
		return 2;
	task_of(first);
	ptrace(PTRACE_SYSCALL, first, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, pid, 0,
			       stopped(task_of(pid), status));
		else if (pid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status)
						   : 128 + WTERMSIG(status);
	}
	for (int i = 0; i < count; i++) {
		fclose(tasks[i].out);
		fputs(tasks[i].text, out);
	}
	return fclose(out) ? 2 : result;
}
