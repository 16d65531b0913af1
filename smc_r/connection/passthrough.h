/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * passthrough: connections that nobody but the kernel will ever carry, because
 * the other end has no engine. They are kept for the list and counted; data
 * calls know nothing of them.
 *
 * One descriptor stands for each. When a second one comes (dup) the connection
 * becomes an ordinary entry of fdtable, in PHASE_NATIVE, which counts them.
 *
 * Locking: none for keeping and dropping, which any thread and any handler may
 *          do; the engine lock is taken where other processes or descriptors
 *          are concerned.
 *
 * A slot is taken and given back without lock or signal mask, by one bit for
 * each slot, and only calls that change descriptors know of it.
 */
#ifndef SMC_R_PASSTHROUGH_H
#define SMC_R_PASSTHROUGH_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/status.h"

struct passthrough {
	uint8_t role; /* enum status_role */
	uint16_t local_port, peer_port;
	struct in6_addr local, peer;
	uint32_t reason; /* reason.h */
};

/* descriptor -> its slot; NULL before the first one. */
extern struct status_slot *_Atomic *_Atomic passthrough_table;

static inline bool passthrough_is(int fd)
{
	struct status_slot *_Atomic *table =
	    atomic_load_explicit(&passthrough_table, memory_order_acquire);

	return table && (unsigned)fd < FDTABLE_SIZE && relaxed_load(&table[fd]);
}

/* Lists and counts it. Where there is no memory for it, or fd means something
 * else to the engine, nothing is done. */
void passthrough_keep(int fd, const struct passthrough *p);

/* Counts one that is not listed. */
void passthrough_count(uint8_t role, uint32_t reason);

/* The descriptor is about to be closed, or was closed unseen. */
void passthrough_drop(int fd);

void passthrough_drop_range(unsigned first, unsigned last);

/* Comes before there is a second descriptor for it, or another call takes its
 * number. */
void passthrough_share(int fd);

/* Drops all of them; engine lock held. */
void passthrough_drop_all(void);

/* Nothing is kept, or this process no longer shares our memory: nobody looks at
 * the table any more. */
void passthrough_leave(void);

#endif
