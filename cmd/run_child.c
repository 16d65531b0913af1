/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_child: runs a program as if it had taken the place of this one.
 */
#include "run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What stays with us: faults of our own, and stops by the terminal. */
static const int ours[] = {SIGABRT, SIGBUS,  SIGFPE,  SIGILL, SIGSEGV,
			   SIGSYS,  SIGTRAP, SIGTTIN, SIGTTOU};

static void block_signals(sigset_t *blocked, sigset_t *before)
{
	size_t i;

	sigfillset(blocked);
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigdelset(blocked, ours[i]);
	sigprocmask(SIG_BLOCK, blocked, before);
}

/* The errno of a failed exec comes through the pipe; success closes it. */
static _Noreturn void become(char **argv, int report,
			     const struct sigaction *old_child,
			     const sigset_t *before)
{
	int error;

	sigaction(SIGCHLD, old_child, NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
	execvp(argv[0], argv);
	error = errno;
	if (write(report, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

static int read_exec_error(int report)
{
	int error = 0;
	ssize_t n;

	do
		n = read(report, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? error : 0;
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* True when the child has ended. */
static bool look_after(pid_t child, int *status)
{
	while (waitpid(child, status, WNOHANG | WUNTRACED) == child) {
		int why;

		if (!WIFSTOPPED(*status))
			return true;
		why = WSTOPSIG(*status);
		/* Only a shell with job control wakes both of us again. */
		if (why != SIGSTOP && has_terminal()) {
			raise(SIGSTOP);
			kill(child, SIGCONT);
		}
	}
	return false;
}

/*
 * What the terminal causes the kernel sends to the child as well. An alarm was
 * set by the process that ran us, for the program that runs now.
 */
static void hand_on(pid_t child, const siginfo_t *info)
{
	if (info->si_code <= 0 || info->si_signo == SIGALRM)
		kill(child, info->si_signo);
}

static void wait_for(pid_t child, const sigset_t *blocked, int *status)
{
	siginfo_t info;

	while (!look_after(child, status)) {
		if (sigwaitinfo(blocked, &info) > 0 && info.si_signo != SIGCHLD)
			hand_on(child, &info);
	}
}

int run_child(char **argv, int *status)
{
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	struct sigaction old_child;
	sigset_t blocked, before;
	int error, report[2];
	pid_t child;

	if (pipe2(report, O_CLOEXEC) != 0)
		return -errno;
	/* Inherited "ignore" would leave us without the exit status. */
	sigaction(SIGCHLD, &plain, &old_child);
	block_signals(&blocked, &before);
	child = fork();
	if (child == 0)
		become(argv, report[1], &old_child, &before);
	error = child < 0 ? errno : 0;
	close(report[1]);
	if (!error)
		error = read_exec_error(report[0]);
	close(report[0]);
	if (child > 0 && error)
		waitpid(child, NULL, 0);
	if (error)
		return -error;
	wait_for(child, &blocked, status);
	return 0;
}

_Noreturn void run_child_imitate(int status)
{
	const struct rlimit none = {0, 0};
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t only;

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	/* The core file, if any, is the child's. */
	setrlimit(RLIMIT_CORE, &none);
	sigaction(WTERMSIG(status), &plain, NULL);
	sigemptyset(&only);
	sigaddset(&only, WTERMSIG(status));
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	_exit(128 + WTERMSIG(status));
}
