/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * place: a private run directory, as the commands leave one to the engine, for
 * unit tests that run inner parts of the engine.
 *
 * The engine remembers its run directory from the first look on, so
 * place_make() comes before any call into it. Every test runs in a process of
 * its own.
 *
 * Ownership: the directory is removed by place_remove().
 * Locking:   none.
 */
#ifndef TESTS_UNIT_PLACE_H
#define TESTS_UNIT_PLACE_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "conf/snapshot.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/status.h"

#define PLACE_PATH 600

/* Without a BPF program the one directory of users. */
#define PLACE_USER   RUNDIR_USERS "/000000"
#define PLACE_STATUS PLACE_USER "/" RUNDIR_STATUS
#define PLACE_PEER   PLACE_USER "/" RUNDIR_PEER

static char place_dir[400];

static inline const char *place_path(const char *name)
{
	static char path[PLACE_PATH];

	snprintf(path, sizeof(path), "%s/%s", place_dir, name);
	return path;
}

/* What the engine does at the start of a process. */
static inline void place_enter(void)
{
	process_init();
	cr_assert_eq(fdtable_init(), 0);
}

static inline void place_make_user(void)
{
	static const char *const part[] = {RUNDIR_USERS, PLACE_USER,
					   PLACE_STATUS, PLACE_PEER};

	for (int i = 0; i < 4; i++)
		cr_assert_eq(mkdir(place_path(part[i]), 0700), 0);
}

static inline void place_make(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(place_dir, sizeof(place_dir), "%s/place.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	cr_assert(mkdtemp(place_dir));
	cr_assert_eq(chmod(place_dir, 0755), 0);
	place_make_user();
	cr_assert_eq(setenv(RUNDIR_VARIABLE, place_dir, 1), 0);
	unsetenv("SMC_R");
	place_enter();
}

static inline void place_remove(void)
{
	char command[PLACE_PATH];

	snprintf(command, sizeof(command), "rm -rf '%s'", place_dir);
	cr_assert_eq(system(command), 0);
}

/* Settings under which every loopback connection matches. */
static inline struct snapshot place_settings(void)
{
	struct snapshot s = {
	    .generation = 1,
	    .enabled = true,
	    .address_count = 2,
	    .max_memory_bytes = 64u << 20,
	    .range_count = 1,
	    .ranges = {{1, 65535}},
	};

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &s.addresses[0]);
	inet_pton(AF_INET6, "::1", &s.addresses[1]);
	return s;
}

static inline void place_write(const char *name, const void *bytes, size_t n)
{
	char path[PLACE_PATH];
	char fresh[PLACE_PATH + 8];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", place_dir, name);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	close(fd);
	cr_assert_eq(rename(fresh, path), 0);
}

/* Snapshot first, then the word that makes engines look. */
static inline void place_publish(const struct snapshot *s)
{
	char text[SNAPSHOT_TEXT_MAX];
	int n = snapshot_format(s, text, sizeof(text));
	const char *path;
	_Atomic uint64_t *word;
	int fd;

	cr_assert_gt(n, 0);
	place_write(RUNDIR_SNAPSHOT, text, (size_t)n);
	path = place_path(RUNDIR_GENERATION);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, SNAPSHOT_GENERATION_BYTES), 0);
	word = mmap(NULL, SNAPSHOT_GENERATION_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	cr_assert_neq(word, MAP_FAILED);
	atomic_store(word, s->generation);
	munmap(word, SNAPSHOT_GENERATION_BYTES);
	close(fd);
}

static inline int place_count(const char *directory)
{
	struct dirent *entry;
	DIR *d = opendir(directory);
	int n = 0;

	if (!d)
		return -1;
	while ((entry = readdir(d)) != NULL)
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Open descriptors of this process, the look itself left out. */
static inline int place_descriptors(void)
{
	return place_count("/proc/self/fd") - 1;
}

/* The user's totals, as a command would read them. */
static inline struct status_totals place_totals(void)
{
	struct status_totals t;
	int fd;

	memset(&t, 0, sizeof(t));
	fd = open(place_path(PLACE_STATUS "/" STATUS_TOTALS),
		  O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, &t, sizeof(t)) != sizeof(t))
			memset(&t, 0, sizeof(t));
		close(fd);
	}
	return t;
}

static inline uint64_t place_rmb_bytes(void)
{
	struct status_totals t = place_totals();

	return t.rmb_bytes;
}

#endif
