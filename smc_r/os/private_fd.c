/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * private_fd: where the engine's own descriptors live.
 *
 * A program counts on low numbers (select, dup2 onto 3, loops up to
 * getdtablesize) and on its soft limit. So our numbers lie above the soft
 * limit wherever the hard limit is higher; descriptors made while the soft
 * limit was raised for a moment stay valid when it is back. Where both limits
 * are equal they lie in the upper three quarters, from 1024 on where there are
 * so many, and half of few, or an eighth of many, stays free: a program that
 * gets EMFILE loses connections, one on TCP loses speed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define PRIVATE_FD_SPAN                                                        \
	262144u /* keeps the kernel's table of numbers small                   \
		 */
#define MANY          4096u
#define HIGH_BASE_MAX 1024u

/* Made before there are threads: for so many connections' numbers, and where a
 * table of so many costs a thread's creation little. */
#define ROOM     256u
#define ROOM_MAX 65536u

/* Plenty: as long as no more than this are ours. */
#define PLENTY_PART 8u    /* of what the process may have at most */
#define PLENTY_MAX  4096u /* a user's pipes are limited, too: pipe(7) */

/* What is given back at once, of the soft limit and at least. */
#define GIVEN_PART 8u
#define GIVEN_MIN  8u

FORK_PAGE _Atomic unsigned private_fd_count;
static _Atomic int lowest = INT_MAX; /* number that there ever was */

/* The program's own, between private_fd_begin() and its end; engine lock. */
static struct rlimit limit_before;
static bool limit_is_known;
static bool limit_is_raised;
static unsigned begun;

static long limit_get(struct rlimit *l)
{
	return SYS_CALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, l);
}

static long limit_set(const struct rlimit *l)
{
	return SYS_CALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, l, NULL);
}

static struct rlimit raised_from(const struct rlimit *old)
{
	struct rlimit raised = *old;

	raised.rlim_cur = old->rlim_cur + PRIVATE_FD_SPAN;
	if (raised.rlim_cur > old->rlim_max)
		raised.rlim_cur = old->rlim_max;
	return raised;
}

static bool limit_raise(const struct rlimit *old)
{
	struct rlimit raised = raised_from(old);

	return limit_set(&raised) == 0;
}

/* The program may have changed it meanwhile, which is not to be undone. */
static void limit_lower(const struct rlimit *old)
{
	struct rlimit raised = raised_from(old);
	struct rlimit seen;

	if (SYS_CALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, old, &seen) == 0 &&
	    (seen.rlim_cur != raised.rlim_cur ||
	     seen.rlim_max != raised.rlim_max))
		limit_set(&seen);
}

void private_fd_begin(void)
{
	ENGINE_LOCKED();
	if (begun++ > 0)
		return;
	limit_is_known = limit_get(&limit_before) == 0;
	limit_is_raised = limit_is_known &&
			  limit_before.rlim_max > limit_before.rlim_cur &&
			  limit_raise(&limit_before);
}

void private_fd_end(void)
{
	if (--begun > 0)
		return;
	if (limit_is_raised)
		limit_lower(&limit_before);
	limit_is_known = limit_is_raised = false;
}

/* The program's own. */
static long limit_now(struct rlimit *l)
{
	if (!limit_is_known)
		return limit_get(l);
	*l = limit_before;
	return 0;
}

static long move_above(int fd, const struct rlimit *old)
{
	long moved;

	if (!limit_is_raised && !limit_raise(old))
		return -EMFILE;
	moved = SYS_CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, old->rlim_cur);
	if (!limit_is_raised)
		limit_lower(old);
	return moved;
}

static bool has_above(const struct rlimit *l)
{
	return l->rlim_max > l->rlim_cur && l->rlim_cur < FDTABLE_SIZE / 2;
}

/* Where there is nothing above. A fork copies the table of numbers up to the
 * highest one. */
static rlim_t high_base(const struct rlimit *l)
{
	return l->rlim_cur / 4 > HIGH_BASE_MAX ? HIGH_BASE_MAX
					       : l->rlim_cur / 4;
}

/* So many may be in use, ours or not, for us to take one more: fd is the lowest
 * free number. */
static bool spares(int fd, unsigned more, const struct rlimit *l)
{
	rlim_t most = l->rlim_cur - l->rlim_cur / (l->rlim_cur < MANY ? 2 : 8);

	return (rlim_t)fd + more <= most &&
	       (rlim_t)atomic_load(&private_fd_count) + more <= most + 1;
}

