/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_fault: an aid for tests: a wire that loses, doubles and delays packets.
 *
 * Locking: each sender has its own; on its thread only.
 */
#ifndef OFED_CORE_WIRE_FAULT_H
#define OFED_CORE_WIRE_FAULT_H

#include "ofed_core/pure/packet.h"
#include "ofed_core/verbs/verbs.h"

#define FAULT_PAYLOAD_MAX 4096
#define FAULT_DELAY_NS    (2 * NS_PER_MS) /* longest, when none follow */

enum wire_fault {
	FAULT_NONE,
	FAULT_LOST,
	FAULT_DOUBLED,
	FAULT_DELAYED, /* goes after some that come later */
};

struct faults {
	uint32_t random;
	unsigned later; /* packets that still go first; 0: none is held */
	struct address to;
	struct packet held;
	uint8_t payload[FAULT_PAYLOAD_MAX];
};

void faults_init(struct faults *f);

/* What happens to the next packet, as the parameters wire_* say. */
enum wire_fault faults_choose(struct faults *f);

/* Keeps a packet; false when one is kept already. */
bool faults_hold(struct faults *f, const struct address *to,
		 const struct packet *p);

/*
 * Another packet has gone: true when the turn of the one that is held has
 * come. It is the caller's then, until the next is held.
 */
bool faults_due(struct faults *f);

#endif
