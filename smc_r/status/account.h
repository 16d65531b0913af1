/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * account: what the BPF program keeps of this user: where the user's directory
 * is, and the RMB memory that the user's processes hold (option.h).
 *
 * The user is the one that the kernel has for this process outside all user
 * namespaces. Each call makes a socket, asks, and closes it, where there is
 * none at hand.
 *
 * Locking: account_init() before anything else; the others from any thread.
 *
 * Uses libc only, allocates nothing, leaves errno alone and enters the kernel
 * by number, so that no interposed name is called.
 */
#ifndef SMC_R_ACCOUNT_H
#define SMC_R_ACCOUNT_H

#include <stdint.h>

#include "smc_r/os/option.h"

/* The accounts of which run directory? No system call. 0 or -EINVAL. */
int account_init(const char *rundir);

/* Questions go by this socket of AF_UNIX, which stays the caller's, from now
 * on; -1: by none. Engine lock held, here and then for all of them. */
void account_use(int socket);

/* 0; -EOPNOTSUPP: no BPF program is attached; another -errno. */
int account_read(struct option_account *out);

/* As struct option_account_name and struct option_account_bytes say;
 * -EOPNOTSUPP likewise. */
int account_name(uint32_t before, uint32_t after);
int account_hold(uint32_t directory, uint64_t bytes, uint64_t limit);

#endif
