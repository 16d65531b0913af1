/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* users_memory: the directory of users has a tmpfs of its own. */
#include "users_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process of a user needs three inodes and some 100 KB. */
#define LIMITS "size=5%,nr_inodes=200k,mode=700"

static bool is_empty(int fd)
{
	bool empty = true;
	struct dirent *e;
	DIR *list;

	fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (empty && (e = readdir(list)))
		empty =
		    strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	closedir(list);
	return empty;
}

static bool everybody_sees_mounts(void)
{
	struct stat own, first;

	return stat("/proc/self/ns/mnt", &own) == 0 &&
	       stat("/proc/1/ns/mnt", &first) == 0 &&
	       own.st_ino == first.st_ino && own.st_dev == first.st_dev;
}

int users_memory_mount(int users)
{
	char path[sizeof("/proc/self/fd/") + 11];

	if (!everybody_sees_mounts() || !is_empty(users))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", users);
	return mount("smc_r", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		     LIMITS) == 0;
}
