/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pass_on: runs the other program of our name on this host. */
#include "pass_on.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The files that passed on before us, as "device:inode," each: two copies of
 * this program on PATH must not hand over to each other for ever.
 */
#define PASSED_VARIABLE "SMC_R_PASSED_ON"
#define PASSED_SIZE     512

static bool has_passed(const char *passed, const struct stat *st)
{
	char us[64];

	snprintf(us, sizeof(us), "%llx:%llx,", (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino);
	return strstr(passed, us) != NULL;
}

static int remember(char passed[PASSED_SIZE])
{
	const char *before = getenv(PASSED_VARIABLE);
	struct stat st;
	int n;

	if (stat("/proc/self/exe", &st) < 0)
		return -errno;
	n = snprintf(passed, PASSED_SIZE, ",%s%llx:%llx,", before ? before : "",
		     (unsigned long long)st.st_dev,
		     (unsigned long long)st.st_ino);
	if (n < 0 || n >= PASSED_SIZE)
		return -ELOOP;
	return setenv(PASSED_VARIABLE, passed, 1) < 0 ? -errno : 0;
}

static void try_directory(const char *dir, size_t length, const char *name,
			  const char *passed, char *const *argv)
{
	char path[PATH_MAX];
	struct stat st;

	/* An empty entry of PATH is the working directory. */
	if (snprintf(path, sizeof(path), "%.*s/%s", length ? (int)length : 1,
		     length ? dir : ".", name) >= (int)sizeof(path))
		return;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    access(path, X_OK) < 0 || has_passed(passed, &st))
		return;
	execv(path, argv);
}

int pass_on(const char *name, char *const *argv)
{
	const char *path = getenv("PATH");
	char passed[PASSED_SIZE];
	int error = remember(passed);

	if (error)
		return error;
	errno = ENOENT;
	for (const char *dir = path ? path : ""; *dir;) {
		size_t length = strcspn(dir, ":");

		try_directory(dir, length, name, passed, argv);
		dir += length;
		dir += *dir == ':';
	}
	try_directory("/usr/bin", strlen("/usr/bin"), name, passed, argv);
	try_directory("/bin", strlen("/bin"), name, passed, argv);
	unsetenv(PASSED_VARIABLE);
	return errno == EACCES ? -EACCES : -ENOENT;
}
