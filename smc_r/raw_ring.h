/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * raw_ring: does the program set up io_uring past libc?
 *
 * One that is linked with a static liburing enters the kernel by instructions
 * of its own. Nothing tells of its rings, and what it asks them for on a
 * connection of ours would never come. So its instructions are looked at.
 *
 * Locking: none; two threads find the same.
 */
#ifndef SMC_R_RAW_RING_H
#define SMC_R_RAW_RING_H

#include <stdbool.h>
#include <stddef.h>

/* Looked at once. False as well for what cannot be known: a program of more
 * than RAW_RING_TEXT_MAX bytes of instructions, or another kind of processor.
 */
#define RAW_RING_TEXT_MAX ((size_t)8 << 20)
bool raw_ring_is_likely(void);

/* The instructions that set up a ring, among these bytes. */
bool raw_ring_in(const void *text, size_t bytes);

#endif
