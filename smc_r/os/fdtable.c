/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fdtable: descriptor -> what the engine knows about it. */
#include "smc_r/os/fdtable.h"

#include <errno.h>
#include <sys/mman.h>

#include "smc_r/os/fork_page.h"
#include "smc_r/os/relaxed.h"

FORK_PAGE struct fdentry *_Atomic *fdtable;

static struct fdentry private_fd_entry = {.kind = FDENTRY_PRIVATE};
FORK_PAGE static _Atomic int end;
FORK_PAGE static _Atomic int program_end;
FORK_PAGE _Atomic int fdtable_connections_top;
FORK_PAGE _Atomic int fdtable_connected;
FORK_PAGE static _Atomic int listeners_end;
FORK_PAGE _Atomic int fdtable_listening;

int fdtable_init(void)
{
	void *table;

	if (fdtable)
		return 0;
	table =
	    mmap(NULL, sizeof(*fdtable) * FDTABLE_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED)
		return -ENOMEM;
	fdtable = table;
	return 0;
}

static void raise_end(_Atomic int *of, int fd)
{
	int seen = atomic_load(of);

	while (fd >= seen && !atomic_compare_exchange_weak(of, &seen, fd + 1))
		;
}

void fdtable_set(int fd, struct fdentry *e)
{
	atomic_fetch_add(&e->references, 1);
	raise_end(&end, fd);
	raise_end(&program_end, fd);
	if (e->kind == FDENTRY_SOCKET) {
		raise_end(&fdtable_connections_top, fd);
		atomic_fetch_add(&fdtable_connected, 1);
	}
	if (e->kind == FDENTRY_LISTENER) {
		raise_end(&listeners_end, fd);
		atomic_fetch_add(&fdtable_listening, 1);
	}
	atomic_store_explicit(&fdtable[fd], e, memory_order_release);
}

bool fdtable_drop(int fd, struct fdentry *e)
{
	struct fdentry *there = e;

	if (!atomic_compare_exchange_strong(&fdtable[fd], &there, NULL))
		return false;
	if (e->kind == FDENTRY_LISTENER)
		atomic_fetch_sub(&fdtable_listening, 1);
	if (e->kind == FDENTRY_SOCKET)
		atomic_fetch_sub(&fdtable_connected, 1);
	return atomic_fetch_sub(&e->references, 1) == 1;
}

bool fdtable_clear(int fd, struct fdentry **out)
{
	struct fdentry *e = fdtable_get(fd);

	*out = e;
	return e && e->kind != FDENTRY_PRIVATE && fdtable_drop(fd, e);
}

bool fdtable_share(struct fdentry *e, int to)
{
	uint32_t n = atomic_load(&e->references);

	do {
		if (n == 0 || to >= FDTABLE_SIZE)
			return false;
	} while (!atomic_compare_exchange_weak(&e->references, &n, n + 1));
	fdtable_set(to, e);
	atomic_fetch_sub(&e->references, 1);
	return true;
}

void fdtable_reserve(int fd)
{
	raise_end(&end, fd);
	atomic_store_explicit(&fdtable[fd], &private_fd_entry,
			      memory_order_release);
}

void fdtable_release(int fd)
{
	atomic_store_explicit(&fdtable[fd], NULL, memory_order_release);
}

int fdtable_end(void)
{
	return atomic_load(&end);
}

int fdtable_program_end(void)
{
	return atomic_load(&program_end);
}

int fdtable_listeners_end(void)
{
	return atomic_load(&listeners_end);
}
