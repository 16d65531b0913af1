/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pool: memory without malloc. */
#include "smc_r/os/pool.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define POOL_STEP  64u
#define POOL_CHUNK 65536u
#define POOL_KINDS (POOL_BYTES_MAX / POOL_STEP + 1)

struct pool_free {
	struct pool_free *next;
};

static struct pool_free *pool_lists[POOL_KINDS];
static uint8_t *pool_at;
static size_t pool_left;

static size_t pool_round(size_t bytes)
{
	return (bytes + POOL_STEP - 1) & ~(size_t)(POOL_STEP - 1);
}

void *pool_get(size_t bytes)
{
	size_t n = pool_round(bytes);
	struct pool_free **list = &pool_lists[n / POOL_STEP];
	void *memory = *list;

	if (memory) {
		*list = (*list)->next;
		return memset(memory, 0, n);
	}
	if (pool_left < n) {
		void *chunk = mmap(NULL, POOL_CHUNK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (chunk == MAP_FAILED)
			return NULL;
		pool_at = chunk;
		pool_left = POOL_CHUNK;
	}
	memory = pool_at;
	pool_at += n;
	pool_left -= n;
	return memory;
}

void pool_put(void *memory, size_t bytes)
{
	struct pool_free *f = memory;
	struct pool_free **list = &pool_lists[pool_round(bytes) / POOL_STEP];

	f->next = *list;
	*list = f;
}

void pool_put_late(void *memory, size_t bytes)
{
	static struct {
		void *memory;
		size_t bytes;
	} waiting[POOL_LATE];
	static unsigned next;
	void *oldest = waiting[next].memory;

	if (oldest)
		pool_put(oldest, waiting[next].bytes);
	waiting[next].memory = memory;
	waiting[next].bytes = bytes;
	next = (next + 1) % POOL_LATE;
}
