/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_rundir: where the core of this network namespace keeps its run-time
 * files.
 */
#include "ofed_rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *ofed_rundir_base(void)
{
	const char *dir = getenv("OFED_CORE_RUNDIR");

	return dir && *dir ? dir : "/run/ofed_core";
}

int ofed_rundir_path(char *out, size_t size, const char *leaf)
{
	struct stat st;
	int n;

	/* The bare system call: the shim interposes stat(). */
	if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/thread-self/ns/net", &st,
		    0) < 0)
		return -errno;
	n = snprintf(out, size, "%s/net-%llu%s%s", ofed_rundir_base(),
		     (unsigned long long)st.st_ino, *leaf ? "/" : "", leaf);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
