/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pool: memory without malloc, which the program may have replaced or be in the
 * middle of.
 *
 * Freed memory is kept for the next user of the same size, never unmapped: a
 * thread that comes late reads old values, not a hole.
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_POOL_H
#define SMC_R_POOL_H

#include <stddef.h>

#define POOL_BYTES_MAX 8192

/* Zeroed memory of `bytes` (at most POOL_BYTES_MAX), NULL when there is none.
 */
void *pool_get(size_t bytes);
/* It does the same, and where nothing is left it takes of POOL_PROMISED bytes
 * that no caller of pool_get() has. */
#define POOL_PROMISED 65536u
void *pool_get_promised(size_t bytes);
void pool_put(void *memory, size_t bytes);

/* Gives back memory that a thread without the lock may still use: it is not
 * handed out again before POOL_LATE more went this way. */
#define POOL_LATE 512
void pool_put_late(void *memory, size_t bytes);

#endif
