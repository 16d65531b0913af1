/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot_read: the two files of the run directory that engines look at.
 *
 * In an engine open(2), read(2) and close(2) are names which the preload
 * library answers itself, and stat(2) one of another such library; these files
 * must not go through either, so the calls here go to the kernel directly.
 */
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rundir.h"

static void close_file(int fd)
{
	syscall(SYS_close, fd);
}

/*
 * The run directory may be writable for everybody, so a file in it counts
 * only when root or the directory's owner made it: a stranger's file could
 * switch SMC-R on, or shrink under a mapping.
 */
static int open_trusted(const char *rundir, const char *name, struct stat *st)
{
	char path[PATH_MAX];
	struct stat dir;
	int n, fd;

	n = snprintf(path, sizeof(path), "%s/%s", rundir, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_newfstatat, AT_FDCWD, rundir, &dir, 0) < 0 ||
	    syscall(SYS_fstat, fd, st) < 0) {
		int error = -errno;

		close_file(fd);
		return error;
	}
	if (!S_ISREG(st->st_mode) ||
	    (st->st_uid != 0 && st->st_uid != dir.st_uid)) {
		close_file(fd);
		return -EPERM;
	}
	return fd;
}

/* The length, or -errno. */
static int read_text(int fd, char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = syscall(SYS_read, fd, text + length, size - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (int)length;
}

/* The smallest stack that a thread may have has no room for the text. */
int snapshot_read(const char *rundir, struct snapshot *out)
{
	size_t size = SNAPSHOT_TEXT_MAX + 1;
	struct stat st;
	int fd = open_trusted(rundir, RUNDIR_SNAPSHOT, &st);
	int result;
	char *text;

	if (fd < 0)
		return fd;
	text = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	result = text == MAP_FAILED ? -errno : read_text(fd, text, size);
	close_file(fd);
	if (result >= 0)
		result = snapshot_parse(text, (size_t)result, out);
	if (text != MAP_FAILED)
		munmap(text, size);
	return result;
}

int snapshot_generation_map(const char *rundir, const _Atomic uint64_t **out)
{
	struct stat st = {0};
	int fd = open_trusted(rundir, RUNDIR_GENERATION, &st);
	void *page;

	if (fd < 0)
		return fd;
	if (st.st_size < SNAPSHOT_GENERATION_BYTES) {
		close_file(fd);
		return -EPROTO;
	}
	page =
	    mmap(NULL, SNAPSHOT_GENERATION_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		int error = -errno;

		close_file(fd);
		return error;
	}
	close_file(fd);
	*out = page;
	return 0;
}
