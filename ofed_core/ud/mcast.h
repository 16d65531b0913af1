/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mcast: which datagram queue pairs are attached to which multicast groups.
 *
 * Locking: core_lock; changed with it held for writing.
 */
#ifndef OFED_CORE_MCAST_H
#define OFED_CORE_MCAST_H

#include "ofed_core/verbs/qp.h"

int mcast_attach(struct qp *qp, const uint8_t gid[16]);
int mcast_detach(struct qp *qp, const uint8_t gid[16]);
/* The pair is going to be destroyed. */
void mcast_forget(struct qp *qp);
/*
 * Calls fn for every pair that is attached to the group on the device. NULL:
 * the packet does not say how it came, and any device may have joined.
 */
void mcast_each(const struct device *d, const uint8_t gid[16],
		void (*fn)(struct qp *qp, void *owner), void *owner);

#endif
