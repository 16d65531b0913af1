/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_sweep: moves what dead processes counted into the totals.
 */
#include "smc_r/status/status_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smc_r/os/alive.h"
#include "smc_r/status/account.h"
#include "smc_r/status/status_totals.h"

#define LOCK_WAIT_MS 500u

static int add_slot(void *sum, const struct status_slot *slot)
{
	if (slot->state != STATUS_FREE)
		status_add_ended(sum, slot);
	return 0;
}

/* Never below 0: the word is shared with all processes of this user. */
static void give_back(_Atomic uint64_t *held, uint64_t bytes)
{
	uint64_t old = relaxed_load(held);

	while (!atomic_compare_exchange_weak_explicit(
	    held, &old, old > bytes ? old - bytes : 0, memory_order_relaxed,
	    memory_order_relaxed))
		;
}

/* Its memory and it go together, under LOCK_EX of the directory: struct
 * status_totals. */
static int remove_file(int dir, const char *name,
		       const struct status_file *file,
		       struct status_totals *totals, uint32_t number)
{
	int error = 0;

	atomic_fetch_or(&totals->ledger, STATUS_LEDGER_OPEN);
	if (unlinkat(dir, name, 0) != 0)
		error = -errno;
	else
		give_back(&totals->rmb_bytes, file->header.rmb_bytes);
	account_hold(number, totals->rmb_bytes, UINT64_MAX);
	atomic_fetch_and(&totals->ledger, ~STATUS_LEDGER_OPEN);
	return error;
}

/* Under LOCK_EX of the totals. */
static int merge_locked(const struct user_directory *u, const char *name,
			struct status_file *file, struct status_totals *totals)
{
	int dir = u->status;
	struct stat st;
	int error;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (st.st_dev != file->device || st.st_ino != file->inode)
		return -ENOENT;
	/* It lives, in another pid namespace. */
	if (flock(file->fd, LOCK_EX | LOCK_NB) != 0)
		return -EBUSY;
	error = status_file_refresh(file);
	if (!error)
		error = status_file_each_slot(file, add_slot,
					      &file->header.counters);
	if (!error)
		error = status_totals_lock(dir, LOCK_EX, LOCK_WAIT_MS);
	if (error)
		return error;
	error = remove_file(dir, name, file, totals, u->number);
	status_totals_unlock(dir);
	if (!error)
		status_counters_add(&totals->counters, &file->header.counters);
	return error;
}

int status_merge(const struct user_directory *u, const char *name,
		 struct status_file *file)
{
	struct status_totals *totals;
	int error, fd;

	error = status_totals_map(u->status, &totals, &fd);
	if (error)
		return error;
	error = status_totals_lock(fd, LOCK_EX, LOCK_WAIT_MS);
	if (!error) {
		error = merge_locked(u, name, file, totals);
		status_totals_unlock(fd);
	}
	status_totals_unmap(totals, fd);
	return error;
}

/* A file that is no segment goes when its process is dead: half made. */
static bool remove_scrap(int dir, const char *name)
{
	struct status_name id;
	struct stat st;

	return status_name_decode(name, &id) &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && !alive_is_same(id.pid, id.start) &&
	       unlinkat(dir, name, 0) == 0;
}

static bool is_waited_for(const struct status_file *file, pid_t reporter)
{
	pid_t waits = file->header.reporter;

	/* The reporter started the program, so it is the elder. */
	return waits > 0 && waits != reporter &&
	       alive_is_elder(waits, file->header.start);
}

struct sweep {
	const struct user_directory *user;
	pid_t reporter;
	int gone;
};

static int sweep_file(void *owner, int dir, const char *name)
{
	struct sweep *s = owner;
	struct status_file file;
	int error = status_file_open(dir, name, &file);

	if (error == -EPROTO)
		s->gone += remove_scrap(dir, name);
	if (error)
		return 0;
	if (!status_file_is_alive(&file) &&
	    !is_waited_for(&file, s->reporter) &&
	    status_merge(s->user, name, &file) == 0)
		s->gone++;
	status_file_close(&file);
	return 0;
}

int status_sweep_user(const struct user_directory *u, pid_t reporter)
{
	struct sweep s = {.user = u, .reporter = reporter};
	int error;

	if (u->uid != geteuid())
		return -EPERM;
	error = status_dir_each(u->status, sweep_file, &s);
	return error ? error : s.gone;
}

struct own_sweep {
	pid_t reporter;
	int gone;
};

static int sweep_if_own(void *owner, const struct user_directory *u)
{
	struct own_sweep *s = owner;
	int gone = status_sweep_user(u, s->reporter);

	if (gone > 0)
		s->gone += gone;
	return gone < 0 && gone != -EPERM ? gone : 0;
}

int status_sweep_reported(const char *rundir, pid_t reporter)
{
	struct own_sweep s = {.reporter = reporter};
	int error = user_directory_each(rundir, sweep_if_own, &s);

	return error && error != -ENOENT ? error : s.gone;
}

int status_sweep(const char *rundir)
{
	return status_sweep_reported(rundir, 0);
}
