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

/*
 * Definitions of calls: the parameters, then what the next definition is given
 * in front of what is the same in all of the kind.
 */
#define DEFINE_OPEN(name, parameters, ...)                                     \
	SHIM_EXPORT int name parameters                                        \
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
				: SHIM_NEXT(name)(__VA_ARGS__, flags, mode);   \
	}
DEFINE_OPEN(open, (const char *path, int flags, ...), path_)
DEFINE_OPEN(open64, (const char *path, int flags, ...), path_)
DEFINE_OPEN(openat, (int dir, const char *path, int flags, ...), dir, path_)
DEFINE_OPEN(openat64, (int dir, const char *path, int flags, ...), dir, path_)

/* The checked forms that _FORTIFY_SOURCE makes programs call. */
#define DEFINE_OPEN_2(name, parameters, ...)                                   \
	int name parameters;                                                   \
	SHIM_EXPORT int name parameters                                        \
	{                                                                      \
		CLASSIFY(path);                                                \
		int fd = open_node(kind_, number_, flags);                     \
                                                                               \
		return fd != -2 ? fd : SHIM_NEXT(name)(__VA_ARGS__, flags);    \
	}
DEFINE_OPEN_2(__open_2, (const char *path, int flags), path_)
DEFINE_OPEN_2(__open64_2, (const char *path, int flags), path_)
DEFINE_OPEN_2(__openat_2, (int dir, const char *path, int flags), dir, path_)
DEFINE_OPEN_2(__openat64_2, (int dir, const char *path, int flags), dir, path_)

/* Calls that only need the path changed. */
#define DEFINE_CALL(type, name, parameters, ...)                               \
	SHIM_EXPORT type name parameters                                       \
	{                                                                      \
		CLASSIFY(path);                                                \
                                                                               \
		return SHIM_NEXT(name)(__VA_ARGS__);                           \
	}
DEFINE_CALL(FILE *, fopen, (const char *path, const char *mode), path_, mode)
DEFINE_CALL(FILE *, fopen64, (const char *path, const char *mode), path_, mode)
DEFINE_CALL(DIR *, opendir, (const char *path), path_)
DEFINE_CALL(int, chdir, (const char *path), path_)
DEFINE_CALL(int, scandir,
	    (const char *path, struct dirent ***list,
	     int (*filter)(const struct dirent *),
	     int (*compare)(const struct dirent **, const struct dirent **)),
	    path_, list, filter, compare)
DEFINE_CALL(int, scandir64,
	    (const char *path, struct dirent64 ***list,
	     int (*filter)(const struct dirent64 *),
	     int (*compare)(const struct dirent64 **,
			    const struct dirent64 **)),
	    path_, list, filter, compare)
DEFINE_CALL(ssize_t, readlink, (const char *path, char *out, size_t size),
	    path_, out, size)
DEFINE_CALL(ssize_t, readlinkat,
	    (int dir, const char *path, char *out, size_t size), dir, path_,
	    out, size)
DEFINE_CALL(int, statx,
	    (int dir, const char *restrict path, int flags, unsigned mask,
	     struct statx *restrict out),
	    dir, path_, flags, mask, out)

#define DEFINE_ACCESS(name, parameters, ...)                                   \
	SHIM_EXPORT int name parameters                                        \
	{                                                                      \
		CLASSIFY(path);                                                \
                                                                               \
		if (kind_ == SHIM_PATH_UVERBS || kind_ == SHIM_PATH_CM)        \
			return 0;                                              \
		return SHIM_NEXT(name)(__VA_ARGS__);                           \
	}
DEFINE_ACCESS(access, (const char *path, int mode), path_, mode)
DEFINE_ACCESS(faccessat, (int dir, const char *path, int mode, int flags), dir,
	      path_, mode, flags)

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

#define DEFINE_STAT(name, parameters, ...)                                     \
	SHIM_EXPORT int name parameters                                        \
	{                                                                      \
		CLASSIFY(path);                                                \
                                                                               \
		if (kind_ != SHIM_PATH_UVERBS && kind_ != SHIM_PATH_CM)        \
			return SHIM_NEXT(name)(__VA_ARGS__);                   \
		FILL_NODE(st, kind_ == SHIM_PATH_CM, number_);                 \
		return 0;                                                      \
	}
DEFINE_STAT(stat, (const char *path, struct stat *st), path_, st)
DEFINE_STAT(stat64, (const char *path, struct stat64 *st), path_, st)
DEFINE_STAT(lstat, (const char *path, struct stat *st), path_, st)
DEFINE_STAT(lstat64, (const char *path, struct stat64 *st), path_, st)
DEFINE_STAT(fstatat, (int dir, const char *path, struct stat *st, int flags),
	    dir, path_, st, flags)
DEFINE_STAT(fstatat64,
	    (int dir, const char *path, struct stat64 *st, int flags), dir,
	    path_, st, flags)

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
#define DEFINE_XSTAT(name, of, type, call)                                     \
	int name(int version, of, struct type *st);                            \
	SHIM_EXPORT int name(int version, of, struct type *st)                 \
	{                                                                      \
		(void)version;                                                 \
		return call;                                                   \
	}
DEFINE_XSTAT(__xstat, const char *path, stat, stat(path, st))
DEFINE_XSTAT(__xstat64, const char *path, stat64, stat64(path, st))
DEFINE_XSTAT(__fxstat, int fd, stat, fstat(fd, st))
DEFINE_XSTAT(__fxstat64, int fd, stat64, fstat64(fd, st))
