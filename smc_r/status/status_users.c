/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_users: lists the users of the segments, and sweeps for them.
 */
#include "smc_r/status/status_users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "smc_r/status/status_file.h"
#include "smc_r/status/status_sweep.h"
#include "smc_r/status/status_totals.h"

#define SWEEP_WAIT_MS 2000

struct users {
	uid_t *list;
	size_t count, room;
};

static int add_user(struct users *u, uid_t uid)
{
	size_t at = 0;
	uid_t *more;
	size_t i;

	while (at < u->count && u->list[at] < uid)
		at++;
	if (at < u->count && u->list[at] == uid)
		return 0;
	if (u->count == u->room) {
		more = reallocarray(u->list, u->room * 2, sizeof(uid_t));
		if (!more)
			return -ENOMEM;
		u->list = more;
		u->room *= 2;
	}
	for (i = u->count++; i > at; i--)
		u->list[i] = u->list[i - 1];
	u->list[at] = uid;
	return 0;
}

/* Only names that engines give, so that scrap costs nothing. */
static int add_owner(void *owner, int dir, const char *name)
{
	struct status_name id;
	struct stat st;
	uid_t uid;

	if (!status_name_decode(name, &id) && !status_totals_decode(name, &uid))
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	return add_user(owner, st.st_uid);
}

int status_users_list(int dir, uid_t **out)
{
	struct users u = {.room = 16};
	int error = -ENOMEM;

	u.list = malloc(u.room * sizeof(uid_t));
	if (u.list)
		error = status_dir_each(dir, add_owner, &u);
	if (error) {
		free(u.list);
		return error;
	}
	*out = u.list;
	return (int)u.count;
}

/* In a child: nothing of root is left when the user's files are opened. */
static void sweep_as(const char *rundir, uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	    setresuid(uid, uid, uid) == 0)
		status_sweep(rundir);
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
	uid_t uid;
	gid_t gid;
	bool found;
};

/* Is there anything to do for this user, and what is the user's group? */
static int note_dead(void *owner, struct status_file *file)
{
	struct dead_group *d = owner;
	struct stat st;

	if (file->uid != d->uid || status_file_is_alive(file) ||
	    fstat(file->fd, &st) != 0)
		return 0;
	d->gid = st.st_gid;
	d->found = true;
	return 1;
}

static void sweep_user(const char *rundir, int dir, uid_t uid, int *left_ms)
{
	struct dead_group d = {.uid = uid};
	pid_t child;

	status_file_each(dir, note_dead, &d);
	if (!d.found)
		return;
	child = fork();
	if (child == 0) {
		sweep_as(rundir, uid, d.gid);
		_exit(0);
	}
	if (child > 0)
		wait_for_child(child, left_ms);
}

void status_users_sweep(const char *rundir)
{
	uid_t *user = NULL;
	int i, n, dir, left_ms = SWEEP_WAIT_MS;

	status_sweep(rundir);
	if (geteuid() != 0)
		return;
	dir = status_dir_open(rundir);
	if (dir < 0)
		return;
	n = status_users_list(dir, &user);
	for (i = 0; user && i < n && left_ms > 0; i++) {
		if (user[i] != 0)
			sweep_user(rundir, dir, user[i], &left_ms);
	}
	free(user);
	close(dir);
}
