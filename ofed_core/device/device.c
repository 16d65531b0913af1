/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device: the table of devices and their GIDs.
 */
#include "ofed_core/device/device.h"

#include <stddef.h>
#include <string.h>

#include "ofed_core/base/params.h"
#include "ofed_core/pure/bytes.h"

/* Ethernet, IPv6, UDP, BTH, the longest extended header, ICRC. */
#define HEADERS_MAX 96
#define LID_AT      14 /* in a GID */

struct device devices[DEVICES_MAX];
unsigned device_count;
enum roce_mode roce_mode = ROCE_V2_ONLY;

struct device *device_by_uverbs(unsigned uverbs)
{
	for (unsigned i = 0; i < device_count; i++)
		if (devices[i].uverbs == uverbs && !devices[i].is_gone)
			return &devices[i];
	return NULL;
}

struct device *device_by_ifindex(unsigned ifindex)
{
	for (unsigned i = 0; i < device_count; i++)
		if (devices[i].ifindex == ifindex && !devices[i].is_gone)
			return &devices[i];
	return NULL;
}

struct device *device_by_gid_version(const uint8_t gid[16], bool is_v1,
				     unsigned *index)
{
	for (unsigned i = 0; i < device_count; i++) {
		struct device *d = &devices[i];

		for (unsigned k = 0; k < GIDS_MAX && !d->is_gone; k++) {
			if (!d->gids[k].is_used || d->gids[k].is_v1 != is_v1 ||
			    memcmp(d->gids[k].raw, gid, 16) != 0)
				continue;
			if (index)
				*index = k;
			return d;
		}
	}
	return NULL;
}

struct device *device_by_gid(const uint8_t gid[16], unsigned *index)
{
	struct device *d = device_by_gid_version(gid, false, index);

	return d ? d : device_by_gid_version(gid, true, index);
}

bool device_has_gid(const struct device *d, const uint8_t gid[16])
{
	for (unsigned i = 0; i < GIDS_MAX && !d->is_gone; i++)
		if (d->gids[i].is_used && memcmp(d->gids[i].raw, gid, 16) == 0)
			return true;
	return false;
}

/* The GID that gives the LID; NULL when there is none. */
static const struct gid *lid_gid(const struct device *d)
{
	const struct gid *first = NULL;

	for (unsigned i = 0; i < GIDS_MAX; i++) {
		const struct gid *g = &d->gids[i];

		if (!g->is_used)
			continue;
		if (gid_is_ip4(g->raw))
			return g;
		if (!first)
			first = g;
	}
	return first;
}

uint16_t device_lid(const struct device *d)
{
	const struct gid *g = lid_gid(d);

	return g ? get_be16(g->raw + LID_AT) : 0;
}

bool device_gid_of_lid(const struct device *d, uint16_t lid, uint8_t dgid[16],
		       unsigned *sgid_index)
{
	const struct gid *g = lid_gid(d);

	if (!g || !lid)
		return false;
	if (!gid_is_ip4(g->raw) && lid != device_lid(d))
		return false;
	memcpy(dgid, g->raw, 16);
	put_be16(dgid + LID_AT, lid);
	*sgid_index = (unsigned)(g - d->gids);
	return true;
}

unsigned mtu_bytes(unsigned value)
{
	return value >= 1 && value <= 5 ? 128u << value : 0;
}

static unsigned mtu_enum(unsigned bytes)
{
	unsigned e = 1;

	while (e < 5 && mtu_bytes(e + 1) <= bytes)
		e++;
	return e;
}

unsigned device_mtu(const struct device *d)
{
	unsigned e = 1;

	if (d->netdev_mtu > HEADERS_MAX)
		e = mtu_enum(d->netdev_mtu - HEADERS_MAX);
	if (param(PARAMETER_TAVOR_QUIRK) && e > 3)
		e = 3;
	return e;
}

bool gid_is_ip4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

bool gid_is_multicast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (gid_is_ip4(gid) && (gid[12] & 0xf0) == 0xe0);
}

void gid_from_ip4(uint8_t gid[16], uint32_t address)
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &address, 4);
}
