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
	int fd;

	MODE_AFTER(flags, mode);
	do
		fd = real.open(path, flags, mode);
	while (scarcity_again(fd < 0));
	return fd;
}

PRELOAD_ALIAS(open64, open);

PRELOAD int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	int fd;

	MODE_AFTER(flags, mode);
	do
		fd = real.openat(dir, path, flags, mode);
	while (scarcity_again(fd < 0));
	return fd;
}

PRELOAD_ALIAS(openat64, openat);

PRELOAD FILE *fopen(const char *path, const char *mode)
{
	FILE *f;

	real_need();
	do
		f = real.fopen(path, mode);
	while (scarcity_again(!f));
	return f;
}

PRELOAD FILE *fopen64(const char *path, const char *mode)
{
	FILE *f;

	real_need();
	do
		f = real.fopen64(path, mode);
	while (scarcity_again(!f));
	return f;
}

PRELOAD DIR *opendir(const char *path)
{
	DIR *d;

	real_need();
	do
		d = real.opendir(path);
	while (scarcity_again(!d));
	return d;
}

PRELOAD int pipe(int ends[2])
{
	int result;

	do
		result = real.pipe(ends);
	while (scarcity_again(result < 0));
	return result;
}

PRELOAD int pipe2(int ends[2], int flags)
{
	int result;

	do
		result = real.pipe2(ends, flags);
	while (scarcity_again(result < 0));
	return result;
}

PRELOAD int socketpair(int domain, int type, int protocol, int ends[2])
{
	int result;

	do
		result = real.socketpair(domain, type, protocol, ends);
	while (scarcity_again(result < 0));
	return result;
}

PRELOAD int eventfd(unsigned count, int flags)
{
	int fd;

	do
		fd = real.eventfd(count, flags);
	while (scarcity_again(fd < 0));
	return fd;
}
