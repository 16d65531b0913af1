/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_path: the Ethernet address at which the way to a GID begins,
 * remembered for a second.
 *
 * Ownership and locking: a table belongs to one thread.
 */
#ifndef OFED_CORE_WIRE_PATH_H
#define OFED_CORE_WIRE_PATH_H

#include "ofed_core/verbs/verbs.h"

#define WIRE_PATHS 64

struct wire_path {
	uint8_t gid[16];
	unsigned ifindex; /* 0: not in use */
	uint8_t mac[6];
	bool is_found;
	uint64_t until; /* ns */
};

struct wire_paths {
	struct wire_path v1[WIRE_PATHS];
	struct wire_path frame[WIRE_PATHS];
};

/* Where version 1 must send; false while nobody answers for the GID. */
bool wire_path_v1(struct wire_paths *t, const struct address *to,
		  uint8_t mac[6]);

/*
 * Where a packet of version 2 may be handed to the interface as a frame.
 * False when it is to go through the IP stack: IPv6 and groups; where rules
 * or policies look at what is sent; while the neighbour is not known; and once
 * a second, so that the kernel keeps its entry of the neighbour fresh.
 */
bool wire_path_frame(struct wire_paths *t, const struct address *to,
		     uint8_t mac[6]);

#endif
