/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_files: names that make descriptors which are none of ours. They are
 * here for the number alone: where there is none left, the engine gives back
 * some of its own (scarcity.h).
 */
#include "smc_r/preload/preload.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A third parameter that is not there is not looked at by the kernel. */
#define MODE_AFTER(flags, mode)                                                \
	do {                                                                   \
		va_list ap;                                                    \
                                                                               \
		va_start(ap, flags);                                           \
		(mode) = va_arg(ap, mode_t);                                   \
		va_end(ap);                                                    \
	} while (0)

PRELOAD int open(const char *path, int flags, ...)
{
	mode_t mode;

	MODE_AFTER(flags, mode);
	return SCARCITY_CALL(real.open(path, flags, mode), -1);
}

PRELOAD_ALIAS(open64, open);

PRELOAD int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	MODE_AFTER(flags, mode);
	return SCARCITY_CALL(real.openat(dir, path, flags, mode), -1);
}

PRELOAD_ALIAS(openat64, openat);

PRELOAD int creat(const char *path, mode_t mode)
{
	return SCARCITY_CALL(real.creat(path, mode), -1);
}

PRELOAD_ALIAS(creat64, creat);

/* The headers of libc make these calls of open() where they check it. */
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

PRELOAD int __open_2(const char *path, int flags)
{
	real_need();
	return SCARCITY_CALL(real.__open_2(path, flags), -1);
}

PRELOAD_ALIAS(__open64_2, __open_2);

PRELOAD int __openat_2(int dir, const char *path, int flags)
{
	real_need();
	return SCARCITY_CALL(real.__openat_2(dir, path, flags), -1);
}

PRELOAD_ALIAS(__openat64_2, __openat_2);

PRELOAD FILE *fopen(const char *path, const char *mode)
{
	real_need();
	return SCARCITY_CALL(real.fopen(path, mode), NULL);
}

PRELOAD FILE *fopen64(const char *path, const char *mode)
{
	real_need();
	return SCARCITY_CALL(real.fopen64(path, mode), NULL);
}

PRELOAD DIR *opendir(const char *path)
{
	real_need();
	return SCARCITY_CALL(real.opendir(path), NULL);
}

PRELOAD int pipe(int ends[2])
{
	return SCARCITY_CALL(real.pipe(ends), -1);
}

PRELOAD int pipe2(int ends[2], int flags)
{
	return SCARCITY_CALL(real.pipe2(ends, flags), -1);
}

PRELOAD int socketpair(int domain, int type, int protocol, int ends[2])
{
	return SCARCITY_CALL(real.socketpair(domain, type, protocol, ends), -1);
}

PRELOAD int eventfd(unsigned count, int flags)
{
	return SCARCITY_CALL(real.eventfd(count, flags), -1);
}

PRELOAD int timerfd_create(int clock, int flags)
{
	return SCARCITY_CALL(real.timerfd_create(clock, flags), -1);
}

PRELOAD int signalfd(int fd, const sigset_t *mask, int flags)
{
	return SCARCITY_CALL(real.signalfd(fd, mask, flags), -1);
}

PRELOAD int memfd_create(const char *name, unsigned flags)
{
	return SCARCITY_CALL(real.memfd_create(name, flags), -1);
}

PRELOAD int inotify_init1(int flags)
{
	return SCARCITY_CALL(real.inotify_init1(flags), -1);
}

PRELOAD int inotify_init(void)
{
	return SCARCITY_CALL(real.inotify_init(), -1);
}
