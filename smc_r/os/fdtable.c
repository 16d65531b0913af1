/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fdtable: descriptor -> what the engine knows about it. */
#include "smc_r/os/fdtable.h"

#include <errno.h>
#include <sys/mman.h>

#include "smc_r/os/fork_page.h"
#include "smc_r/os/relaxed.h"

/* Their pages come with what is written to them. */
static BEHIND_FORK_PAGE struct fdentry *_Atomic low[FDTABLE_LOW];
FORK_PAGE static struct fdentry *_Atomic *high;
FORK_PAGE struct fdentry *_Atomic *fdtable;
FORK_PAGE struct fdentry *_Atomic *fdtable_whole;

/* What was left stays where it is until another entry is written. */
FORK_PAGE static struct fdentry *left;
FORK_PAGE static int left_fd;

static struct fdentry private_fd_entry = {.kind = FDENTRY_PRIVATE};
FORK_PAGE static _Atomic int end;
FORK_PAGE static _Atomic int program_end;
FORK_PAGE _Atomic int fdtable_connections_top;
FORK_PAGE _Atomic int fdtable_connected;
FORK_PAGE static _Atomic int listeners_end;
FORK_PAGE _Atomic int fdtable_listening;

static void count_less(const struct fdentry *e)
{
	if (e->kind == FDENTRY_LISTENER)
		atomic_fetch_sub(&fdtable_listening, 1);
	if (e->kind == FDENTRY_SOCKET)
		atomic_fetch_sub(&fdtable_connected, 1);
}

int fdtable_init(void)
{
	const size_t bytes = sizeof(*high) * (FDTABLE_SIZE - FDTABLE_LOW);
	void *memory;

	if (fdtable)
		return 0;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	high = memory;
	fdtable = fdtable_whole = low;
	return 0;
}

void fdtable_end_tracking(void)
{
	fdtable = fdtable_whole = NULL;
	left = NULL;
}

static inline struct fdentry *_Atomic *place_of(int fd)
{
	return fd < FDTABLE_LOW ? &low[fd] : &high[fd - FDTABLE_LOW];
}

FORK_TEXT struct fdentry *fdtable_get_other(int fd)
{
	if ((unsigned)fd >= FDTABLE_SIZE || !fdtable || (left && fd == left_fd))
		return NULL;
	return atomic_load_explicit(place_of(fd), memory_order_acquire);
}

FORK_TEXT bool fdtable_leave(int fd, struct fdentry *e)
{
	if (left || fdtable_get(fd) != e || atomic_load(&e->references) != 1)
		return false;
	left = e;
	left_fd = fd;
	fdtable_whole = NULL;
	count_less(e);
	return true;
}

/* Where it is, to be written to. Threads that meet here do the same. */
static struct fdentry *_Atomic *writable(int fd)
{
	struct fdentry *there = left;

	if (__builtin_expect(!fdtable_whole && left, 0)) {
		atomic_compare_exchange_strong(place_of(left_fd), &there, NULL);
		fdtable_whole = fdtable;
	}
	return place_of(fd);
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
	atomic_store_explicit(writable(fd), e, memory_order_release);
}

bool fdtable_drop(int fd, struct fdentry *e)
{
	struct fdentry *there = e;

	if (!atomic_compare_exchange_strong(writable(fd), &there, NULL))
		return false;
	count_less(e);
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
	atomic_store_explicit(writable(fd), &private_fd_entry,
			      memory_order_release);
}

void fdtable_release(int fd)
{
	atomic_store_explicit(writable(fd), NULL, memory_order_release);
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
