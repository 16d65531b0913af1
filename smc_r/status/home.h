/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * home: the directory of this process's user in the run directory.
 *
 * The user's account says which one it is (account.h); the first process of a
 * user makes it, under a random name, and it stays. Where no BPF program keeps
 * accounts, there is only the one that the owner of the run directory has.
 *
 * Ownership: the descriptor of users/ is kept, but for home_give_back().
 * Locking:   engine lock held by the caller.
 */
#ifndef SMC_R_HOME_H
#define SMC_R_HOME_H

#include <stdint.h>

/*
 * Finds or makes it, and opens its directory of segments: a descriptor that is
 * the caller's, or -errno. -EPERM, -EACCES: the user has none and can have none
 * here.
 */
int home_open(void);

/* Which one home_open() opened last. */
uint32_t home_number(void);

/* The directory of all users, for paths that begin there: a private descriptor,
 * or -errno. */
int home_users(void);
/* Closes it: the next that needs it opens it again. */
void home_give_back(void);

#endif
