/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_file: opens one status segment and copies from it.
 */
#include "smc_r/status/status_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/found.h"
#include "smc_r/os/alive.h"
#include "smc_r/status/printable.h"

#define SLOTS_AT_ONCE 32

bool status_name_decode(const char *name, struct status_name *out)
{
	char again[48];
	unsigned long pid;
	uint64_t start;
	char *end;

	if (*name < '1' || *name > '9')
		return false;
	pid = strtoul(name, &end, 10);
	if (*end != '.' || pid > INT32_MAX)
		return false;
	start = strtoull(end + 1, NULL, 10);
	/* One spelling only: no sign, blank, leading zero or overflow. */
	snprintf(again, sizeof(again), "%lu.%" PRIu64, pid, start);
	if (strcmp(name, again) != 0)
		return false;
	out->pid = (pid_t)pid;
	out->start = start;
	return true;
}

static int copy(int fd, void *out, size_t size, off_t at)
{
	ssize_t n = pread(fd, out, size, at);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EPROTO;
}

int status_file_refresh(struct status_file *file)
{
	struct status_header *h = &file->header;
	struct stat st;
	int error = copy(file->fd, h, sizeof(*h), 0);

	if (error)
		return error;
	printable_make(h->program, sizeof(h->program));
	if (h->reason_table != STATUS_REASON_TABLE)
		memset(h->counters.fallbacks, 0, sizeof(h->counters.fallbacks));
	/* The file grows before slot_count does, so it is measured after. */
	if (fstat(file->fd, &st) != 0)
		return -errno;
	file->slot_count = h->slot_count;
	if (h->magic != STATUS_MAGIC || h->version != STATUS_VERSION ||
	    h->slot_size != sizeof(struct status_slot) ||
	    file->slot_count > STATUS_SLOTS_MAX ||
	    st.st_size < (off_t)(STATUS_SLOTS_AT +
				 file->slot_count * sizeof(struct status_slot)))
		return -EPROTO;
	return 0;
}

/* Checks an open descriptor; it stays the caller's on failure. */
static int status_file_check(int fd, const struct status_name *name,
			     struct status_file *out)
{
	struct stat st;
	int error;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPROTO;
	out->fd = fd;
	out->uid = st.st_uid;
	out->device = st.st_dev;
	out->inode = st.st_ino;
	error = status_file_refresh(out);
	if (error)
		return error;
	if (out->header.pid != name->pid || out->header.start != name->start)
		return -EPROTO;
	return 0;
}

int status_file_open(int dir, const char *name, struct status_file *out)
{
	struct found wanted = {.flags = O_RDONLY};
	struct status_name id;
	struct stat st;
	int error, fd;

	if (!status_name_decode(name, &id))
		return -EPROTO;
	if (fstat(dir, &st) != 0)
		return -errno;
	wanted.owner[0] = wanted.owner[1] = st.st_uid;
	fd = found_open(dir, name, &wanted, &st);
	if (fd < 0)
		return fd == -EPERM ? -EPROTO : fd;
	error = status_file_check(fd, &id, out);
	if (error)
		close(fd);
	return error;
}

void status_file_close(struct status_file *file)
{
	close(file->fd);
	file->fd = -1;
}

int status_file_slots(const struct status_file *file, uint32_t first,
		      struct status_slot *out, uint32_t count)
{
	int error;

	if (first >= file->slot_count)
		return 0;
	if (count > file->slot_count - first)
		count = file->slot_count - first;
	error = copy(file->fd, out, count * sizeof(*out),
		     (off_t)(STATUS_SLOTS_AT + first * sizeof(*out)));
	return error ? error : (int)count;
}

int status_file_each_slot(const struct status_file *file,
			  int (*each)(void *owner,
				      const struct status_slot *slot),
			  void *owner)
{
	struct status_slot slot[SLOTS_AT_ONCE];
	uint32_t first = 0;
	int n, result;

	while ((n = status_file_slots(file, first, slot, SLOTS_AT_ONCE)) > 0) {
		for (int i = 0; i < n; i++) {
			result = each(owner, &slot[i]);
			if (result)
				return result;
		}
		first += (uint32_t)n;
	}
	return n;
}

int status_dir_each(int dir,
		    int (*each)(void *owner, int dir, const char *name),
		    void *owner)
{
	struct dirent *entry;
	int result = 0;
	DIR *list;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		result = -errno;
		if (fd >= 0)
			close(fd);
		return result;
	}
	for (int i = 0; !result && i < STATUS_NAMES_MAX; i++) {
		entry = readdir(list);
		if (!entry)
			break;
		result = each(owner, dir, entry->d_name);
	}
	closedir(list);
	return result;
}

struct opener {
	int (*each)(void *owner, struct status_file *file);
	void *owner;
};

static int open_and_call(void *owner, int dir, const char *name)
{
	const struct opener *o = owner;
	struct status_file file;
	int result;

	if (status_file_open(dir, name, &file) != 0)
		return 0;
	result = o->each(o->owner, &file);
	status_file_close(&file);
	return result;
}

int status_file_each(int dir,
		     int (*each)(void *owner, struct status_file *file),
		     void *owner)
{
	struct opener o = {.each = each, .owner = owner};

	return status_dir_each(dir, open_and_call, &o);
}

static bool is_held_by(const struct status_holder *h)
{
	if (h->flags & STATUS_HOLDER_EXECS)
		return alive_is_same_program(h->pid, h->start);
	return alive_is_same(h->pid, h->start);
}

/* It has no start yet, and the number of the process that writes it,
 * below 0. */
static bool is_being_written(const struct status_holder *h)
{
	return h->pid < 0 && h->pid > INT32_MIN &&
	       alive_is_elder(-h->pid, UINT64_MAX);
}

uint64_t status_file_living(const struct status_file *file)
{
	const struct status_holder *holder = file->header.holders;
	uint64_t living = 0;
	int i;

	for (i = 0; i < STATUS_HOLDERS_MAX; i++) {
		if (is_held_by(&holder[i]) || is_being_written(&holder[i]))
			living |= UINT64_C(1) << i;
	}
	if (!holder[0].pid &&
	    alive_is_same(file->header.pid, file->header.start))
		living |= 1;
	return living;
}

bool status_file_is_alive(const struct status_file *file)
{
	return alive_is_same(file->header.pid, file->header.start) ||
	       status_file_living(file) != 0;
}
