/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_fds: which descriptor numbers stand for nodes of the core.
 *
 * Locking: one atomic word per number. As with every descriptor, a program
 * that closes a number while another thread uses it has a race of its own.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define FDS_MAX 65536

/* kind in the low byte, node number above; zero means not ours. */
static _Atomic uint16_t table[FDS_MAX];
static _Atomic unsigned highest;

void *shim_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/*
 * The process that has this memory. A child of vfork() has descriptors of its
 * own but the table of its parent: what it closes (subprocess of Python closes
 * everything) must not change the table. The kernel clears this page in a child
 * of fork(), which has its own memory, and not in one of vfork().
 */
static _Atomic pid_t *_Atomic owner;

/* At once, so that a child of vfork() cannot take the page for its own. */
static void after_fork(void)
{
	atomic_store(atomic_load(&owner), getpid());
}

static _Atomic pid_t *owner_page(void)
{
	_Atomic pid_t *page = atomic_load(&owner);
	_Atomic pid_t *none = NULL;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (page)
		return page;
	page = SHIM_NEXT(mmap)(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, size, MADV_WIPEONFORK) == 0 &&
	    atomic_compare_exchange_strong(&owner, &none, page)) {
		pthread_atfork(NULL, NULL, after_fork);
		return page;
	}
	munmap(page, size);
	return none;
}

bool shim_memory_is_borrowed(void)
{
	_Atomic pid_t *page = owner_page();
	pid_t nobody = 0;

	if (!page || atomic_compare_exchange_strong(page, &nobody, getpid()))
		return false;
	return nobody != getpid();
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
	if (!shim_memory_is_borrowed())
		store(fd, (uint16_t)(kind | (number & 0xff) << 8));
}

void shim_fd_clear(int fd)
{
	if (shim_fd_kind(fd) != SHIM_FD_NONE && !shim_memory_is_borrowed())
		store(fd, 0);
}

void shim_fd_copy(int to, int from)
{
	uint16_t word =
	    from >= 0 && from < FDS_MAX ? atomic_load(&table[from]) : 0;

	if (to < 0 || to >= FDS_MAX || (!word && !atomic_load(&table[to])))
		return;
	if (!shim_memory_is_borrowed())
		store(to, word);
}

void shim_fd_clear_range(unsigned first, unsigned last)
{
	unsigned end = atomic_load(&highest);

	if (last > end)
		last = end;
	for (unsigned i = first; i <= last; i++)
		shim_fd_clear((int)i);
}
