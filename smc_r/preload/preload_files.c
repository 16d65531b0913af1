/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_files: names that make descriptors which are none of ours. They are
 * here for the number alone: where there is none left, the engine gives back
 * some of its own (scarcity.h).
 */
#include "smc_r/preload/preload.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A mode that is not there is not looked at by the kernel. */
static NOT_PLAIN int open_scarcely(const char *path, int flags, mode_t mode)
{
	return SCARCITY_CALL(real.open(path, flags, mode), -1);
}

static int call_open(const char *path, int flags, mode_t mode)
{
	return scarcity_is_far() ? real.open(path, flags, mode)
				 : open_scarcely(path, flags, mode);
}

PRELOAD_VARIADIC(open, call_open);
PRELOAD_VARIADIC(open64, call_open);

static NOT_PLAIN int openat_scarcely(int dir, const char *path, int flags,
				     mode_t mode)
{
	return SCARCITY_CALL(real.openat(dir, path, flags, mode), -1);
}

static int call_openat(int dir, const char *path, int flags, mode_t mode)
{
	return scarcity_is_far() ? real.openat(dir, path, flags, mode)
				 : openat_scarcely(dir, path, flags, mode);
}

PRELOAD_VARIADIC(openat, call_openat);
PRELOAD_VARIADIC(openat64, call_openat);

PRELOAD int creat(const char *path, mode_t mode)
{
	SCARCITY_RETURN(real.creat(path, mode), -1);
}

PRELOAD_ALIAS(creat64, creat);

/* The headers of libc make these calls of open() where they check it. */
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

PRELOAD int __open_2(const char *path, int flags)
{
	real_need();
	SCARCITY_RETURN(real.__open_2(path, flags), -1);
}

PRELOAD_ALIAS(__open64_2, __open_2);

PRELOAD int __openat_2(int dir, const char *path, int flags)
{
	real_need();
	SCARCITY_RETURN(real.__openat_2(dir, path, flags), -1);
}

PRELOAD_ALIAS(__openat64_2, __openat_2);

PRELOAD FILE *fopen(const char *path, const char *mode)
{
	real_need();
	SCARCITY_RETURN(real.fopen(path, mode), NULL);
}

PRELOAD FILE *fopen64(const char *path, const char *mode)
{
	real_need();
	SCARCITY_RETURN(real.fopen64(path, mode), NULL);
}

PRELOAD DIR *opendir(const char *path)
{
	real_need();
	SCARCITY_RETURN(real.opendir(path), NULL);
}

PRELOAD int pipe(int ends[2])
{
	SCARCITY_RETURN(real.pipe(ends), -1);
}

PRELOAD int pipe2(int ends[2], int flags)
{
	SCARCITY_RETURN(real.pipe2(ends, flags), -1);
}

PRELOAD int socketpair(int domain, int type, int protocol, int ends[2])
{
	SCARCITY_RETURN(real.socketpair(domain, type, protocol, ends), -1);
}

PRELOAD int eventfd(unsigned count, int flags)
{
	SCARCITY_RETURN(real.eventfd(count, flags), -1);
}

PRELOAD int timerfd_create(int clock, int flags)
{
	SCARCITY_RETURN(real.timerfd_create(clock, flags), -1);
}

PRELOAD int signalfd(int fd, const sigset_t *mask, int flags)
{
	SCARCITY_RETURN(real.signalfd(fd, mask, flags), -1);
}

PRELOAD int memfd_create(const char *name, unsigned flags)
{
	SCARCITY_RETURN(real.memfd_create(name, flags), -1);
}

PRELOAD int inotify_init1(int flags)
{
	SCARCITY_RETURN(real.inotify_init1(flags), -1);
}

PRELOAD int inotify_init(void)
{
	SCARCITY_RETURN(real.inotify_init(), -1);
}
