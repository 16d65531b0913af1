/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* unmap_later: where the addresses of memory wait that both ends are done with.
 */
#include "smc_r/memory/unmap_later.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define UNMAP_LATER_NS 1000000000u

struct waiting_map {
	struct waiting_map *next;
	struct rmb_map map;
	uint64_t until_ns;
};

static struct waiting_map *waiting_maps;

static void unmap_old(void)
{
	struct waiting_map **at = &waiting_maps;

	while (*at) {
		struct waiting_map *g = *at;

		if (sys_left_ns(g->until_ns) > 0) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		rmb_unmap(&g->map);
		pool_put(g, sizeof(*g));
	}
}

void unmap_later(struct rmb_map *m, bool unused)
{
	struct waiting_map *g;

	ENGINE_LOCKED();
	unmap_old();
	if (!m->base)
		return;
	/* The peer is to find in its header that it is retired. */
	if (unused)
		madvise(m->base + RMB_PAGE, m->bytes - RMB_PAGE, MADV_REMOVE);
	(void)mmap(m->base, m->bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		   0);
	g = pool_get(sizeof(*g));
	/* Without a record, address space is lost, nothing else. */
	if (g) {
		g->map = *m;
		g->until_ns = sys_end_in_ns(UNMAP_LATER_NS);
		g->next = waiting_maps;
		waiting_maps = g;
	}
	memset(m, 0, sizeof(*m));
}
