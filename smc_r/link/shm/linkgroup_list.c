/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup_list: the link groups of this process. */
#include "smc_r/link/shm/linkgroup_list.h"

#include <poll.h>
#include <string.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/link/shm/linkgroup_rmb.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define GROUPS_NUMBERED 0xffffffu

static struct linkgroup *groups;
static uint32_t group_number;

bool linkgroup_list_has_any(void)
{
	return groups != NULL;
}

struct linkgroup *linkgroup_list_first(void)
{
	ENGINE_LOCKED();
	return groups;
}

void linkgroup_list_free(struct linkgroup *g)
{
	struct rmb *next;

	ENGINE_LOCKED();
	for (struct rmb *r = g->rmbs; r; r = next) {
		next = r->next;
		linkgroup_rmb_free(r);
	}
	linkgroup_list_hang_up(g);
	pool_put(g, sizeof(*g));
}

void linkgroup_list_hang_up(struct linkgroup *g)
{
	ENGINE_LOCKED();
	linkgroup_deaths_forget(g);
	if (g->channel >= 0)
		private_fd_close(g->channel);
	g->channel = -1;
}

static bool peer_is_gone(struct linkgroup *g)
{
	return sys_poll(g->channel, 0, 0) & (POLLHUP | POLLERR | POLLNVAL);
}

void linkgroup_list_bury(void)
{
	struct linkgroup **at = &groups;

	ENGINE_LOCKED();
	while (*at) {
		struct linkgroup *g = *at;

		if (g->channel < 0 && g->connections == 0) {
			*at = g->next;
			if (!g->waits)
				linkgroup_deaths_count(-1);
			linkgroup_list_free(g);
			continue;
		}
		if (g->channel < 0)
			linkgroup_rmb_trim(g);
		at = &g->next;
	}
}

void linkgroup_list_drop_dead(void)
{
	ENGINE_LOCKED();
	for (struct linkgroup *g = groups; g; g = g->next)
		if (g->channel >= 0 && peer_is_gone(g))
			linkgroup_list_hang_up(g);
	linkgroup_list_bury();
}

struct linkgroup *linkgroup_list_find(int side, const uint8_t *peer_id)
{
	ENGINE_LOCKED();
	for (struct linkgroup *g = groups; g; g = g->next)
		if (g->side == side && g->channel >= 0 &&
		    memcmp(g->peer_id, peer_id, PEER_ID_BYTES) == 0)
			return g;
	return NULL;
}

struct linkgroup *linkgroup_list_new(int side, const uint8_t *peer_id)
{
	struct linkgroup *g = pool_get(sizeof(*g));

	ENGINE_LOCKED();
	if (!g)
		return NULL;
	g->side = side;
	g->channel = -1;
	memcpy(g->peer_id, peer_id, PEER_ID_BYTES);
	g->number = ++group_number & GROUPS_NUMBERED;
	return g;
}

static void begin_watch(struct linkgroup *g)
{
	linkgroup_deaths_watch(g);
	linkgroup_deaths_count(1);
}

void linkgroup_list_add(struct linkgroup *g)
{
	ENGINE_LOCKED();
	g->next = groups;
	groups = g;
	if (!g->waits)
		begin_watch(g);
}

void linkgroup_list_named(struct linkgroup *g)
{
	ENGINE_LOCKED();
	g->waits = false;
	begin_watch(g);
}

void linkgroup_list_forked(void)
{
	struct linkgroup *g = groups;

	linkgroup_deaths_forked();
	groups = NULL;
	while (g) {
		struct linkgroup *next = g->next;
		struct rmb *r = g->rmbs;

		while (r) {
			struct rmb *after = r->next;

			linkgroup_rmb_abandon(r);
			r = after;
		}
		if (g->channel >= 0)
			private_fd_close(g->channel);
		pool_put(g, sizeof(*g));
		g = next;
	}
}
