/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* found: files that somebody else may have made. */
/*
 * In an engine open(2) and close(2) are names which the preload library answers
 * itself, and stat(2) one of another such library; these files must not go
 * through either, so the calls here go to the kernel directly.
 */
#include "found.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rundir.h"

/* O_NONBLOCK: neither a FIFO nor a lease makes us wait. */
#define CAREFULLY (O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)

static bool is_owner(const struct found *wanted, uid_t uid)
{
	return wanted->owner[0] == FOUND_ANYBODY || uid == wanted->owner[0] ||
	       uid == wanted->owner[1];
}

static int open_typed(int dir, const char *name, const struct found *wanted,
		      mode_t type, struct stat *st)
{
	int saved = errno;
	int error = 0;
	int fd = (int)syscall(SYS_openat, dir, name, wanted->flags | CAREFULLY,
			      wanted->mode);

	if (fd < 0)
		error = -errno;
	else if (syscall(SYS_fstat, fd, st) < 0)
		error = -errno;
	else if ((st->st_mode & S_IFMT) != type ||
		 !is_owner(wanted, st->st_uid))
		error = -EPERM;
	if (error && fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
	return error ? error : fd;
}

int found_open(int dir, const char *name, const struct found *wanted,
	       struct stat *st)
{
	return open_typed(dir, name, wanted, S_IFREG, st);
}

/* The run directory itself is where its users say that it is, by a link too. */
static int open_in(const char *rundir, const char *name, struct found *wanted,
		   mode_t type, struct stat *st)
{
	int saved = errno;
	int result;
	int dir = (int)syscall(SYS_openat, AT_FDCWD, rundir,
			       O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		result = -errno;
	} else if (syscall(SYS_fstat, dir, st) < 0) {
		result = -errno;
		syscall(SYS_close, dir);
	} else {
		wanted->owner[0] = 0;
		wanted->owner[1] = st->st_uid;
		result = open_typed(dir, name, wanted, type, st);
		syscall(SYS_close, dir);
	}
	errno = saved;
	return result;
}

int found_in_rundir(const char *rundir, const char *name, struct stat *st)
{
	struct found wanted = {.flags = O_RDONLY};

	return open_in(rundir, name, &wanted, S_IFREG, st);
}

int found_users(const char *rundir)
{
	struct found wanted = {.flags = O_PATH | O_DIRECTORY};
	struct stat st;

	return open_in(rundir, RUNDIR_USERS, &wanted, S_IFDIR, &st);
}

int found_own(int dir, const char *name)
{
	uid_t user = (uid_t)syscall(SYS_geteuid);
	const struct found wanted = {.flags = O_RDONLY | O_DIRECTORY,
				     .owner = {user, user}};
	struct stat st;
	int fd = open_typed(dir, name, &wanted, S_IFDIR, &st);

	if (fd < 0 || (st.st_mode & 077) == 0)
		return fd;
	syscall(SYS_close, fd);
	return -EPERM;
}
