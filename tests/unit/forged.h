/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * forged: a private run directory with status segments that no engine made.
 * For unit tests; everything fails the test that cannot be done.
 *
 * Ownership: the directory is removed when the test ends well.
 * Locking:   none.
 */
#ifndef TESTS_UNIT_FORGED_H
#define TESTS_UNIT_FORGED_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smc_r/os/alive.h"
#include "smc_r/os/status.h"

#define FORGED_SLOTS 4

struct forged {
	struct status_header header;
	unsigned char gap[STATUS_SLOTS_AT - sizeof(struct status_header)];
	struct status_slot slot[FORGED_SLOTS];
};

static char forged_rundir[4096];
static int forged_dir = -1;

static inline void forged_setup(void)
{
	const char *tmp = getenv("TMPDIR");
	static const char *const part[] = {"", "/000000", "/000000/status"};
	char path[4200];

	snprintf(forged_rundir, sizeof(forged_rundir), "%s/forged.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	cr_assert(mkdtemp(forged_rundir));
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/users%s", forged_rundir,
			 part[i]);
		cr_assert_eq(mkdir(path, 0700), 0);
	}
	forged_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(forged_dir, 0);
}

static inline void forged_teardown(void)
{
	char command[4200];

	close(forged_dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", forged_rundir);
	cr_assert_eq(system(command), 0);
}

/* A process number that was given and is free again. */
static inline pid_t forged_dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* As an engine of that process would have made it, with no slot yet. */
static inline void forged_fill(struct forged *f, pid_t pid, uint64_t start)
{
	memset(f, 0, sizeof(*f));
	f->header.magic = STATUS_MAGIC;
	f->header.version = STATUS_VERSION;
	f->header.slot_size = sizeof(struct status_slot);
	f->header.pid = pid;
	f->header.start = start;
	f->header.uid = geteuid();
	f->header.reason_table = STATUS_REASON_TABLE;
	f->header.holders[0].pid = pid;
	f->header.holders[0].start = start;
	strcpy(f->header.program, "forged");
}

static inline void forged_fill_self(struct forged *f)
{
	uint64_t start = 0;

	cr_assert_eq(alive_start(getpid(), &start), 0);
	forged_fill(f, getpid(), start);
}

static inline struct status_slot *forged_add_slot(struct forged *f,
						  enum status_state state)
{
	struct status_slot *s = &f->slot[f->header.slot_count++];

	s->state = state;
	s->holders = 1;
	s->pid = f->header.pid;
	return s;
}

static inline size_t forged_size(const struct forged *f)
{
	return STATUS_SLOTS_AT +
	       f->header.slot_count * sizeof(struct status_slot);
}

static inline void forged_write_as(const char *name, const void *bytes,
				   size_t size)
{
	int fd = openat(forged_dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

/* The name is put into `name`, of 48 bytes, unless that is NULL. */
static inline void forged_write(const struct forged *f, char *name)
{
	char own[48];

	snprintf(own, sizeof(own), "%d.%" PRIu64, f->header.pid,
		 f->header.start);
	forged_write_as(own, f, forged_size(f));
	if (name)
		memcpy(name, own, sizeof(own));
}

static inline bool forged_exists(const char *name)
{
	struct stat st;

	return fstatat(forged_dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

#endif
