/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * address: from what a program names as its peer to where packets go.
 */
#include "ofed_core/verbs/address.h"

#include <errno.h>
#include <string.h>

/* The path of a program that names no GID. False: its LID names nobody. */
static bool address_by_lid(struct device *d,
			   const struct ib_uverbs_qp_dest *from,
			   struct address *out)
{
	unsigned sgid_index;

	*out = (struct address){.device = d, .hop_limit = 64, .sl = from->sl};
	if (!device_gid_of_lid(d, from->dlid, out->dgid, &sgid_index))
		return false;
	out->sgid_index = (uint8_t)sgid_index;
	return true;
}

int address_from_dest(struct device *d, const struct ib_uverbs_qp_dest *from,
		      struct address *out)
{
	if (from->port_num > 1)
		return -EINVAL;
	if (!from->is_global) {
		if (!address_by_lid(d, from, out))
			return -EINVAL;
	} else {
		if (from->sgid_index >= GIDS_MAX ||
		    !d->gids[from->sgid_index].is_used)
			return -EINVAL;
		*out = (struct address){
		    .device = d,
		    .flow_label = from->flow_label & 0xfffff,
		    .sgid_index = from->sgid_index,
		    .hop_limit = from->hop_limit ? from->hop_limit : 64,
		    .traffic_class = from->traffic_class,
		    .sl = from->sl,
		};
		memcpy(out->dgid, from->dgid, 16);
	}
	memcpy(out->sgid, d->gids[out->sgid_index].raw, 16);
	out->is_v1 = d->gids[out->sgid_index].is_v1;
	/* A source of one IP family cannot reach the other. */
	if (!out->is_v1 && gid_is_ip4(out->sgid) != gid_is_ip4(out->dgid))
		return -EINVAL;
	return 0;
}
