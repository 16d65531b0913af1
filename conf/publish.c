/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* publish: the writer's side of the run directory. */
#include "publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attrdb/whole_file.h"
#include "found.h"
#include "rundir.h"
#include "users_memory.h"

#define TEMPORARY "." RUNDIR_SNAPSHOT ".new"

/* See publish_part(). */
static char part[NAME_MAX];

/* Remembers the part where there is an error; the innermost one is first. */
static int at(const char *name, int error)
{
	if (error < 0 && !part[0])
		snprintf(part, sizeof(part), "/%s", name);
	return error;
}

const char *publish_part(void)
{
	return part;
}

static bool is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Nothing is done to a directory that somebody else owns: it may be a trap. */
static int open_ours(int parent, const char *name)
{
	int fd = openat(parent, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int error = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		error = -errno;
	else if (!is_ours(&st))
		error = -EPERM;
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

/* One that is missing is made, for its owner only. */
static int open_directory(int parent, const char *name, bool *is_new)
{
	*is_new = mkdirat(parent, name, 0700) == 0;
	if (!*is_new && errno != EEXIST)
		return -errno;
	return open_ours(parent, name);
}

/* A directory that everybody can write to, of an older revision, is closed; the
 * others come in once everything in a new directory is in place. */
static int set_mode(int fd, bool is_new, mode_t for_all)
{
	mode_t mode = geteuid() == 0 ? for_all : 0700;
	struct stat st;

	if (!is_new && fstat(fd, &st) < 0)
		return -errno;
	if (!is_new &&
	    (st.st_uid != geteuid() || !(st.st_mode & ~for_all & 022)))
		return 0;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

/* Opens the generation file for writing, at its full size. */
static int open_generation(int dir)
{
	const struct found wanted = {
	    .flags = O_RDWR | O_CREAT, .mode = 0644, .owner = {0, geteuid()}};
	struct stat st;
	int error = 0;
	int fd = found_open(dir, RUNDIR_GENERATION, &wanted, &st);

	if (fd < 0)
		return fd;
	if (st.st_uid == geteuid() && fchmod(fd, 0644) < 0)
		error = -errno;
	else if (st.st_size < SNAPSHOT_GENERATION_BYTES)
		/* Blocks, not a hole: a full file system must say so here, and
		 * must not kill the process that stores through the mapping. */
		error = -posix_fallocate(fd, 0, SNAPSHOT_GENERATION_BYTES);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

/* NULL, and *error, when it cannot be had. */
static _Atomic uint64_t *map_generation(int dir, int *error)
{
	int fd = open_generation(dir);
	void *page;

	*error = fd;
	if (fd < 0)
		return NULL;
	page = mmap(NULL, SNAPSHOT_GENERATION_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	*error = page == MAP_FAILED ? -errno : 0;
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

static void unmap_generation(_Atomic uint64_t *word)
{
	munmap((void *)(uintptr_t)word, SNAPSHOT_GENERATION_BYTES);
}

/* In the directory of a user. */
static int at_user(const char *user, const char *name, int error)
{
	char path[sizeof(part) - 1];

	snprintf(path, sizeof(path), RUNDIR_USERS "/%s%s%s", user,
		 *name ? "/" : "", name);
	return at(path, error);
}

static int make_part(int dir, const char *user, const char *name, mode_t mode)
{
	bool is_new;
	int fd = open_directory(dir, name, &is_new);
	int error;

	if (fd < 0)
		return at_user(user, name, fd);
	error = fchmod(fd, mode) < 0 && is_new ? -errno : 0;
	close(fd);
	return at_user(user, name, error);
}

/* The directory of the run directory's owner, for a host without BPF. */
static int make_own(int users)
{
	char name[RUNDIR_USER_BYTES];
	bool is_new;
	int dir, error;

	rundir_user(name, RUNDIR_OWNER, NULL);
	dir = open_directory(users, name, &is_new);
	if (dir < 0)
		return at_user(name, "", dir);
	error = make_part(dir, name, RUNDIR_STATUS, 0700);
	if (!error)
		error = make_part(dir, name, RUNDIR_PEER, 0711);
	if (!error && is_new && fchmod(dir, 0711) < 0)
		error = -errno;
	at_user(name, "", error);
	close(dir);
	return error;
}

/* In the host's own run directory only: another one is removed as files are. */
static bool needs_memory(const char *rundir)
{
	return geteuid() == 0 && strcmp(rundir, RUNDIR_DEFAULT) == 0;
}

static int make_users(int dir, bool memory)
{
	bool is_new;
	int users = open_directory(dir, RUNDIR_USERS, &is_new);
	int error;

	if (users >= 0 && memory && users_memory_mount(users)) {
		close(users);
		users = open_ours(dir, RUNDIR_USERS);
		is_new = true;
	}
	if (users < 0)
		return users;
	error = make_own(users);
	if (!error)
		error = set_mode(users, is_new, 01733);
	close(users);
	return error;
}

/* Removes a directory that an older revision made for everybody to write to.
 * One that strangers' files keep in place is closed at least. */
static void remove_former(int dir, const char *name)
{
	struct dirent *entry;
	DIR *list;
	int fd = open_ours(dir, name);

	if (fd < 0)
		return;
	fchmod(fd, 0700);
	list = fdopendir(fd);
	if (!list) {
		close(fd);
		return;
	}
	while ((entry = readdir(list)))
		unlinkat(fd, entry->d_name, 0);
	closedir(list);
	unlinkat(dir, name, AT_REMOVEDIR);
}

int publish_prepare(const char *rundir)
{
	bool is_new;
	int dir = open_directory(AT_FDCWD, rundir, &is_new);
	int error, fd;

	part[0] = '\0';
	if (dir < 0)
		return dir;
	error = at(RUNDIR_USERS, make_users(dir, needs_memory(rundir)));
	if (!error) {
		fd = at(RUNDIR_GENERATION, open_generation(dir));
		error = fd < 0 ? fd : 0;
		if (fd >= 0)
			close(fd);
	}
	if (!error)
		error = set_mode(dir, is_new, 0755);
	remove_former(dir, RUNDIR_STATUS);
	remove_former(dir, RUNDIR_PEER);
	close(dir);
	return error;
}

static int write_temporary(int dir, const char *text, size_t length)
{
	int error, fd;

	/* One left by a publisher that died is of no use to anybody. */
	if (unlinkat(dir, TEMPORARY, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir, TEMPORARY,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	error =
	    fchmod(fd, 0644) < 0 ? -errno : whole_file_write(fd, text, length);
	if (close(fd) < 0 && !error)
		error = -errno;
	if (error)
		unlinkat(dir, TEMPORARY, 0);
	return error;
}

static int replace(int dir, const char *text, size_t length)
{
	int error = write_temporary(dir, text, length);

	if (error)
		return error;
	if (renameat(dir, TEMPORARY, dir, RUNDIR_SNAPSHOT) < 0) {
		error = -errno;
		unlinkat(dir, TEMPORARY, 0);
		return error;
	}
	/* Renamed is renamed: a directory that will not be flushed loses it
	 * at worst with the host, and then the device is to be made anew. */
	fsync(dir);
	return 0;
}

int publish_write(const char *rundir, struct snapshot *s)
{
	char text[SNAPSHOT_TEXT_MAX + 1];
	_Atomic uint64_t *word;
	int length, error;
	int dir = open_ours(AT_FDCWD, rundir);

	part[0] = '\0';
	if (dir < 0)
		return dir;
	word = map_generation(dir, &error);
	at(RUNDIR_GENERATION, error);
	if (word) {
		s->generation = atomic_load(word) + 1;
		length = snapshot_format(s, text, sizeof(text));
		error =
		    length < 0 ? length : replace(dir, text, (size_t)length);
		at(RUNDIR_SNAPSHOT, error);
		if (!error)
			atomic_fetch_add_explicit(word, 1,
						  memory_order_release);
		unmap_generation(word);
	}
	close(dir);
	return error;
}

int publish_owner_set(const char *rundir, const char *database)
{
	char path[PATH_MAX];
	int error = 0;
	int dir;

	part[0] = '\0';
	if (publish_owner_is(rundir, database))
		return 0;
	if (!realpath(database, path))
		return at(RUNDIR_DATABASE, -errno);
	dir = open_ours(AT_FDCWD, rundir);
	if (dir < 0)
		return dir;
	/* In one step: others may look at it. */
	if ((unlinkat(dir, TEMPORARY, 0) < 0 && errno != ENOENT) ||
	    symlinkat(path, dir, TEMPORARY) < 0 ||
	    renameat(dir, TEMPORARY, dir, RUNDIR_DATABASE) < 0) {
		error = at(RUNDIR_DATABASE, -errno);
		unlinkat(dir, TEMPORARY, 0);
	}
	close(dir);
	return error;
}

void publish_owner_clear(const char *rundir)
{
	int dir = open_ours(AT_FDCWD, rundir);

	if (dir < 0)
		return;
	unlinkat(dir, RUNDIR_DATABASE, 0);
	close(dir);
}

bool publish_owner_is(const char *rundir, const char *database)
{
	char path[PATH_MAX], noted[PATH_MAX];
	bool is_it = false;
	struct stat st;
	ssize_t n;
	int dir = open_ours(AT_FDCWD, rundir);

	if (dir < 0)
		return false;
	/* The directory above may be one where everybody can write. */
	n = readlinkat(dir, RUNDIR_DATABASE, noted, sizeof(noted));
	if (n > 0 && n < (ssize_t)sizeof(noted) && realpath(database, path) &&
	    fstatat(dir, RUNDIR_DATABASE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		is_it = is_ours(&st) && strlen(path) == (size_t)n &&
			memcmp(path, noted, (size_t)n) == 0;
	close(dir);
	return is_it;
}

int publish_remove(const char *rundir)
{
	_Atomic uint64_t *word;
	int error;
	int dir = open_ours(AT_FDCWD, rundir);

	part[0] = '\0';
	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	word = map_generation(dir, &error);
	at(RUNDIR_GENERATION, error);
	if (word) {
		if (unlinkat(dir, RUNDIR_SNAPSHOT, 0) < 0 && errno != ENOENT) {
			error = at(RUNDIR_SNAPSHOT, -errno);
		} else {
			fsync(dir);
			atomic_fetch_add_explicit(word, 1,
						  memory_order_release);
		}
		unmap_generation(word);
	}
	close(dir);
	return error;
}
