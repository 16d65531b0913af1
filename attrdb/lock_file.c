/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lock_file: a lock between commands. */
#include "lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 10

/* The owner of the directory could put another file there anyway. */
static bool is_private(int dir, int fd)
{
	struct stat st, above;

	return fstat(fd, &st) == 0 && fstat(dir, &above) == 0 &&
	       S_ISREG(st.st_mode) && !(st.st_mode & (S_IRWXG | S_IRWXO)) &&
	       (st.st_uid == geteuid() || st.st_uid == 0 ||
		st.st_uid == above.st_uid);
}

static int lock(int fd, int wait_ms)
{
	static const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (wait_ms <= 0)
			return -EBUSY;
		nanosleep(&step, NULL);
		wait_ms -= STEP_MS;
	}
	return 0;
}

int lock_file_take(int dir, const char *name, int wait_ms)
{
	int fd = openat(dir, name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			    O_CLOEXEC,
			0600);
	int error;

	if (fd < 0)
		return -errno;
	error = is_private(dir, fd) ? lock(fd, wait_ms) : -EUCLEAN;
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}
