/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pool: memory without malloc. */
#include "smc_r/os/pool.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"

#define POOL_STEP  64u
#define POOL_CHUNK 65536u
#define POOL_KINDS (POOL_BYTES_MAX / POOL_STEP + 1)

struct pool_free {
	struct pool_free *next;
};

struct pool {
	struct pool_free *lists[POOL_KINDS];
	uint8_t *at;
	size_t left;
};

static _Alignas(POOL_STEP) uint8_t promised_bytes[POOL_PROMISED];
static struct pool promised = {.at = promised_bytes, .left = POOL_PROMISED};
static _Alignas(64) struct pool common;

static size_t pool_round(size_t bytes)
{
	return (bytes + POOL_STEP - 1) & ~(size_t)(POOL_STEP - 1);
}

static struct pool *pool_of(const void *memory)
{
	const uint8_t *at = memory;

	return at >= promised_bytes && at < promised_bytes + POOL_PROMISED
		   ? &promised
		   : &common;
}

static void *take(struct pool *p, size_t n)
{
	struct pool_free **list = &p->lists[n / POOL_STEP];
	void *memory = *list;

	if (memory) {
		*list = (*list)->next;
		return memset(memory, 0, n);
	}
	if (p->left < n)
		return NULL;
	memory = p->at;
	p->at += n;
	p->left -= n;
	return memory;
}

void *pool_get(size_t bytes)
{
	size_t n = pool_round(bytes);
	void *memory;
	void *chunk;

	ENGINE_LOCKED();
	if (inject_fails())
		return NULL;
	memory = take(&common, n);
	if (memory)
		return memory;
	chunk = mmap(NULL, POOL_CHUNK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	common.at = chunk;
	common.left = POOL_CHUNK;
	return take(&common, n);
}

void *pool_get_promised(size_t bytes)
{
	void *memory = pool_get(bytes);

	ENGINE_LOCKED();
	return memory ? memory : take(&promised, pool_round(bytes));
}

void pool_put(void *memory, size_t bytes)
{
	struct pool_free *f = memory;
	struct pool_free **list =
	    &pool_of(memory)->lists[pool_round(bytes) / POOL_STEP];

	ENGINE_LOCKED();
	f->next = *list;
	*list = f;
}

struct late {
	void *memory;
	size_t bytes;
};

void pool_put_late(void *memory, size_t bytes)
{
	static _Alignas(64) struct late waiting[POOL_LATE];
	static unsigned next;
	void *oldest = waiting[next].memory;

	ENGINE_LOCKED();
	if (oldest)
		pool_put(oldest, waiting[next].bytes);
	waiting[next].memory = memory;
	waiting[next].bytes = bytes;
	next = (next + 1) % POOL_LATE;
}
