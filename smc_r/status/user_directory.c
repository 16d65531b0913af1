/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* user_directory: whose segments and totals a command may read. */
#include "smc_r/status/user_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/found.h"
#include "conf/rundir.h"
#include "smc_r/status/account.h"

/* Whatever strangers put there, a look at it has an end. */
#define NAMES_MAX 1000000

/* Both are its user's, and nobody else can open what is in the second. */
static int open_of(int users, uint32_t number, struct user_directory *out)
{
	char path[RUNDIR_USER_BYTES];
	struct stat above, st;
	int fd;

	rundir_user(path, number, NULL);
	if (fstatat(users, path, &above, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (!S_ISDIR(above.st_mode))
		return -EPERM;
	rundir_user(path, number, RUNDIR_STATUS);
	fd = openat(users, path,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0 || st.st_uid != above.st_uid ||
	    (st.st_mode & 077)) {
		close(fd);
		return -EPERM;
	}
	out->status = fd;
	out->number = number;
	out->uid = st.st_uid;
	return 0;
}

static int call(int users, uint32_t number, bool *is_one,
		int (*each)(void *owner, const struct user_directory *u),
		void *owner)
{
	struct user_directory u;
	int result = open_of(users, number, &u);

	*is_one = result == 0;
	if (result)
		return result;
	result = each(owner, &u);
	close(u.status);
	return result;
}

static int call_own(const char *rundir,
		    int (*each)(void *owner, const struct user_directory *u),
		    void *owner)
{
	struct option_account a = {.directory = RUNDIR_OWNER};
	int error = account_read(&a);
	bool is_one;
	int users;

	if (error && error != -EOPNOTSUPP)
		return error;
	if (!error && a.directory == RUNDIR_OWNER)
		return -ENOENT;
	users = found_users(rundir);
	if (users < 0)
		return users;
	error = call(users, a.directory, &is_one, each, owner);
	close(users);
	return is_one ? error : -ENOENT;
}

static int call_all(DIR *list,
		    int (*each)(void *owner, const struct user_directory *u),
		    void *owner)
{
	struct dirent *entry;
	int result = 0;

	for (int i = 0; i < NAMES_MAX && (entry = readdir(list)); i++) {
		uint32_t number;
		bool is_one;

		if (!rundir_user_decode(entry->d_name, &number))
			continue;
		result = call(dirfd(list), number, &is_one, each, owner);
		if (is_one && result)
			return result;
	}
	return 0;
}

int user_directory_each(const char *rundir,
			int (*each)(void *owner,
				    const struct user_directory *u),
			void *owner)
{
	DIR *list = NULL;
	int result, fd, users = found_users(rundir);

	if (users < 0)
		return users;
	account_init(rundir);
	fd = openat(users, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(users);
	if (fd >= 0)
		list = fdopendir(fd);
	if (!list && fd >= 0)
		close(fd);
	if (!list)
		return call_own(rundir, each, owner);
	result = call_all(list, each, owner);
	closedir(list);
	return result;
}
