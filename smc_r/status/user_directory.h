/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * user_directory: whose segments and totals a command may read. For commands.
 *
 * Root, and the owner of the run directory, read those of all users; others
 * read their own. Strangers make names there as well: what is not a user's
 * directory as an engine makes it is passed over.
 *
 * Ownership: descriptors are closed when a call returns, except where it says
 *            otherwise.
 * Locking:   none. Calls account_init().
 *
 * Uses libc only.
 */
#ifndef SMC_R_USER_DIRECTORY_H
#define SMC_R_USER_DIRECTORY_H

#include <stdint.h>
#include <sys/types.h>

struct user_directory {
	int status;      /* the directory of segments and totals */
	uint32_t number; /* rundir_user */
	uid_t uid;       /* of its owner, and of all files in it */
};

/*
 * Calls each() with every directory; stops when it returns other than 0, and
 * returns that. Else 0, or a negative errno: -ENOENT where there is none that
 * this user may read.
 */
int user_directory_each(const char *rundir,
			int (*each)(void *owner,
				    const struct user_directory *u),
			void *owner);

#endif
