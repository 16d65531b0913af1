/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * address: from what a program names as its peer to where packets go.
 */
#ifndef OFED_CORE_ADDRESS_H
#define OFED_CORE_ADDRESS_H

#include "ofed_core/verbs/verbs.h"

/*
 * The path to what a program gave: a GID, or a LID where it names no GID.
 * -EINVAL when the device has no such path.
 */
int address_from_dest(struct device *d, const struct ib_uverbs_qp_dest *from,
		      struct address *out);

#endif
