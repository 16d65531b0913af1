/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_fds: which descriptor numbers stand for nodes of the core.
 *
 * Locking: one atomic word per number. As with every descriptor, a program
 * that closes a number while another thread uses it has a race of its own.
 */
#include "shim.h"

#include <dlfcn.h>
#include <stdatomic.h>

#define FDS_MAX 65536

/* kind in the low byte, node number above; zero means not ours. */
static _Atomic uint16_t table[FDS_MAX];
static _Atomic unsigned highest;

void *shim_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

enum shim_fd_kind shim_fd_kind(int fd)
{
	if (fd < 0 || fd >= FDS_MAX)
		return SHIM_FD_NONE;
	return (enum shim_fd_kind)(
	    atomic_load_explicit(&table[fd], memory_order_relaxed) & 0xff);
}

unsigned shim_fd_number(int fd)
{
	if (fd < 0 || fd >= FDS_MAX)
		return 0;
	return atomic_load_explicit(&table[fd], memory_order_relaxed) >> 8;
}

static void store(int fd, uint16_t word)
{
	unsigned seen = atomic_load(&highest);

	if (fd < 0 || fd >= FDS_MAX)
		return;
	atomic_store(&table[fd], word);
	while (word && (unsigned)fd > seen &&
	       !atomic_compare_exchange_weak(&highest, &seen, (unsigned)fd))
		continue;
}

void shim_fd_set(int fd, enum shim_fd_kind kind, unsigned number)
{
	store(fd, (uint16_t)(kind | (number & 0xff) << 8));
}

void shim_fd_clear(int fd)
{
	if (shim_fd_kind(fd) != SHIM_FD_NONE)
		store(fd, 0);
}

void shim_fd_copy(int to, int from)
{
	if (to < 0 || to >= FDS_MAX)
		return;
	store(to, from >= 0 && from < FDS_MAX ? atomic_load(&table[from]) : 0);
}

void shim_fd_clear_range(unsigned first, unsigned last)
{
	unsigned end = atomic_load(&highest);

	if (last > end)
		last = end;
	for (unsigned i = first; i <= last; i++)
		shim_fd_clear((int)i);
}
