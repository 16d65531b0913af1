/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_files: the interposed calls that take a path or open a node.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PATH_BYTES 512

/*
 * Declares `path_` (what to hand on), `kind_` and `number_` for a path.
 */
#define CLASSIFY(path)                                                         \
	char room_[PATH_BYTES];                                                \
	unsigned number_ = 0;                                                  \
	enum shim_path kind_ =                                                 \
	    shim_path(path, room_, sizeof(room_), &number_);                   \
	const char *path_ = kind_ == SHIM_PATH_REWRITTEN ? room_ : (path)

static bool needs_mode(int flags)
{
	return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
}

/* Opens a node of ours; -2 when the path is not one. */
static int open_node(enum shim_path kind, unsigned number, int flags)
{
	if (kind == SHIM_PATH_UVERBS)
		return shim_open_uverbs(number, flags);
	if (kind == SHIM_PATH_CM)
		return shim_open_cm(flags);
	return -2;
}

#define DEFINE_OPEN(name)                                                      \
	SHIM_EXPORT int name(const char *path, int flags, ...)                 \
	{                                                                      \
		CLASSIFY(path);                                                \
		int fd = open_node(kind_, number_, flags);                     \
		va_list a;                                                     \
		mode_t mode = 0;                                               \
                                                                               \
		va_start(a, flags);                                            \
		if (needs_mode(flags))                                         \
			mode = va_arg(a, mode_t);                              \
		va_end(a);                                                     \
		return fd != -2 ? fd : SHIM_NEXT(name)(path_, flags, mode);    \
	}
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                                    \
	SHIM_EXPORT int name(int dir, const char *path, int flags, ...)        \
	{                                                                      \
		CLASSIFY(path);                                                \
		int fd = open_node(kind_, number_, flags);                     \
		va_list a;                                                     \
		mode_t mode = 0;                                               \
                                                                               \
		va_start(a, flags);                                            \
		if (needs_mode(flags))                                         \
			mode = va_arg(a, mode_t);                              \
		va_end(a);                                                     \
		return fd != -2 ? fd                                           \
				: SHIM_NEXT(name)(dir, path_, flags, mode);    \
	}
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* The checked forms that _FORTIFY_SOURCE makes programs call. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

#define DEFINE_OPEN_2(name)                                                    \
	SHIM_EXPORT int name(const char *path, int flags)                      \
	{                                                                      \
		CLASSIFY(path);                                                \
		int fd = open_node(kind_, number_, flags);                     \
                                                                               \
		return fd != -2 ? fd : SHIM_NEXT(name)(path_, flags);          \
	}
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)

#define DEFINE_OPENAT_2(name)                                                  \
	SHIM_EXPORT int name(int dir, const char *path, int flags)             \
	{                                                                      \
		CLASSIFY(path);                                                \
		int fd = open_node(kind_, number_, flags);                     \
                                                                               \
		return fd != -2 ? fd : SHIM_NEXT(name)(dir, path_, flags);     \
	}
DEFINE_OPENAT_2(__openat_2)
DEFINE_OPENAT_2(__openat64_2)

SHIM_EXPORT FILE *fopen(const char *path, const char *mode)
{
	CLASSIFY(path);

	return SHIM_NEXT(fopen)(path_, mode);
}

SHIM_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	CLASSIFY(path);

	return SHIM_NEXT(fopen64)(path_, mode);
}

SHIM_EXPORT DIR *opendir(const char *path)
{
	CLASSIFY(path);

	return SHIM_NEXT(opendir)(path_);
}

SHIM_EXPORT int chdir(const char *path)
{
	CLASSIFY(path);

	return SHIM_NEXT(chdir)(path_);
}

SHIM_EXPORT int scandir(const char *path, struct dirent ***list,
			int (*filter)(const struct dirent *),
			int (*compare)(const struct dirent **,
				       const struct dirent **))
{
	CLASSIFY(path);

	return SHIM_NEXT(scandir)(path_, list, filter, compare);
}

SHIM_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			  int (*filter)(const struct dirent64 *),
			  int (*compare)(const struct dirent64 **,
					 const struct dirent64 **))
{
	CLASSIFY(path);

	return SHIM_NEXT(scandir64)(path_, list, filter, compare);
}

