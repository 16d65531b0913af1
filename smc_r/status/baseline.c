/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * baseline: what the counters showed when they were last reset.
 */
#include "smc_r/status/baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/found.h"

#define NAME "baseline"

struct baseline_file {
	uint32_t magic;
	uint32_t version;
	uint64_t size; /* of this struct */
	struct baseline value;
	uint64_t reason_table; /* STATUS_REASON_TABLE */
};

#define OLD_SIZE offsetof(struct baseline_file, reason_table)

static int open_rundir(const char *rundir)
{
	int dir = open(rundir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : dir;
}

int baseline_decode(const void *bytes, size_t size, struct baseline *out)
{
	struct baseline_file f = {.magic = 0};

	if (size < OLD_SIZE || size > sizeof(f))
		return -EPROTO;
	memcpy(&f, bytes, size);
	if (f.magic != STATUS_MAGIC || f.version != STATUS_VERSION ||
	    f.size != size)
		return -EPROTO;
	/* Counts by reasons in another order are none: status.h. */
	if (f.reason_table != STATUS_REASON_TABLE)
		memset(f.value.counters.fallbacks, 0,
		       sizeof(f.value.counters.fallbacks));
	*out = f.value;
	return 0;
}

int baseline_read(const char *rundir, struct baseline *out)
{
	char bytes[sizeof(struct baseline_file)];
	struct stat st;
	ssize_t n;
	int error, fd = found_in_rundir(rundir, NAME, &st);

	if (fd < 0)
		return fd;
	n = pread(fd, bytes, sizeof(bytes), 0);
	error = n < 0 ? -errno : baseline_decode(bytes, (size_t)n, out);
	close(fd);
	return error;
}

static int write_new(int dir, const char *name, const struct baseline_file *f)
{
	int error = 0;
	ssize_t n;
	int fd =
	    openat(dir, name,
		   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	n = write(fd, f, sizeof(*f));
	if (n < 0 || fchmod(fd, 0644) != 0)
		error = -errno;
	else if ((size_t)n != sizeof(*f))
		error = -ENOSPC;
	close(fd);
	if (!error && renameat(dir, name, dir, NAME) != 0)
		error = -errno;
	if (error)
		unlinkat(dir, name, 0);
	return error;
}

int baseline_write(const char *rundir, const struct status_counters *counters)
{
	struct baseline_file f = {
	    .magic = STATUS_MAGIC,
	    .version = STATUS_VERSION,
	    .size = sizeof(f),
	    .reason_table = STATUS_REASON_TABLE,
	};
	char name[sizeof(NAME) + 16];
	struct timespec now;
	int error, dir = open_rundir(rundir);

	if (dir < 0)
		return dir;
	clock_gettime(CLOCK_REALTIME, &now);
	f.value.since_ms =
	    (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	f.value.counters = *counters;
	snprintf(name, sizeof(name), NAME ".%d", (int)getpid());
	error = write_new(dir, name, &f);
	close(dir);
	return error;
}

void baseline_subtract(struct status_counters *counters,
		       const struct baseline *baseline)
{
	_Atomic uint64_t *now = (_Atomic uint64_t *)counters;
	const _Atomic uint64_t *then =
	    (const _Atomic uint64_t *)&baseline->counters;
	size_t i;

	for (i = 0; i < sizeof(*counters) / sizeof(*now); i++)
		now[i] = now[i] > then[i] ? now[i] - then[i] : 0;
}
