/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * totals: what a user's processes leave behind, and the ledger of the memory
 * that the living ones hold. Its sum is the user's account (account.h), which
 * keeps max_memory for all users.
 *
 * Ownership: a file in the user's own directory, mapped by each process of that
 *            user.
 * Locking:   a merge holds flock(LOCK_EX) on the file; what changes the ledger
 *            holds flock(LOCK_EX) on the directory. The file first. No other
 *            user can open either. Engine lock held by the caller.
 * Death:     a process that finds the ledger left open counts it anew. The
 *            locks go with their holder, as no forked child shares its open
 *            files.
 */
#ifndef SMC_R_TOTALS_H
#define SMC_R_TOTALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/os/status.h"

/* flock(2), which waits for 50 ms at most: 0 or -EAGAIN. For files that nobody
 * but this user can open. */
int totals_lock_within(int fd, int how);

/* Opens the totals in that directory, home_open()'s: 0 or -errno. */
int totals_open(int status_dir);
/* Before another directory's are opened: this process has another user now. */
void totals_leave(void);

/* Closes the descriptor for merges, until the next one. */
void totals_forget_lock(void);
/* A child closes the file that has its parent's lock, and knows it later, at
 * once or never. */
void totals_leave_lock(void);
void totals_forget_left(void);

/*
 * Takes bytes of RMB memory if the whole host stays within limit, and this user
 * within the user's part: 0; -ENOMEM when the limit is reached; -EAGAIN when
 * the ledger was locked too long; -ESTALE: the user has another directory now.
 * own is the word of the caller's segment, which grows with it. *used, unless
 * NULL, is what is used after the call: by all, or so much by this user that it
 * is the same part of what this user may have.
 */
int totals_reserve(int status_dir, uint64_t bytes, uint64_t limit,
		   _Atomic uint64_t *own, uint64_t *used);
/* Takes `bytes`, or what is left, from a count; how many it took. */
uint64_t totals_take_from(_Atomic uint64_t *held, uint64_t bytes);
/* Gives back so many, or what is left of them in own. */
void totals_give_back(int status_dir, uint64_t bytes, _Atomic uint64_t *own);

/* Moves a segment's counters, its slots' bytes and its memory to the totals,
 * and removes its file: 0 or a negative errno. Dying over it loses or doubles
 * one counter at most. */
int totals_merge(int status_dir, const char *name, struct status_header *h,
		 struct status_slot *slots, uint32_t slot_count);

/* The entry's process lives, and has not executed another program that got
 * nothing; or is writing it. *pid is what the entry said. */
bool totals_holder_lives(const struct status_holder *h, int32_t *pid);
/* Instead of a start, in an entry for a child that is being forked, under the
 * number of its parent: the child lives until it has put in its own, although
 * the parent may end at once (daemon(3)); but for some seconds at most, as it
 * may be killed before. */
uint64_t totals_unborn(void);
/* Writes an entry that the caller has taken, or inherits. */
void totals_holder_write(struct status_holder *h, int32_t pid, uint64_t start,
			 uint32_t flags);

/* Merges and removes one segment, even while a process holds it. */
void totals_merge_file(int status_dir, const char *name);
/* Merges and removes segments of this user whose holders are all dead. */
void totals_sweep(int status_dir);

#endif
