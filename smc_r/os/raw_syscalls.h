/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * raw_syscalls: does the program enter the kernel past libc?
 *
 * A program may wait for its connections by system call instructions of its own
 * (rustix's in Rust, Bun's), or be linked with a static liburing. We do not see
 * such calls, and what they ask the kernel for would never come on a connection
 * of ours. So the program's instructions are looked at.
 *
 * Locking: none; two threads find the same.
 */
#ifndef SMC_R_RAW_SYSCALLS_H
#define SMC_R_RAW_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>

/* Looked at once. False as well for what cannot be known: another kind of
 * processor. */
bool raw_syscalls_are_likely(void);
/* Were they found by an earlier look? Does not look. */
bool raw_syscalls_were_found(void);

/* An instruction among these bytes that waits, accepts, sends, receives, or
 * sets up io_uring. */
bool raw_syscalls_in(const void *text, size_t bytes);

#endif
