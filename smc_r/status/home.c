/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* home: the directory of this user in the run directory. */
#include "smc_r/status/home.h"

#include <errno.h>
#include <fcntl.h>

#include "conf/found.h"
#include "conf/rundir.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/account.h"

#define NAMES_TRIED 64 /* strangers may have taken some of 2^24 */
#define TRIES       4

static int users = -1;
static uint32_t number;

uint32_t home_number(void)
{
	return number;
}

int home_users(void)
{
	ENGINE_LOCKED();
	if (users < 0) {
		users = found_users(rundir_path());
		if (users >= 0)
			users = private_fd(users);
	}
	return users;
}

void home_give_back(void)
{
	ENGINE_LOCKED();
	private_fd_close(users);
	users = -1;
}

/* ---- a new one ---- */

static int make_part(uint32_t name, const char *part, unsigned mode)
{
	char path[RUNDIR_USER_BYTES];
	long error;

	rundir_user(path, name, part);
	error = SYS_CALL3(SYS_mkdirat, users, path, mode);
	/* Whatever the program's umask is. */
	if (error == 0)
		error = SYS_CALL3(SYS_fchmodat, users, path, mode);
	return (int)error;
}

static void remove_part(uint32_t name, const char *part)
{
	char path[RUNDIR_USER_BYTES];

	rundir_user(path, name, part);
	SYS_CALL3(SYS_unlinkat, users, path, AT_REMOVEDIR);
}

static void unmake(uint32_t name)
{
	remove_part(name, RUNDIR_PEER);
	remove_part(name, RUNDIR_STATUS);
	remove_part(name, NULL);
}

static int make(uint32_t *name)
{
	int error = -EEXIST;

	for (int i = 0; i < NAMES_TRIED && error == -EEXIST; i++) {
		uint32_t random;

		if (SYS_CALL3(SYS_getrandom, &random, sizeof(random), 0) !=
		    sizeof(random))
			return -EAGAIN;
		*name = random >> (32 - OPTION_DIRECTORY_BITS);
		if (*name != RUNDIR_OWNER)
			error = make_part(*name, NULL, 0711);
	}
	if (error)
		return error;
	error = make_part(*name, RUNDIR_STATUS, 0700);
	if (!error)
		error = make_part(*name, RUNDIR_PEER, 0711);
	if (error)
		unmake(*name);
	return error;
}

/* Instead of one that is not there. Another process of this user may have been
 * faster; then that one's holds. */
static int replace(uint32_t missing)
{
	uint32_t name;
	int error = make(&name);

	if (error)
		return error;
	error = account_name(missing, name);
	if (error)
		unmake(name);
	return error == -EEXIST ? 0 : error;
}

/* ---- which one it is ---- */

/* The files of a program with another user's rights (set-user-id) would be
 * that one's, and the account is the caller's. */
static bool is_two_users(void)
{
	return SYS_CALL3(SYS_getuid, 0, 0, 0) != (long)sys_geteuid();
}

static int open_status(uint32_t name)
{
	char path[RUNDIR_USER_BYTES];

	rundir_user(path, name, RUNDIR_STATUS);
	return found_own(users, path);
}

static int open_accounted(const struct option_account *a)
{
	int fd = a->directory ? open_status(a->directory) : -ENOENT;

	number = a->directory;
	/* It was removed; somebody else may have taken the name then. */
	if ((fd == -ENOENT || fd == -EPERM) && !is_two_users()) {
		fd = replace(a->directory);
		return fd < 0 ? fd : -EAGAIN;
	}
	return fd;
}

int home_open(void)
{
	int fd = home_users();

	ENGINE_LOCKED();
	if (fd < 0)
		return fd;
	for (int i = 0; i < TRIES; i++) {
		struct option_account a;
		int error = account_read(&a);

		if (error && error != -EOPNOTSUPP)
			return error;
		if (error) {
			number = RUNDIR_OWNER;
			fd = open_status(number);
		} else {
			fd = open_accounted(&a);
		}
		if (fd != -EAGAIN)
			break;
	}
	return fd < 0 ? fd : private_fd(fd);
}
