/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_keeper: starts what serves, again where it was killed. */
#include "smc_r/service/rc_keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smc_r/service/rc_hello.h"

#define PACE_MS 1000 /* one that crashes is not started more often */

struct keeper {
	int listener;
	int signals; /* signalfd(2) */
	pid_t child; /* 0: none */
	sigset_t before;
};

static int watch_signals(struct keeper *k)
{
	sigset_t watched;

	sigemptyset(&watched);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGCHLD);
	sigprocmask(SIG_BLOCK, &watched, &k->before);
	k->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signals < 0 ? -errno : 0;
}

/* One of SIGTERM and SIGINT has come. */
static bool is_told_to_end(const struct keeper *k)
{
	struct signalfd_siginfo s;
	bool told = false;

	while (read(k->signals, &s, sizeof(s)) == (ssize_t)sizeof(s))
		told |= s.ssi_signo != SIGCHLD;
	return told;
}

/* Returns twice. The child ends in order when the keeper has died. */
static int start(struct keeper *k)
{
	pid_t keeper = getpid();

	k->child = fork();
	if (k->child != 0)
		return k->child < 0 ? -errno : 0;
	close(k->signals);
	sigprocmask(SIG_SETMASK, &k->before, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != keeper || rc_hello_own(k->listener) < 0)
		_exit(1);
	return (int)getpid();
}

/* Has it ended by itself? One that was killed has not. */
static bool has_ended(struct keeper *k, int *status)
{
	int how;

	if (waitpid(k->child, &how, WNOHANG) != k->child)
		return false;
	k->child = 0;
	*status = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
	return WIFEXITED(how);
}

/* While the child lives: until it has died, or was told to end and did. */
static bool follow(struct keeper *k, int *status)
{
	struct pollfd p = {.fd = k->signals, .events = POLLIN};
	bool ends = false;

	while (k->child) {
		poll(&p, 1, -1);
		if (is_told_to_end(k)) {
			ends = true;
			kill(k->child, SIGTERM);
		}
		ends |= has_ended(k, status);
	}
	return ends;
}

/* Until there is a hello: false, it was told to end. */
static bool wait_for_hello(struct keeper *k)
{
	struct pollfd p[] = {{.fd = k->signals, .events = POLLIN},
			     {.fd = k->listener, .events = POLLIN}};

	if (poll(p, 1, PACE_MS) > 0 && is_told_to_end(k))
		return false;
	while (poll(p, 2, -1) < 0 || !(p[1].revents & POLLIN))
		if (is_told_to_end(k))
			return false;
	return true;
}

int rc_keeper_run(int listener, int *status)
{
	struct keeper k = {.listener = listener};
	int error = watch_signals(&k);

	*status = 0;
	while (!error) {
		error = start(&k);
		if (error)
			return error;
		if (follow(&k, status))
			break;
		error = rc_hello_own(listener);
		if (!error && !wait_for_hello(&k)) {
			rc_hello_forget();
			break;
		}
	}
	return error;
}
