/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * segment: this process's own status segment, and its slots.
 *
 * Ownership: the segment belongs to the process that made it; forked children
 *            keep using the slots they inherited and make a segment of their
 *            own for new connections.
 * Locking:   engine lock held by the caller, but for segment_count and where it
 *            says otherwise.
 */
#ifndef SMC_R_SEGMENT_H
#define SMC_R_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/os/status.h"

/* Makes the segment if there is none yet: 0, or -errno (no run directory, no
 * space): then no connection of this process can be served. */
int segment_open(void);

/* NULL when the segment could not be made. */
struct status_header *segment_header(void);

/* The directory that it is in, which no other user can open. segment_open() has
 * succeeded. */
int segment_directory(void);

/* A slot in state STATUS_INIT, held by this process; NULL: none left. */
struct status_slot *segment_slot_get(void);

/*
 * Needs no engine lock, and may be called by any thread and any handler: a
 * clean slot that nobody sees, NULL when there is no segment yet or none of its
 * slots is free; then publish it with its state. A handler that leaves in
 * between by siglongjmp makes it unusable for as long as the process lives.
 */
struct status_slot *segment_slot_begin(void);
void segment_slot_publish(struct status_slot *s, uint32_t state);
/* Lets go of one that no bytes went through and frees it, without the engine
 * lock. False: that takes leave and free; other processes may hold it. */
bool segment_slot_end(struct status_slot *s);

/* This process lets go of a slot. True when it was the last holder; then
 * segment_slot_free must follow. */
bool segment_slot_leave(struct status_slot *s);
/*
 * Leaves a slot without a look whether others that hold it live. One that died
 * before us is as one that dies after us: the slot is found when some are
 * needed, and nobody lists it. No lock needed.
 */
bool segment_slot_leave_shared(struct status_slot *s);
/* Adds the slot's bytes to the counters and frees it. */
void segment_slot_free(struct status_slot *s);
/* True when no other living process holds the slot. */
bool segment_slot_is_mine(struct status_slot *s);

/* Has the connection ended that had the slot, and this for its cookie, when we
 * left it to others? They closed it, or are dead. */
bool segment_slot_is_over(const struct status_slot *s, uint64_t cookie);

/* The processes that may hold the slot, by the bits of its holders; *others are
 * those that are not us. NULL: it is in no segment. */
const struct status_holder *segment_holders(const struct status_slot *s,
					    uint64_t *others);

/*
 * A forked child joins the holders of every slot it inherited. `before` runs in
 * the parent: it takes an entry for the child to come. False: there is none
 * left for it. Then the caller lets go of what it can and calls the other one:
 * what the child may use is never used again.
 */
bool segment_before_fork(void);
/* Does this process hold a slot? No lock needed where there is one thread. */
bool segment_holds_any(void);
void segment_before_uncounted_fork(void);
void segment_after_fork(bool child);
/*
 * A child that inherits no slot closes the files that must not outlive its
 * parent, and writes nothing; it begins without a segment, later, or never.
 */
void segment_leave_files(void);
void segment_begin_empty(void);
/* A program that is executed now gets some connection: this process goes on
 * holding what it held. */
void segment_before_successor(void);
/* So many children live that the next one could not be counted: a connection
 * that begins now would lose its memory then. One entry is looked at again with
 * each call. */
bool segment_is_crowded(void);
/* After segment_after_fork(false), when fork gave no child. */
void segment_fork_failed(void);

/* RMB memory within max_memory: see totals_reserve. */
int segment_reserve(uint64_t bytes, uint64_t limit, uint64_t *used);
void segment_give_back(uint64_t bytes);

/* Closes the descriptors that it can do without, or open again. */
void segment_give_back_descriptors(void);

/* Is there one that has, or had, a slot of ours? No lock needed. */
bool segment_is_open(void);

/* At exit: merge into the totals and remove the file. */
void segment_close(void);

/* Adds one to a counter: segment_count(doorbells). */
extern struct status_counters *segment_counters;
/* Has this process a segment, so that others see what it counts? */
bool segment_counts(void);
#define segment_count(counter) segment_add(counter, 1)
/* Not exact when threads do it at once, and free: for what only explains. */
#define segment_tally(counter)                                                 \
	atomic_store_explicit(&segment_counters->counter,                      \
			      atomic_load_explicit(&segment_counters->counter, \
						   memory_order_relaxed) +     \
				  1,                                           \
			      memory_order_relaxed)
#define segment_add(counter, n)                                                \
	atomic_fetch_add_explicit(&segment_counters->counter, (n),             \
				  memory_order_relaxed)

#endif
