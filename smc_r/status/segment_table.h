/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * segment_table: the segments that this process has mapped: what segment.c,
 * segment_slot.c and segment_fork.c share. Nobody else includes it.
 *
 * Locking: engine lock, but for segment_own.
 */
#ifndef SMC_R_SEGMENT_TABLE_H
#define SMC_R_SEGMENT_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/os/status.h"

#define UNCOUNTED    (STATUS_HOLDERS_MAX - 1) /* children without an entry */
#define OWN_HOLDER   0 /* our entry in the segment that we made */
#define SEGMENTS_MAX 8 /* own one, and those of forefathers */

struct segment {
	struct status_header *header;
	struct status_slot *slots;
	int self;  /* our entry in header->holders */
	int child; /* entry of the child that is being forked, -1 none */
};

extern struct segment segments[SEGMENTS_MAX]; /* [0] is our own */
/* Its header, for threads without the lock. It stays mapped. */
extern struct status_header *_Atomic segment_own;
/* Where is counted what has no segment. */
extern struct status_counters segment_nowhere;

static inline struct status_slot *slots_of(struct status_header *h)
{
	return (struct status_slot *)(void *)((char *)h + STATUS_SLOTS_AT);
}

/* Gives more slots of our own segment their memory. False: there is none. */
bool segment_grow(struct status_header *h);
/* In a child: room at [0] for a segment of its own. */
void segment_shift(void);
/* Those that segment_leave_files() closed. */
void segment_forget_files(void);
/* Our own segment is a new one. */
void segment_slots_init(void);
/* Does any of these holders live, without ourselves? */
bool segment_is_held(struct segment *s, uint64_t holders);

/* Since 1970. */
uint64_t segment_wall_ms(void);

#endif