static long move_high(int fd, const struct rlimit *old)
{
	if (!spares(fd, 1, old))
		return -EMFILE;
	return SYS_CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, high_base(old));
}

bool private_fd_has_room(unsigned more)
{
	struct rlimit l;
	long fd;

	if (limit_get(&l) < 0 || has_above(&l))
		return true;
	fd = SYS_CALL3(SYS_eventfd2, 0, EFD_CLOEXEC, 0);
	if (fd < 0)
		return false;
	sys_close((int)fd);
	return spares((int)fd, more, &l);
}

FORK_PAGE _Atomic int private_fd_few_from = INT_MAX;

static void note_lowest(int fd, const struct rlimit *l)
{
	int least = atomic_load(&lowest);

	if ((rlim_t)fd < l->rlim_cur)
		atomic_store(&private_fd_few_from,
			     (int)l->rlim_cur - (int)GIVEN_MIN);

	while (fd < least && !atomic_compare_exchange_weak(&lowest, &least, fd))
		;
}

int private_fd(int fd)
{
	struct rlimit old;
	long moved = -EMFILE;

	if (limit_now(&old) == 0) {
		if (has_above(&old))
			moved = move_above(fd, &old);
		if (moved < 0)
			moved = move_high(fd, &old);
	}
	sys_close(fd);
	if (moved < 0)
		return (int)moved;
	if (moved >= FDTABLE_SIZE) {
		sys_close((int)moved);
		return -EMFILE;
	}
	fdtable_reserve((int)moved);
	note_lowest((int)moved, &old);
	atomic_fetch_add(&private_fd_count, 1);
	return (int)moved;
}

static void make_room(void)
{
	struct rlimit l;
	rlim_t base;
	long fd, moved;

	if (limit_get(&l) < 0)
		return;
	base = has_above(&l) ? l.rlim_cur : high_base(&l);
	if (base > ROOM_MAX)
		return;
	fd = SYS_CALL3(SYS_eventfd2, 0, EFD_CLOEXEC, 0);
	if (fd < 0)
		return;
	private_fd_begin();
	moved = SYS_CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, base + ROOM);
	private_fd_end();
	if (moved >= 0)
		sys_close((int)moved);
	sys_close((int)fd);
}

void private_fd_make_room(void)
{
	static _Atomic pid_t made_by;

	if (!fdtable || process.off || atomic_load(&made_by) == process.pid ||
	    process_is_foreign())
		return;
	engine_lock();
	if (atomic_exchange(&made_by, process.pid) != process.pid)
		make_room();
	engine_unlock();
}

bool private_fd_has_plenty(unsigned more)
{
	struct rlimit l;
	rlim_t most;

	if (limit_now(&l) < 0)
		return false;
	most = l.rlim_max / PLENTY_PART;
	return atomic_load(&private_fd_count) + more <=
	       (most < PLENTY_MAX ? most : PLENTY_MAX);
}

unsigned private_fd_in_the_way(void)
{
	struct rlimit l;
	rlim_t part;

	ENGINE_LOCKED();
	if (private_fd_in_use() == 0 || limit_get(&l) < 0 ||
	    (rlim_t)atomic_load(&lowest) >= l.rlim_cur)
		return 0;
	part = l.rlim_cur / GIVEN_PART;
	return part < GIVEN_MIN ? GIVEN_MIN : (unsigned)part;
}

void private_fd_forget(int fd)
{
	if (fd < 0)
		return;
	fdtable_release(fd);
	atomic_fetch_sub(&private_fd_count, 1);
}

void private_fd_close(int fd)
{
	private_fd_forget(fd);
	if (fd >= 0)
		sys_close(fd);
}

/* Where the kernel has no such call, or a filter of a container denies it, one
 * after the other. */
static void close_run(int first, unsigned n)
{
	if (n > 1 &&
	    SYS_CALL3(SYS_close_range, first, first + (int)n - 1, 0) == 0)
		return;
	for (unsigned i = 0; i < n; i++)
		sys_close(first + (int)i);
}

void private_fd_close_all(const int *fds, unsigned count)
{
	for (unsigned i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && fds[i + n] == fds[i] + (int)n;)
			n++;
		for (unsigned k = 0; k < n; k++)
			fdtable_release(fds[i + k]);
		atomic_fetch_sub(&private_fd_count, n);
		close_run(fds[i], n);
	}
}
