/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_rundir: where the core of this network namespace keeps its run-time
 * files.
 */
#include "ofed_core/base/ofed_rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *ofed_rundir_base(void)
{
	const char *dir = getenv("OFED_CORE_RUNDIR");

	return dir && *dir ? dir : "/run/ofed_core";
}

/* The bare system call: the shim interposes stat(). */
static int look_at(const char *path, struct stat *st, int flags)
{
	return syscall(SYS_newfstatat, AT_FDCWD, path, st, flags) < 0 ? -errno
								      : 0;
}

/*
 * Root and this user are trusted, and so is the owner of the directory that
 * the environment names.
 */
static bool is_trusted(uid_t uid)
{
	struct stat base;

	return uid == 0 || uid == (uid_t)syscall(SYS_geteuid) ||
	       (look_at(ofed_rundir_base(), &base, 0) == 0 &&
		base.st_uid == uid);
}

/* The directory, or a link to it that somebody who is trusted has made. */
static int check_directory(const char *path, bool may_be_link)
{
	struct stat st;
	int rc = look_at(path, &st, AT_SYMLINK_NOFOLLOW);

	if (rc == 0 && may_be_link && S_ISLNK(st.st_mode) &&
	    is_trusted(st.st_uid))
		rc = look_at(path, &st, 0);
	if (rc < 0)
		return rc;
	/* Where everybody may write, anybody may have made it. */
	return S_ISDIR(st.st_mode) && is_trusted(st.st_uid) ? 0 : -EPERM;
}

int ofed_rundir_path_of(char *out, size_t size, const char *name,
			const char *leaf)
{
	const char *base = ofed_rundir_base();
	struct stat st;
	int rc;
	int n;

	if (name) {
		n = snprintf(out, size, "%s/%s", base, name);
	} else {
		rc = look_at("/proc/thread-self/ns/net", &st, 0);
		if (rc < 0)
			return rc;
		n = snprintf(out, size, "%s/net-%llu", base,
			     (unsigned long long)st.st_ino);
	}
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	/* The core's own may be still to be made. */
	rc = check_directory(out, name);
	if (rc < 0 && (name || rc == -EPERM))
		return rc;
	size -= (size_t)n;
	n = snprintf(out + n, size, "%s%s", *leaf ? "/" : "", leaf);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int ofed_rundir_path(char *out, size_t size, const char *leaf)
{
	return ofed_rundir_path_of(out, size, NULL, leaf);
}

bool ofed_rundir_has_core(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer,
		       &n) == 0 &&
	       is_trusted(peer.uid);
}
