/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock_file: a lock between commands, which no other user can take.
 *
 * Everybody who can open a file can lock it. So this one is for its owner
 * alone, it stays where it is, and nobody waits for it without end.
 *
 * Ownership: the caller closes the descriptor, which gives the lock up; so does
 *            the end of the process.
 */
#ifndef ATTRDB_LOCK_FILE_H
#define ATTRDB_LOCK_FILE_H

/*
 * Locks the file of that name in the directory, which is made if it is not
 * there: a descriptor; -EBUSY: another command had it for all of wait_ms;
 * -EUCLEAN: others could hold it; another -errno.
 */
int lock_file_take(int dir, const char *name, int wait_ms);

#endif
