/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* totals: counters of ended processes, and the memory ledger of the user. */
#include "smc_r/status/totals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/found.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/account.h"
#include "smc_r/status/home.h"

#define LOCK_TRIES  200
#define LOCK_NAP_NS 250000
#define COUNTERS    (sizeof(struct status_counters) / sizeof(uint64_t))

static struct status_totals *totals;
FORK_PAGE static int totals_fd = -1;

struct dirent64_kernel {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* ---- the file ---- */

int totals_lock_within(int fd, int how)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (SYS_CALL3(SYS_flock, fd, how | LOCK_NB, 0) == 0)
			return 0;
		sys_nap(LOCK_NAP_NS);
	}
	return -EAGAIN;
}

/* Nobody but this user can make one there (home.h). */
static int open_file(int dir, const char *name, int flags, struct stat *st)
{
	const struct found wanted = {
	    .flags = flags, .mode = 0600, .owner = {FOUND_ANYBODY}};

	return found_open(dir, name, &wanted, st);
}

static bool is_current(const struct status_totals *t)
{
	return t->magic == STATUS_MAGIC && t->version == STATUS_VERSION &&
	       t->reason_table == STATUS_REASON_TABLE;
}

/* New, or of an older revision. Under LOCK_EX. */
static int make_current(struct status_totals *t)
{
	if (t->magic == 0) {
		t->version = STATUS_VERSION;
		t->uid = sys_geteuid();
		t->magic = STATUS_MAGIC;
	}
	if (t->magic != STATUS_MAGIC || t->version != STATUS_VERSION)
		return -EPROTO;
	status_totals_adopt(t);
	return 0;
}

/* Most find the file as it should be, and need not wait for a lock. */
static int map_totals(int fd, off_t size)
{
	void *map;
	int result = 0;

	if (size < (off_t)sizeof(*totals) &&
	    SYS_CALL4(SYS_fallocate, fd, 0, 0, sizeof(*totals)) < 0)
		return -ENOSPC;
	map = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	if (!is_current(map)) {
		result = totals_lock_within(fd, LOCK_EX);
		if (result == 0) {
			result = make_current(map);
			SYS_CALL3(SYS_flock, fd, LOCK_UN, 0);
		}
	}
	if (result == 0)
		totals = map;
	else
		munmap(map, sizeof(*totals));
	return result;
}

/* Another open file in the place of fd. Where that cannot be, as after setuid,
 * the child keeps its parent's. */
static int replaced_by(int fresh, int fd)
{
	if (fresh >= 0)
		fresh = private_fd(fresh);
	if (fresh < 0)
		return fd;
	private_fd_close(fd);
	return fresh;
}

/* A mapping holds its open file, and children inherit it; the lock is another
 * open file's. */
static int for_lock(int fd, int status_dir)
{
	struct stat st;

	return replaced_by(open_file(status_dir, STATUS_TOTALS, O_RDONLY, &st),
			   fd);
}

void totals_leave(void)
{
	if (totals)
		munmap(totals, sizeof(*totals));
	totals = NULL;
	private_fd_close(totals_fd);
	totals_fd = -1;
}

int totals_open(int status_dir)
{
	struct stat st;
	int result;
	int fd;

	ENGINE_LOCKED();
	if (totals)
		return 0;
	fd = open_file(status_dir, STATUS_TOTALS, O_RDWR | O_CREAT, &st);
	if (fd < 0)
		return fd;
	result = map_totals(fd, st.st_size);
	sys_close(fd);
	if (result < 0)
		return result;
	totals_fd = for_lock(-1, status_dir);
	if (totals_fd < 0)
		totals_leave();
	return totals_fd < 0 ? -EMFILE : 0;
}

FORK_TEXT void totals_leave_lock(void)
{
	if (totals_fd >= 0)
		sys_close(totals_fd);
}

void totals_forget_left(void)
{
	private_fd_forget(totals_fd);
	totals_fd = -1;
}

void totals_forget_lock(void)
{
	private_fd_close(totals_fd);
	totals_fd = -1;
}

/* ---- the ledger ---- */

typedef void name_function(int dir, const char *name, void *argument);

