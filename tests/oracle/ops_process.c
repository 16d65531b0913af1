/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_process: threads, children, programs, descriptor passing, signals.
 */
#include "actor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static atomic_int pipe_count, user_count;

static void on_signal(int number)
{
	if (number == SIGPIPE)
		atomic_fetch_add(&pipe_count, 1);
	else
		atomic_fetch_add(&user_count, 1);
}

int pipe_signals(void)
{
	return atomic_exchange(&pipe_count, 0);
}

static void on_tick(int number)
{
	(void)number;
}

/* tick MS: a timer interrupts this process so often; 0 ends it. */
static void run_tick(struct call *c)
{
	struct sigaction a = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	long us = strtol(c->argv[1], NULL, 0) * 1000;
	struct itimerval t = {{0, us}, {0, us}};

	sigaction(SIGALRM, &a, NULL);
	reply_result(c, setitimer(ITIMER_REAL, &t, NULL));
}

static int handler_set(int number, const char *how)
{
	struct sigaction a = {.sa_handler = on_signal};

	if (!strcmp(how, "restart"))
		a.sa_flags = SA_RESTART;
	else if (!strcmp(how, "default"))
		a.sa_handler = SIG_DFL;
	else if (!strcmp(how, "ignore"))
		a.sa_handler = SIG_IGN;
	return sigaction(number, &a, NULL);
}

void signals_install(void)
{
	handler_set(SIGPIPE, "restart");
}

static void *thread_main(void *argument)
{
	task_hello(argument);
	task_loop(argument);
	return NULL;
}

/* thread T */
static void run_thread(struct call *c)
{
	struct task *t = task_create(atoi(c->argv[1]));
	pthread_t thread;
	int ret = t ? pthread_create(&thread, NULL, thread_main, t) : ENOMEM;

	if (!ret)
		pthread_detach(thread);
	reply(c, " = %d", ret);
}

/* The program image to go on with: this one, or its static twin. */
static void image_path(const char *kind, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 16);

	path[n > 0 ? n : 0] = 0;
	if (!strcmp(kind, "static"))
		strcat(path, "_static");
}

static void exec_task(const char *kind, const char *index, const char *keep)
{
	char *argv[NAMES_MAX + 4] = {(char[]){"oracle"}, (char[]){"--actor"},
				     strdup(index)};
	int count = names_arguments(keep, argv + 3, NAMES_MAX);
	char path[512];

	for (int i = 0; i < count; i++) {
		int fd = atoi(strchr(argv[3 + i], '=') + 1);

		fcntl(fd, F_SETFD, 0);
	}
	argv[3 + count] = NULL;
	if (!strcmp(kind, "bare"))
		unsetenv("LD_PRELOAD");
	image_path(kind, path, sizeof(path));
	execv(path, argv);
	_exit(4);
}

/* The child runs the task T; keep=a,b closes all other names in it. */
static void child_main(const struct call *c)
{
	struct task *t = task_create(atoi(c->argv[1]));
	const char *keep = call_text(c, "keep", NULL);
	const char *kind = call_text(c, "exec", NULL);

	if (!t)
		_exit(4);
	if (keep)
		names_close_but(keep);
	if (kind)
		exec_task(kind, c->argv[1], keep ? keep : "");
	task_hello(t);
	task_loop(t);
	_exit(0);
}

/* fork T [keep=a,b] [via=fork|raw|clone] [exec=same|bare|static] */
static void run_fork(struct call *c)
{
	const char *via = call_text(c, "via", "fork");
	long pid;

	if (!strcmp(via, "raw"))
		pid = _Fork();
	else if (!strcmp(via, "clone"))
		pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else
		pid = fork();
	if (!pid)
		child_main(c);
	reply(c, pid > 0 ? " = child" : " = failed");
	reply_hidden(c, "child=%ld", pid);
}

/* exit CODE: a forked task ends its process. */
static void run_exit(struct call *c)
{
	char line[] = " = ending\n";

	if (write(c->task->out, line, sizeof(line) - 1) < 0)
		_exit(3);
	if (call_has(c, "hard"))
		_exit(atoi(c->argv[1]));
	exit(atoi(c->argv[1]));
}

static int words_of(const char *text, char **argv, int max)
{
	int count = 0;
	char *rest = NULL;

	for (char *w = strtok_r(strdup(text), "+", &rest); w && count < max;
	     w = strtok_r(NULL, "+", &rest))
		argv[count++] = w;
	argv[count] = NULL;
	return count;
}

