/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * totals_fuzz: a directory of status files in which anything may stand, as the
 * engine reads it: it counts what memory the user's processes hold, and moves
 * to the totals what dead ones left.
 *
 * Input: what is made right (enum choice); the name of a segment, which ends
 * with a NUL; the totals; the segment's header and slots.
 */
#include "smc_r/status/totals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conf/found.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/account.h"
#include "smc_r/status/home.h"

#define NAME_MAX_BYTES 40
#define FD_TOTALS      1000
#define FD_SEGMENT     1001
#define FD_DIRECTORY   1002
#define LIMIT          (UINT64_C(1) << 30)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum choice {
	RIGHT_TOTALS = 1,
	RIGHT_SEGMENT = 2,
	RIGHT_SLOTS = 4,
	LOCKED = 8, /* another process has the segment */
};

static struct file {
	uint8_t *bytes;
	size_t size;
} files[2];
static char segment_name[NAME_MAX_BYTES];
static uint8_t choice;
static bool listed;

static void must(int holds)
{
	if (!holds)
		abort();
}

static struct file *file_of(long fd)
{
	must(fd == FD_TOTALS || fd == FD_SEGMENT);
	return &files[fd - FD_TOTALS];
}

/* ---- what stands in for the kernel ---- */

static int open_one(const char *name, struct stat *st)
{
	int fd = strcmp(name, STATUS_TOTALS) == 0 ? FD_TOTALS : FD_SEGMENT;

	*st = (struct stat){.st_size = (off_t)file_of(fd)->size};
	return fd;
}

static long read_one(long fd, void *out, size_t n, size_t at)
{
	const struct file *f = file_of(fd);
	size_t there = at < f->size ? f->size - at : 0;

	n = n < there ? n : there;
	memcpy(out, f->bytes + at, n);
	return (long)n;
}

static size_t add_name(char *out, const char *name)
{
	size_t head = offsetof(struct dirent64, d_name);
	size_t length = (head + strlen(name) + 8) & ~(size_t)7;
	uint16_t told = (uint16_t)length;

	memset(out, 0, length);
	memcpy(out + offsetof(struct dirent64, d_reclen), &told, sizeof(told));
	strcpy(out + head, name);
	return length;
}

static long list(char *out)
{
	size_t n = 0;

	listed = !listed;
	if (!listed)
		return 0;
	n += add_name(out + n, STATUS_TOTALS);
	n += add_name(out + n, segment_name);
	return (long)n;
}

static long call(long n, long a, long b, long c, long d)
{
	switch (n) {
	case SYS_openat:
		return FD_DIRECTORY;
	case SYS_getdents64:
		return list((char *)b);
	case SYS_pread64:
		return read_one(a, (void *)b, (size_t)c, (size_t)d);
	case SYS_flock:
		return a == FD_SEGMENT && (choice & LOCKED) ? -EWOULDBLOCK : 0;
	case SYS_fallocate:
		return -ENOSPC;
	default:
		return 0;
	}
}

/* The file under test is taken in whole, so that it finds these files. */
#undef SYS_CALL3
#undef SYS_CALL4
#define SYS_CALL3(n, a, b, c)    call(n, (long)(a), (long)(b), (long)(c), 0)
#define SYS_CALL4(n, a, b, c, d) call(n, (long)(a), (long)(b), (long)(c), d)
#define found_open(dir, name, wanted, st)                                      \
	((void)(dir), (void)(wanted), open_one(name, st))
#define sys_close(fd)                       ((void)(fd))
#define sys_geteuid()                       0u
#define account_read(out)                   ((void)(out), -EOPNOTSUPP)
#define account_hold(number, bytes, limit)  (-EOPNOTSUPP)
#define home_number()                       0u
#define private_fd(fd)                      (fd)
#define private_fd_close(fd)                ((void)(fd))
#define mmap(at, n, rights, how, fd, from)  ((void *)file_of(fd)->bytes)
#define munmap(map, n)                      ((void)(map))
#define process_is_same(pid, start)         ((pid) > 0 && (start) == 1)
#define process_is_same_program(pid, start) process_is_same(pid, start)
#define process_start_time(pid)             ((pid) == 1)
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "smc_r/status/totals.c"

/* ---- the files ---- */

static size_t take(const uint8_t **data, size_t *size, void *out, size_t n)
{
	n = n < *size ? n : *size;
	memcpy(out, *data, n);
	*data += n;
	*size -= n;
	return n;
}

static void make_files(const uint8_t *data, size_t size)
{
	struct status_totals t = {.spare = 0};
	struct status_header h = {.magic = 0};
	size_t slots;

	take(&data, &size, &t, sizeof(t));
	take(&data, &size, &h, sizeof(h));
	slots = size / sizeof(struct status_slot);
	if (choice & RIGHT_TOTALS) {
		t.magic = STATUS_MAGIC;
		t.version = STATUS_VERSION;
	}
	if (choice & RIGHT_SEGMENT) {
		h.magic = STATUS_MAGIC;
		h.version = STATUS_VERSION;
	}
	if (choice & RIGHT_SLOTS)
		h.slot_count = (uint32_t)slots;
	files[0].size = sizeof(t);
	files[0].bytes = malloc(sizeof(t));
	files[1].size = STATUS_SLOTS_AT + size;
	files[1].bytes = calloc(1, files[1].size);
	must(files[0].bytes && files[1].bytes);
	memcpy(files[0].bytes, &t, sizeof(t));
	memcpy(files[1].bytes, &h, sizeof(h));
	memcpy(files[1].bytes + STATUS_SLOTS_AT, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_Atomic uint64_t own = 0;
	uint64_t used = 0;

	if (size == 0)
		return 0;
	choice = *data++;
	size--;
	segment_name[take(&data, &size, segment_name, NAME_MAX_BYTES - 1)] =
	    '\0';
	make_files(data, size);
	totals = NULL;
	if (totals_open(FD_DIRECTORY) == 0) {
		if (totals_reserve(FD_DIRECTORY, 4096, LIMIT, &own, &used) == 0)
			must(used <= LIMIT && own == 4096);
		totals_sweep(FD_DIRECTORY);
		totals_give_back(FD_DIRECTORY, own, &own);
		totals_merge_file(FD_DIRECTORY, segment_name);
		must(own == 0);
	}
	free(files[0].bytes);
	free(files[1].bytes);
	return 0;
}
