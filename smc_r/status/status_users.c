/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_users: sweeps the segments of all users.
 */
#include "smc_r/status/status_users.h"

#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "smc_r/status/status_file.h"
#include "smc_r/status/status_sweep.h"
#include "smc_r/status/user_directory.h"

#define SWEEP_WAIT_MS 2000

/* In a child: nothing of root is left when the user's files are opened. */
static void sweep_as(const struct user_directory *u, gid_t gid)
{
	if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	    setresuid(u->uid, u->uid, u->uid) == 0)
		status_sweep_user(u, 0);
}

/*
 * Its user may stop the child, or make it slow. What a killed one has not done
 * is done by the next sweep.
 */
static void wait_for_child(pid_t child, int *left_ms)
{
	static const struct timespec step = {.tv_nsec = 1000000};

	while (waitpid(child, NULL, WNOHANG) == 0) {
		if (*left_ms <= 0) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
			return;
		}
		nanosleep(&step, NULL);
		--*left_ms;
	}
}

struct dead_group {
	gid_t gid;
	bool found;
};

/* Is there anything to do for this user, and what is the user's group? */
static int note_dead(void *owner, struct status_file *file)
{
	struct dead_group *d = owner;
	struct stat st;

	if (status_file_is_alive(file) || fstat(file->fd, &st) != 0)
		return 0;
	d->gid = st.st_gid;
	d->found = true;
	return 1;
}

static void sweep_other(const struct user_directory *u, int *left_ms)
{
	struct dead_group d = {.found = false};
	pid_t child;

	status_file_each(u->status, note_dead, &d);
	if (!d.found)
		return;
	child = fork();
	if (child == 0) {
		sweep_as(u, d.gid);
		_exit(0);
	}
	if (child > 0)
		wait_for_child(child, left_ms);
}

static int sweep_user(void *owner, const struct user_directory *u)
{
	int *left_ms = owner;

	if (u->uid == geteuid())
		status_sweep_user(u, 0);
	else if (geteuid() == 0 && *left_ms > 0)
		sweep_other(u, left_ms);
	return 0;
}

void status_users_sweep(const char *rundir)
{
	int left_ms = SWEEP_WAIT_MS;

	user_directory_each(rundir, sweep_user, &left_ms);
}