static int spawn_actions(int fd, char **argv, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int ret;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 0);
	posix_spawn_file_actions_adddup2(&actions, fd, 1);
	for (int i = ACTOR_UNIX_FD; i < ACTOR_PIPE_BASE + 2 * ACTOR_TASKS; i++)
		posix_spawn_file_actions_addclose(&actions, i);
	ret = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return ret;
}

/* spawn FD PROGRAM+ARG+... [via=fork|vfork|spawn]: FD is its 0 and 1. */
static void run_spawn(struct call *c)
{
	const char *via = call_text(c, "via", "fork");
	int fd = name_fd(c->argv[1]);
	char *argv[CALL_ARGS + 1];
	pid_t pid;

	words_of(c->argv[2], argv, CALL_ARGS);
	if (!strcmp(via, "spawn")) {
		int ret = spawn_actions(fd, argv, &pid);

		reply(c, " = %d", ret);
		return;
	}
	pid = !strcmp(via, "vfork") ? vfork() : fork();
	if (!pid) {
		dup2(fd, 0);
		dup2(fd, 1);
		close_range(ACTOR_UNIX_FD, ACTOR_PIPE_BASE + 2 * ACTOR_TASKS,
			    0);
		execvp(argv[0], argv);
		_exit(4);
	}
	reply(c, pid > 0 ? " = child" : " = failed");
}

/* reap: waits for one child. */
static void run_reap(struct call *c)
{
	int status = 0;
	pid_t pid;

	do
		pid = wait(&status);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		reply_result(c, pid);
	else if (WIFEXITED(status))
		reply(c, " = exit %d", WEXITSTATUS(status));
	else
		reply(c, " = signal %s",
		      word_name(signal_words, (unsigned)WTERMSIG(status)));
}

/* pair A B: an AF_UNIX pair, to pass descriptors to a child. */
static void run_pair(struct call *c)
{
	int ends[2] = {-1, -1};

	reply_result(c, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	name_set(c->argv[1], ends[0]);
	name_set(c->argv[2], ends[1]);
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* sendfd U FD */
static void run_sendfd(struct call *c)
{
	int fd = name_fd(c->argv[2]);
	char byte = 'f';
	struct iovec part = {&byte, 1};
	union control control;
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};

	memset(&control, 0, sizeof(control));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	reply_result(c, sendmsg(name_fd(c->argv[1]), &m, 0));
}

/* recvfd U NAME */
static void run_recvfd(struct call *c)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union control control;
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	int fd = -1;

	memset(&control, 0, sizeof(control));
	reply_result(c, recvmsg(name_fd(c->argv[1]), &m, 0));
	if (m.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	reply(c, " %s", fd >= 0 && byte == 'f' ? "got" : "NOTHING");
	name_set(c->argv[2], fd);
}

/* handler SIGNAL restart|norestart|default|ignore */
static void run_handler(struct call *c)
{
	unsigned number;

	if (!words_parse(signal_words, c->argv[1], &number))
		reply_bad(c, "signal");
	else
		reply_result(c, handler_set((int)number, c->argv[2]));
}

/* handled: did a handler run since it was asked last? */
static void run_handled(struct call *c)
{
	reply(c, " = %s", atomic_exchange(&user_count, 0) ? "yes" : "no");
}

/* mask SIGNAL block|unblock: in this thread. */
static void run_mask(struct call *c)
{
	unsigned number;
	sigset_t set;

	if (!words_parse(signal_words, c->argv[1], &number)) {
		reply_bad(c, "signal");
		return;
	}
	sigemptyset(&set);
	sigaddset(&set, (int)number);
	reply(c, " = %d",
	      pthread_sigmask(!strcmp(c->argv[2], "block") ? SIG_BLOCK
							   : SIG_UNBLOCK,
			      &set, NULL));
}

/* nofile N: the soft limit of descriptors. */
static void run_nofile(struct call *c)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = strtoul(c->argv[1], NULL, 0);
	reply_result(c, setrlimit(RLIMIT_NOFILE, &limit));
}

const struct operation process_operations[] = {
    {"thread", 1, run_thread},   {"fork", 1, run_fork},
    {"exit", 1, run_exit},       {"spawn", 2, run_spawn},
    {"reap", 0, run_reap},       {"pair", 2, run_pair},
    {"sendfd", 2, run_sendfd},   {"recvfd", 2, run_recvfd},
    {"handler", 2, run_handler}, {"handled", 0, run_handled},
    {"mask", 2, run_mask},       {"nofile", 1, run_nofile},
    {"tick", 1, run_tick},       {NULL, 0, NULL},
};