static void for_each_name(int dir, name_function *f, void *argument)
{
	char buffer[4096] __attribute__((aligned(8)));
	int fd = (int)SYS_CALL4(SYS_openat, dir, ".",
				O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return;
	while ((n = SYS_CALL3(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64_kernel *d = (void *)(buffer + at);

			f(dir, d->name, argument);
			at += d->length;
		}
	sys_close(fd);
}

static bool is_segment(const char *name)
{
	return name[0] >= '1' && name[0] <= '9' && strchr(name, '.');
}

static void add_segment(int dir, const char *name, void *argument)
{
	uint32_t head[2];
	uint64_t bytes;
	struct stat st;
	int fd;

	if (!is_segment(name))
		return;
	fd = open_file(dir, name, O_RDONLY, &st);
	if (fd < 0)
		return;
	if (SYS_CALL4(SYS_pread64, fd, head, sizeof(head), 0) == sizeof(head) &&
	    head[0] == STATUS_MAGIC && head[1] == STATUS_VERSION &&
	    SYS_CALL4(SYS_pread64, fd, &bytes, sizeof(bytes),
		      offsetof(struct status_header, rmb_bytes)) ==
		sizeof(bytes))
		*(uint64_t *)argument += bytes;
	sys_close(fd);
}

/* A word that says "stale" while we count is for the next one. */
static int ledger_begin(int dir)
{
	int result = totals ? totals_lock_within(dir, LOCK_EX) : -EAGAIN;
	uint64_t sum = 0;

	if (result < 0)
		return result;
	if (atomic_exchange(&totals->ledger, STATUS_LEDGER_OPEN)) {
		for_each_name(dir, add_segment, &sum);
		atomic_store(&totals->rmb_bytes, sum);
	}
	return 0;
}

static void ledger_end(int dir)
{
	atomic_fetch_and(&totals->ledger, ~STATUS_LEDGER_OPEN);
	SYS_CALL3(SYS_flock, dir, LOCK_UN, 0);
}

/* What is used of max_memory, as it counts for this user: who may have half of
 * it has used all of that when a half is used. */
static int used_by_accounts(uint64_t *used)
{
	struct option_account a;
	int error = account_read(&a);

	if (error)
		return error;
	*used = a.bytes * a.share > a.used ? a.bytes * a.share : a.used;
	return 0;
}

/* The ledger is ours. Without accounts there is one user. */
static int hold(uint64_t bytes, uint64_t limit)
{
	int error = account_hold(home_number(), bytes, limit);

	if (error != -EOPNOTSUPP)
		return error;
	return bytes <= limit ? 0 : -ENOMEM;
}

static int tell_used(int status_dir, uint64_t *used)
{
	int error = used_by_accounts(used);

	if (error != -EOPNOTSUPP)
		return error;
	error = ledger_begin(status_dir);
	if (error)
		return error;
	*used = atomic_load(&totals->rmb_bytes);
	ledger_end(status_dir);
	return 0;
}

int totals_reserve(int status_dir, uint64_t bytes, uint64_t limit,
		   _Atomic uint64_t *own, uint64_t *used)
{
	int result;

	if (bytes == 0)
		return tell_used(status_dir, used);
	result = ledger_begin(status_dir);
	if (result < 0)
		return result;
	result = hold(atomic_load(&totals->rmb_bytes) + bytes, limit);
	if (result == 0) {
		atomic_fetch_add(&totals->rmb_bytes, bytes);
		atomic_fetch_add(own, bytes);
	}
	ledger_end(status_dir);
	if (used && (result == 0 || result == -ENOMEM))
		tell_used(status_dir, used);
	return result;
}

/* Never below 0: in another pid namespace we may have been taken for dead, and
 * somebody gave it back before us. */
uint64_t totals_take_from(_Atomic uint64_t *held, uint64_t bytes)
{
	uint64_t now = atomic_load(held);
	uint64_t taken;

	ENGINE_LOCKED();
	do
		taken = now < bytes ? now : bytes;
	while (!atomic_compare_exchange_weak(held, &now, now - taken));
	return taken;
}

void totals_give_back(int status_dir, uint64_t bytes, _Atomic uint64_t *own)
{
	uint64_t taken;
	bool locked;

	ENGINE_LOCKED();
	if (bytes == 0 || atomic_load(own) == 0)
		return;
	locked = ledger_begin(status_dir) == 0;
	taken = totals_take_from(own, bytes);
	if (locked) {
		totals_take_from(&totals->rmb_bytes, taken);
		hold(atomic_load(&totals->rmb_bytes), UINT64_MAX);
		ledger_end(status_dir);
	} else if (totals) {
		atomic_fetch_or(&totals->ledger, STATUS_LEDGER_STALE);
	}
}

/* ---- merging ---- */

static void move_counters(struct status_header *h)
{
	_Atomic uint64_t *to = (_Atomic uint64_t *)&totals->counters;
	_Atomic uint64_t *from = (_Atomic uint64_t *)&h->counters;
	size_t count = h->reason_table == STATUS_REASON_TABLE
			   ? COUNTERS
			   : offsetof(struct status_counters, fallbacks) /
				 sizeof(uint64_t);

	for (size_t i = 0; i < count; i++)
		atomic_fetch_add(to + i, atomic_exchange(from + i, 0));
}

static void move_slots(struct status_slot *slots, uint32_t slot_count)
{
	for (uint32_t i = 0; i < slot_count; i++) {
		if (atomic_load(&slots[i].state) == STATUS_FREE)
			continue;
		status_add_ended(&totals->counters, &slots[i]);
		atomic_store(&slots[i].state, STATUS_FREE);
	}
}

int totals_merge(int status_dir, const char *name, struct status_header *h,
		 struct status_slot *slots, uint32_t slot_count)
{
	int result;

	if (totals && totals_fd < 0)
		totals_fd = for_lock(-1, status_dir);
	result = totals ? totals_lock_within(totals_fd, LOCK_EX) : -EAGAIN;
	if (result < 0)
		return result;
	move_counters(h);
	move_slots(slots, slot_count);
	totals_give_back(status_dir, atomic_load(&h->rmb_bytes), &h->rmb_bytes);
	result = (int)SYS_CALL3(SYS_unlinkat, status_dir, name, 0);
	SYS_CALL3(SYS_flock, totals_fd, LOCK_UN, 0);
	return result;
}

#define UNBORN    (1ull << 63) /* and milliseconds */
#define UNBORN_MS 5000u

uint64_t totals_unborn(void)
{
	return UNBORN | sys_now_ns() / 1000000u;
}

static bool is_born_soon(uint64_t start)
{
	return start != PROCESS_HIDDEN && (start & UNBORN) &&
	       totals_unborn() - start < UNBORN_MS;
}

static bool is_living(int32_t pid, uint64_t start, uint32_t flags)
{
	if (is_born_soon(start))
		return true;
	if (flags & STATUS_HOLDER_EXECS)
		return process_is_same_program(pid, start);
	return process_is_same(pid, start & UNBORN ? PROCESS_HIDDEN : start);
}

bool totals_holder_lives(const struct status_holder *h, int32_t *pid)
{
	for (;;) {
		int32_t now = atomic_load(&h->pid);
		uint32_t flags = atomic_load(&h->flags);

		*pid = now;
		if (now <= 0)
			return now && now != INT32_MIN &&
			       process_start_time(-now) != 0;
		if (is_living(now, atomic_load(&h->start), flags))
			return true;
		/* It may have found a successor, and executed it, meanwhile. */
		if (atomic_load(&h->pid) == now &&
		    atomic_load(&h->flags) == flags)
			return false;
	}
}

void totals_holder_write(struct status_holder *h, int32_t pid, uint64_t start,
			 uint32_t flags)
{
	atomic_store(&h->pid, -pid);
	atomic_store(&h->flags, flags);
	atomic_store(&h->start, start);
	atomic_store(&h->pid, pid);
}

static bool has_holders(struct status_header *h)
{
	int32_t pid;

	for (int i = 0; i < STATUS_HOLDERS_MAX; i++)
		if (totals_holder_lives(&h->holders[i], &pid))
			return true;
	return h->reporter > 0 && process_start_time(h->reporter) != 0;
}

static void merge_map(int dir, const char *name, void *map, size_t size,
		      bool even_alive)
{
	struct status_header *h = map;
	uint32_t slots = atomic_load(&h->slot_count);

	if (h->magic == STATUS_MAGIC && h->version == STATUS_VERSION &&
	    slots <= (size - STATUS_SLOTS_AT) / sizeof(struct status_slot) &&
	    (even_alive || !has_holders(h)))
		totals_merge(
		    dir, name, h,
		    (struct status_slot *)((char *)map + STATUS_SLOTS_AT),
		    slots);
}

static void merge_file(int dir, const char *name, int fd, size_t size,
		       bool even_alive)
{
	void *map;

	if (size < STATUS_SLOTS_AT)
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return;
	merge_map(dir, name, map, size, even_alive);
	munmap(map, size);
}

static bool has_process(const char *name)
{
	return process_is_same((pid_t)strtol(name, NULL, 10),
			       strtoull(strchr(name, '.') + 1, NULL, 10));
}

static bool is_own(const char *name)
{
	return strtol(name, NULL, 10) == process.pid && has_process(name);
}

/* Nearly all of them live, and the lock tells that sooner than /proc. */
static void sweep_one(int dir, const char *name, void *argument)
{
	struct stat st;
	int fd;

	(void)argument;
	if (!is_segment(name) || is_own(name))
		return;
	fd = open_file(dir, name, O_RDWR, &st);
	if (fd < 0)
		return;
	if (SYS_CALL3(SYS_flock, fd, LOCK_EX | LOCK_NB, 0) == 0 &&
	    !has_process(name))
		merge_file(dir, name, fd, (size_t)st.st_size, false);
	sys_close(fd);
}

void totals_merge_file(int status_dir, const char *name)
{
	struct stat st;
	int fd = totals ? open_file(status_dir, name, O_RDWR, &st) : -EAGAIN;

	if (fd < 0)
		return;
	merge_file(status_dir, name, fd, (size_t)st.st_size, true);
	sys_close(fd);
}

void totals_sweep(int status_dir)
{
	if (totals)
		for_each_name(status_dir, sweep_one, NULL);
}
