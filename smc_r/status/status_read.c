/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_read: sums segments and totals.
 */
#include "smc_r/status/status_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "smc_r/status/account.h"
#include "smc_r/status/status_file.h"
#include "smc_r/status/status_totals.h"
#include "smc_r/status/user_directory.h"

#define LOCK_WAIT_MS 2000u
#define TRIES        4

struct count {
	uint64_t living;
	struct status_sum *sum;
};

static int count_slot(void *owner, const struct status_slot *slot)
{
	const struct count *count = owner;
	struct status_sum *sum = count->sum;
	uint32_t state = slot->state;

	if (state == STATUS_FREE)
		return 0;
	if (!(slot->holders & count->living)) {
		status_add_ended(&sum->counters, slot);
		return 0;
	}
	status_add_moved(&sum->counters, slot);
	sum->starting += state == STATUS_INIT;
	sum->active += state == STATUS_ACTIVE;
	sum->closing += state == STATUS_CLOSING;
	sum->tcp += state == STATUS_TCP;
	return 0;
}

static int count_slots(const struct status_file *file, uint64_t living,
		       struct status_sum *sum)
{
	struct count count = {.living = living, .sum = sum};

	return status_file_each_slot(file, count_slot, &count);
}

/* What moves from a slot to the counters when a connection ends. */
static bool same_moved(const struct status_counters *a,
		       const struct status_counters *b)
{
	return a->bytes_sent == b->bytes_sent &&
	       a->bytes_received == b->bytes_received &&
	       a->requests_sent == b->requests_sent &&
	       a->requests_received == b->requests_received;
}

/*
 * The program runs on meanwhile: a connection that ends between the copies of
 * its slot and of the counters would be missed or seen twice. So the counters
 * are copied before and after, and all of it again when they moved.
 */
static void add_segment(struct status_file *file, struct status_sum *sum)
{
	uint64_t living = status_file_living(file);
	struct status_counters before;
	struct status_sum now;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = file->header.counters;
		memset(&now, 0, sizeof(now));
		if (count_slots(file, living, &now) != 0 ||
		    status_file_refresh(file) != 0)
			return;
		if (same_moved(&before, &file->header.counters))
			break;
	}
	status_counters_add(&sum->counters, &before);
	status_counters_add(&sum->counters, &now.counters);
	sum->starting += now.starting;
	sum->active += now.active;
	sum->closing += now.closing;
	sum->tcp += now.tcp;
	if (!living)
		return;
	sum->processes++;
	sum->rmb_bytes += file->header.rmb_bytes;
	if (sum->offer_kind < file->header.offer_kind)
		sum->offer_kind = file->header.offer_kind;
}

/* A stranger's file may say anything: never let a sum of users wrap. */
static uint64_t bounded(uint64_t bytes)
{
	return bytes < UINT64_MAX / 65536 ? bytes : UINT64_MAX / 65536;
}

/* ---- One user ----------------------------------------------------------- */

static int add_file(void *owner, struct status_file *file)
{
	add_segment(file, owner);
	return 0;
}

static int add_user_once(int dir, struct status_sum *sum, bool *had_totals)
{
	struct status_totals totals;
	int error, fd = status_totals_open(dir);
	bool locked =
	    fd >= 0 && status_totals_lock(fd, LOCK_SH, LOCK_WAIT_MS) == 0;

	*had_totals = fd >= 0;
	if (fd >= 0 && status_totals_copy(fd, &totals) == 0) {
		status_counters_add(&sum->counters, &totals.counters);
		sum->rmb_reserved += bounded(totals.rmb_bytes);
	}
	error = status_file_each(dir, add_file, sum);
	if (locked)
		status_totals_unlock(fd);
	if (fd >= 0)
		close(fd);
	return error;
}

/*
 * A user without totals has nothing to lock. When the first merge makes the
 * file meanwhile, the sum may have missed it and is made again.
 */
static int add_user(void *owner, const struct user_directory *u)
{
	struct status_sum all, *sum = owner;
	bool had_totals = false;
	int i, error = 0;

	for (i = 0; i < TRIES && !error; i++) {
		int fd;

		all = *sum;
		error = add_user_once(u->status, &all, &had_totals);
		if (had_totals)
			break;
		fd = status_totals_open(u->status);
		if (fd < 0)
			break;
		close(fd);
	}
	if (!error)
		*sum = all;
	return error;
}

int status_read_sum(const char *rundir, struct status_sum *out)
{
	struct option_account account;
	int error;

	memset(out, 0, sizeof(*out));
	error = user_directory_each(rundir, add_user, out);
	if (error == -ENOENT)
		error = 0;
	/* What all users hold, where the kernel keeps it. */
	if (!error && account_read(&account) == 0)
		out->rmb_reserved = account.used;
	return error;
}

/* ---- One reporter ------------------------------------------------------- */

struct reporter_sum {
	pid_t reporter;
	struct status_sum *sum;
};

static int add_if_reported(void *owner, struct status_file *file)
{
	struct reporter_sum *r = owner;

	/* A server that root started may serve under another user id. */
	if (file->header.reporter == r->reporter)
		add_segment(file, r->sum);
	return 0;
}

static int add_users_reported(void *owner, const struct user_directory *u)
{
	return status_file_each(u->status, add_if_reported, owner);
}

int status_read_reported(const char *rundir, pid_t reporter,
			 struct status_sum *out)
{
	struct reporter_sum r = {.reporter = reporter, .sum = out};
	int error;

	memset(out, 0, sizeof(*out));
	error = user_directory_each(rundir, add_users_reported, &r);
	return error == -ENOENT ? 0 : error;
}