SHIM_EXPORT int access(const char *path, int mode)
{
	CLASSIFY(path);

	if (kind_ == SHIM_PATH_UVERBS || kind_ == SHIM_PATH_CM)
		return 0;
	return SHIM_NEXT(access)(path_, mode);
}

SHIM_EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	CLASSIFY(path);

	if (kind_ == SHIM_PATH_UVERBS || kind_ == SHIM_PATH_CM)
		return 0;
	return SHIM_NEXT(faccessat)(dir, path_, mode, flags);
}

SHIM_EXPORT ssize_t readlink(const char *path, char *out, size_t size)
{
	CLASSIFY(path);

	return SHIM_NEXT(readlink)(path_, out, size);
}

SHIM_EXPORT ssize_t readlinkat(int dir, const char *path, char *out,
			       size_t size)
{
	CLASSIFY(path);

	return SHIM_NEXT(readlinkat)(dir, path_, out, size);
}

static dev_t node_device(bool is_cm, unsigned number)
{
	return is_cm ? makedev(SHIM_CM_MAJOR, SHIM_CM_MINOR)
		     : makedev(SHIM_UVERBS_MAJOR,
			       SHIM_UVERBS_MINOR_BASE + number);
}

/* What the kernel's node would look like. */
#define FILL_NODE(st, is_cm, number)                                           \
	do {                                                                   \
		memset((st), 0, sizeof(*(st)));                                \
		(st)->st_mode = S_IFCHR | 0666;                                \
		(st)->st_nlink = 1;                                            \
		(st)->st_rdev = node_device(is_cm, number);                    \
	} while (0)

#define DEFINE_STAT(name, type)                                                \
	SHIM_EXPORT int name(const char *path, struct type *st)                \
	{                                                                      \
		CLASSIFY(path);                                                \
                                                                               \
		if (kind_ != SHIM_PATH_UVERBS && kind_ != SHIM_PATH_CM)        \
			return SHIM_NEXT(name)(path_, st);                     \
		FILL_NODE(st, kind_ == SHIM_PATH_CM, number_);                 \
		return 0;                                                      \
	}
DEFINE_STAT(stat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(lstat64, stat64)

#define DEFINE_FSTATAT(name, type)                                             \
	SHIM_EXPORT int name(int dir, const char *path, struct type *st,       \
			     int flags)                                        \
	{                                                                      \
		CLASSIFY(path);                                                \
                                                                               \
		if (kind_ != SHIM_PATH_UVERBS && kind_ != SHIM_PATH_CM)        \
			return SHIM_NEXT(name)(dir, path_, st, flags);         \
		FILL_NODE(st, kind_ == SHIM_PATH_CM, number_);                 \
		return 0;                                                      \
	}
DEFINE_FSTATAT(fstatat, stat)
DEFINE_FSTATAT(fstatat64, stat64)

#define DEFINE_FSTAT(name, type)                                               \
	SHIM_EXPORT int name(int fd, struct type *st)                          \
	{                                                                      \
		enum shim_fd_kind kind = shim_fd_kind(fd);                     \
                                                                               \
		if (kind != SHIM_FD_UVERBS && kind != SHIM_FD_CM)              \
			return SHIM_NEXT(name)(fd, st);                        \
		FILL_NODE(st, kind == SHIM_FD_CM, shim_fd_number(fd));         \
		return 0;                                                      \
	}
DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)

/* The forms that programs linked against older C libraries call. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);

SHIM_EXPORT int __xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return stat(path, st);
}

SHIM_EXPORT int __xstat64(int version, const char *path, struct stat64 *st)
{
	(void)version;
	return stat64(path, st);
}

SHIM_EXPORT int __fxstat(int version, int fd, struct stat *st)
{
	(void)version;
	return fstat(fd, st);
}

SHIM_EXPORT int __fxstat64(int version, int fd, struct stat64 *st)
{
	(void)version;
	return fstat64(fd, st);
}

SHIM_EXPORT int statx(int dir, const char *restrict path, int flags,
		      unsigned mask, struct statx *restrict out)
{
	CLASSIFY(path);

	return SHIM_NEXT(statx)(dir, path_, flags, mask, out);
}
