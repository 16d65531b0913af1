/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* whole_file: a file that others read while it is replaced. */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int whole_file_directory(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd;

	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int whole_file_write(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		length -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}
