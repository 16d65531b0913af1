/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_path: the Ethernet address at which the way to a GID begins.
 */
#include "ofed_core/wire/wire_path.h"

#include <string.h>
#include <time.h>

#include "ofed_core/device/egress.h"
#include "ofed_core/device/neighbor.h"

#define FOUND_NS   (1000 * NS_PER_MS)
#define MISSING_NS (10 * NS_PER_MS)

/* Exact to some milliseconds: it is asked for each packet. */
static uint64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_fresh(const struct wire_path *p, const struct address *to,
		     uint64_t now)
{
	return now < p->until && p->ifindex == to->device->ifindex &&
	       memcmp(p->gid, to->dgid, 16) == 0;
}

static void learn(struct wire_path *p, const struct address *to, bool is_found,
		  uint64_t now)
{
	memcpy(p->gid, to->dgid, 16);
	p->ifindex = to->device->ifindex;
	p->is_found = is_found;
	p->until = now + (is_found ? FOUND_NS : MISSING_NS);
}

bool wire_path_v1(struct wire_paths *t, const struct address *to,
		  uint8_t mac[6])
{
	struct wire_path *p = &t->v1[to->dgid[15] % WIRE_PATHS];
	uint64_t now;

	if (neighbor_from_gid(to->dgid, mac))
		return true;
	now = coarse_ns();
	if (!is_fresh(p, to, now))
		learn(p, to,
		      neighbor_find(to->device->ifindex, to->dgid, p->mac) == 0,
		      now);
	memcpy(mac, p->mac, 6);
	return p->is_found;
}

static bool find_frame_path(struct wire_path *p, const struct address *to)
{
	uint8_t hop[16];

	return !egress_has_rules() &&
	       neighbor_next_hop(to->device->ifindex, to->sgid, to->dgid,
				 hop) == 0 &&
	       neighbor_find(to->device->ifindex, hop, p->mac) == 0;
}

bool wire_path_frame(struct wire_paths *t, const struct address *to,
		     uint8_t mac[6])
{
	struct wire_path *p = &t->frame[to->dgid[15] % WIRE_PATHS];
	uint64_t now = coarse_ns();

	if (!gid_is_ip4(to->dgid) || gid_is_multicast(to->dgid))
		return false;
	if (is_fresh(p, to, now)) {
		memcpy(mac, p->mac, 6);
		return p->is_found;
	}
	learn(p, to, find_frame_path(p, to), now);
	return false;
}
