/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* store: the file of the database. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lock_file.h"
#include "whole_file.h"

#define STEP_MS    10
#define ROOM_BYTES 65536 /* by which a change may make the file longer */
#define LOCK       "-lock"
#define FRESH      "-new"

/* Where SQLite locks: PENDING_BYTE and RESERVED_BYTE of its file format. */
#define SQLITE_WRITERS_START 0x40000000
#define SQLITE_WRITERS_BYTES 2

/* The name in the directory, with this at its end. */
static int name_of(const struct store *s, const char *end, char out[PATH_MAX])
{
	const char *slash = strrchr(s->path, '/');

	return snprintf(out, PATH_MAX, "%s%s", slash ? slash + 1 : s->path,
			end) >= PATH_MAX
		   ? -ENAMETOOLONG
		   : 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void store_unlock(struct store *s)
{
	char name[PATH_MAX];

	if (s->fresh >= 0 && name_of(s, FRESH, name) == 0)
		unlinkat(s->dir, name, 0);
	close_one(&s->fresh);
	close_one(&s->file);
	close_one(&s->lock);
	close_one(&s->dir);
}

int store_lock(struct store *s)
{
	char name[PATH_MAX];
	int error = name_of(s, LOCK, name);

	if (error)
		return error;
	s->dir = whole_file_directory(s->path);
	if (s->dir < 0)
		return s->dir;
	s->lock = lock_file_take(s->dir, name, s->lock_wait_ms);
	error = s->lock < 0 ? s->lock : 0;
	if (error)
		store_unlock(s);
	return error;
}

/*
 * This is a lock for reading on the bytes that writers lock for writing: locks
 * of other readers, and anybody may be one, do not stand in its way.
 */
static int exclude_sqlite(struct store *s)
{
	static const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	struct flock writers = {.l_type = F_RDLCK,
				.l_whence = SEEK_SET,
				.l_start = SQLITE_WRITERS_START,
				.l_len = SQLITE_WRITERS_BYTES};
	int left_ms = s->lock_wait_ms;

	s->file = open(s->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (s->file < 0)
		return errno == ENOENT ? 0 : -errno;
	while (fcntl(s->file, F_OFD_SETLK, &writers) != 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return -errno;
		if (left_ms <= 0)
			return -EBUSY;
		nanosleep(&step, NULL);
		left_ms -= STEP_MS;
	}
	return 0;
}

static int read_all(int fd, unsigned char *bytes, size_t size)
{
	off_t at = 0;

	while ((size_t)at < size) {
		ssize_t n = pread(fd, bytes + at, size - (size_t)at, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
	}
	return 0;
}

int store_read(const struct store *s, unsigned char **out, long long *size)
{
	struct stat st;
	int error;

	*out = NULL;
	*size = 0;
	if (s->file < 0)
		return 0;
	if (fstat(s->file, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (st.st_size == 0)
		return 0;
	*out = sqlite3_malloc64((sqlite3_uint64)st.st_size);
	if (!*out)
		return -ENOMEM;
	error = read_all(s->file, *out, (size_t)st.st_size);
	if (error) {
		sqlite3_free(*out);
		*out = NULL;
		return error;
	}
	*size = st.st_size;
	return 0;
}

/*
 * Owner and mode stay. Root's new database is for all to read whatever the
 * umask says, because lsattr needs no root.
 */
static int set_owner(const struct store *s, int fd, const struct stat *st)
{
	if (s->file < 0)
		return geteuid() == 0 && fchmod(fd, 0644) < 0 ? -errno : 0;
	/* Another user with the right to write there becomes the owner. */
	if (fchown(fd, st->st_uid, st->st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(fd, st->st_mode & 07777) < 0 ? -errno : 0;
}

/* So that a full file system is met before anything else is changed. */
static int make_fresh(struct store *s)
{
	struct stat st = {.st_size = 0};
	char name[PATH_MAX];
	int error = name_of(s, FRESH, name);

	if (error)
		return error;
	if (s->file >= 0 && fstat(s->file, &st) < 0)
		return -errno;
	unlinkat(s->dir, name, 0);
	s->fresh =
	    openat(s->dir, name,
		   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (s->fresh < 0)
		return -errno;
	if (fallocate(s->fresh, 0, 0, st.st_size + ROOM_BYTES) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	return set_owner(s, s->fresh, &st);
}

int store_prepare(struct store *s)
{
	int error = exclude_sqlite(s);

	return error ? error : make_fresh(s);
}

int store_write(const struct store *s, const unsigned char *bytes,
		long long size)
{
	char name[PATH_MAX], fresh[PATH_MAX];
	int error = name_of(s, "", name);

	if (!error)
		error = name_of(s, FRESH, fresh);
	if (!error && ftruncate(s->fresh, size) < 0)
		error = -errno;
	if (!error)
		error = whole_file_write(s->fresh, (const char *)bytes,
					 (size_t)size);
	if (!error && renameat(s->dir, fresh, s->dir, name) < 0)
		error = -errno;
	if (!error)
		fsync(s->dir);
	return error;
}
