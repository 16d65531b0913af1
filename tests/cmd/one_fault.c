/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * one_fault: one call of a file fails, once: a library to preload.
 *
 * With FAULT_LOG each call that is about a path below $FAULT_BELOW is a line
 * "call path" in that file. The first such line that the pattern in FAULT_AT
 * matches is a call that fails, with the errno FAULT_ERRNO, and does nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool has_failed;

static bool is_below(const char *path)
{
	const char *below = getenv("FAULT_BELOW");

	return below && strncmp(path, below, strlen(below)) == 0;
}

static void name_of(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlink, link, out, (size_t)PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
}

/* Does this call fail? errno is set then. */
static bool fails(const char *call, int dir, const char *name)
{
	const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT");
	char path[2 * PATH_MAX] = "", line[3 * PATH_MAX];
	int n, saved = errno;

	if (!name || name[0] != '/') {
		if (dir != AT_FDCWD)
			name_of(dir, path);
		else if (!getcwd(path, PATH_MAX))
			path[0] = '\0';
		if (name)
			snprintf(path + strlen(path),
				 sizeof(path) - strlen(path), "/%s", name);
		name = path;
	}
	if (!is_below(name))
		return false;
	n = snprintf(line, sizeof(line), "%s %s\n", call, name);
	if (log) {
		long fd = syscall(SYS_openat, AT_FDCWD, log,
				  O_WRONLY | O_CREAT | O_APPEND, 0666);

		syscall(SYS_write, fd, line, (size_t)n);
		syscall(SYS_close, fd);
	}
	errno = saved;
	line[n - 1] = '\0';
	if (!at || has_failed || fnmatch(at, line, 0) != 0)
		return false;
	has_failed = true;
	errno = atoi(getenv("FAULT_ERRNO"));
	return true;
}

/* The function behind ours. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

#define OPENS(name)                                                            \
	EXPORT int name(const char *path, int flags, ...)                      \
	{                                                                      \
		va_list list;                                                  \
		mode_t mode;                                                   \
                                                                               \
		va_start(list, flags);                                         \
		mode =                                                         \
		    flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;  \
		va_end(list);                                                  \
		if (fails("open", AT_FDCWD, path))                             \
			return -1;                                             \
		return NEXT(name)(path, flags, mode);                          \
	}

#define OPENS_AT(name)                                                         \
	EXPORT int name(int dir, const char *path, int flags, ...)             \
	{                                                                      \
		va_list list;                                                  \
		mode_t mode;                                                   \
                                                                               \
		va_start(list, flags);                                         \
		mode =                                                         \
		    flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;  \
		va_end(list);                                                  \
		if (fails("open", dir, path))                                  \
			return -1;                                             \
		return NEXT(name)(dir, path, flags, mode);                     \
	}

/* type name(parameters), which fails with bad; at and path say of what. */
#define CALL(type, name, parameters, arguments, at, path, bad)                 \
	EXPORT type name parameters                                            \
	{                                                                      \
		return fails(#name, at, path) ? (bad) : NEXT(name) arguments;  \
	}

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
CALL(int, __open_2, (const char *p, int f), (p, f), AT_FDCWD, p, -1)
CALL(int, __open64_2, (const char *p, int f), (p, f), AT_FDCWD, p, -1)
CALL(int, __openat_2, (int d, const char *p, int f), (d, p, f), d, p, -1)
CALL(int, __openat64_2, (int d, const char *p, int f), (d, p, f), d, p, -1)
CALL(FILE *, fopen, (const char *p, const char *m), (p, m), AT_FDCWD, p, NULL)
CALL(FILE *, fopen64, (const char *p, const char *m), (p, m), AT_FDCWD, p, NULL)
CALL(int, mkdir, (const char *p, mode_t m), (p, m), AT_FDCWD, p, -1)
CALL(int, mkdirat, (int d, const char *p, mode_t m), (d, p, m), d, p, -1)
CALL(int, mkostemp, (char *p, int f), (p, f), AT_FDCWD, p, -1)
CALL(int, mkostemp64, (char *p, int f), (p, f), AT_FDCWD, p, -1)
CALL(int, unlink, (const char *p), (p), AT_FDCWD, p, -1)
CALL(int, unlinkat, (int d, const char *p, int f), (d, p, f), d, p, -1)
CALL(int, symlinkat, (const char *t, int d, const char *p), (t, d, p), d, p, -1)
CALL(int, rename, (const char *a, const char *b), (a, b), AT_FDCWD, b, -1)
CALL(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b),
     e, b, -1)
CALL(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n), fd, NULL, -1)
CALL(ssize_t, pread, (int fd, void *b, size_t n, off_t o), (fd, b, n, o), fd,
     NULL, -1)
CALL(ssize_t, pread64, (int fd, void *b, size_t n, off64_t o), (fd, b, n, o),
     fd, NULL, -1)
CALL(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), fd, NULL,
     -1)
CALL(int, ftruncate, (int fd, off_t n), (fd, n), fd, NULL, -1)
CALL(int, ftruncate64, (int fd, off64_t n), (fd, n), fd, NULL, -1)
CALL(int, fallocate, (int fd, int m, off_t o, off_t n), (fd, m, o, n), fd, NULL,
     -1)
CALL(int, fallocate64, (int fd, int m, off64_t o, off64_t n), (fd, m, o, n), fd,
     NULL, -1)
CALL(int, posix_fallocate, (int fd, off_t o, off_t n), (fd, o, n), fd, NULL,
     errno)
CALL(int, fchmod, (int fd, mode_t m), (fd, m), fd, NULL, -1)
CALL(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g), fd, NULL, -1)
CALL(int, fsync, (int fd), (fd), fd, NULL, -1)
CALL(int, flock, (int fd, int how), (fd, how), fd, NULL, -1)
CALL(int, faccessat, (int d, const char *p, int m, int f), (d, p, m, f), d, p,
     -1)
CALL(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o),
     (a, n, p, f, fd, o), fd < 0 ? AT_FDCWD : fd, fd < 0 ? "/" : NULL,
     MAP_FAILED)
