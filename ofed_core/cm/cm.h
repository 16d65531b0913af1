/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm: connection management: the messages between two cores, and the ids
 * that programs drive them with.
 */
#ifndef OFED_CORE_CM_H
#define OFED_CORE_CM_H

#include "ofed_core/wire/wire.h"

/*
 * A datagram to queue pair 1. core_lock is held for reading. It waits for the
 * thread of the CM; mad_rcvq_size of them may.
 */
void cm_arrived(const struct arrival *a);
/* Makes the CM ready; after workers_start() and before wire_open(). */
void cm_open(void);

/* The device has gone, or all have (NULL): tells the programs that have ids. */
void cm_lose(const struct device *d);
/* Some id still points to the device. */
bool cm_uses(const struct device *d);

/* A program has closed its last node: it will not listen any more. */
void cm_release_all_requests(void);

#endif
