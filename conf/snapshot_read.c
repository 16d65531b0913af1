/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot_read: the two files of the run directory that engines look at.
 *
 * In an engine read(2) and close(2) are names which the preload library answers
 * itself; these files must not go through it, so the calls here go to the
 * kernel directly. A stranger's file could switch SMC-R on, or shrink under a
 * mapping: found.h.
 */
#include "snapshot.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "found.h"
#include "rundir.h"

static void close_file(int fd)
{
	syscall(SYS_close, fd);
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
	int fd = found_in_rundir(rundir, RUNDIR_SNAPSHOT, &st);
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
	int fd = found_in_rundir(rundir, RUNDIR_GENERATION, &st);
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
