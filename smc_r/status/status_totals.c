/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_totals: opens, maps and locks a user's totals.
 */
#include "smc_r/status/status_totals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/found.h"

#define TRY_AGAIN_MS 2

/* Counters are summed as one row of words. */
#define COUNTER_WORDS (sizeof(struct status_counters) / sizeof(uint64_t))
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "plain words");
_Static_assert(sizeof(struct status_counters) % sizeof(uint64_t) == 0,
	       "nothing but counters");

/* The directory is its user's alone. */
static int open_file(int dir, int flags)
{
	const struct found wanted = {
	    .flags = flags, .mode = 0600, .owner = {FOUND_ANYBODY}};
	struct stat st;
	int fd = found_open(dir, STATUS_TOTALS, &wanted, &st);

	return fd == -EPERM ? -EPROTO : fd;
}

int status_totals_open(int dir)
{
	return open_file(dir, O_RDONLY);
}

static bool is_totals(const struct status_totals *t)
{
	return t->magic == STATUS_MAGIC && t->version == STATUS_VERSION;
}

int status_totals_copy(int fd, struct status_totals *out)
{
	struct status_totals t = {.magic = 0};
	ssize_t n = pread(fd, &t, sizeof(t), 0);

	if (n < 0)
		return -errno;
	if ((size_t)n < STATUS_TOTALS_LEAST || !is_totals(&t))
		return -EPROTO;
	status_totals_adopt(&t);
	memcpy(out, &t, sizeof(t));
	return 0;
}

/* Makes an empty file the totals of nothing, and one of an older revision a
 * current one; under LOCK_EX. */
static int start_totals(int fd)
{
	struct status_totals t = {
	    .magic = STATUS_MAGIC,
	    .version = STATUS_VERSION,
	    .uid = geteuid(),
	};
	ssize_t n = pread(fd, &t, sizeof(t), 0);

	if (n < 0)
		return -errno;
	if (n > 0 && (size_t)n < STATUS_TOTALS_LEAST)
		return -EPROTO;
	if ((size_t)n >= sizeof(t) && t.reason_table == STATUS_REASON_TABLE)
		return 0;
	if (!is_totals(&t))
		return -EPROTO;
	status_totals_adopt(&t);
	n = pwrite(fd, &t, sizeof(t), 0);
	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(t) ? 0 : -ENOSPC;
}

static int open_own(int dir)
{
	int error, fd = open_file(dir, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	error = status_totals_lock(fd, LOCK_EX, 1000);
	if (!error) {
		error = start_totals(fd);
		status_totals_unlock(fd);
	}
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

int status_totals_map(int dir, struct status_totals **out, int *fd)
{
	struct status_totals *t;
	int error;

	*fd = open_own(dir);
	if (*fd < 0)
		return *fd;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (t == MAP_FAILED) {
		error = -errno;
		close(*fd);
		return error;
	}
	if (!is_totals(t)) {
		status_totals_unmap(t, *fd);
		return -EPROTO;
	}
	*out = t;
	return 0;
}

void status_totals_unmap(struct status_totals *totals, int fd)
{
	munmap(totals, sizeof(*totals));
	close(fd);
}

int status_totals_lock(int fd, int how, unsigned wait_ms)
{
	const struct timespec pause = {.tv_nsec = TRY_AGAIN_MS * 1000000L};
	unsigned waited;

	for (waited = 0;; waited += TRY_AGAIN_MS) {
		if (flock(fd, how | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (waited >= wait_ms)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
}

/*
 * Closing would not do: a child forked meanwhile by another thread has the
 * same open file, and would keep the lock.
 */
void status_totals_unlock(int fd)
{
	flock(fd, LOCK_UN);
}

void status_counters_add(struct status_counters *to,
			 const struct status_counters *from)
{
	_Atomic uint64_t *sum = (_Atomic uint64_t *)to;
	const _Atomic uint64_t *more = (const _Atomic uint64_t *)from;
	size_t i;

	for (i = 0; i < COUNTER_WORDS; i++)
		relaxed_add(&sum[i], relaxed_load(&more[i]));
}
