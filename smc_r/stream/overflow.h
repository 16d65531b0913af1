/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * overflow: the second ring of a direction, for a writer whose reader is late.
 *
 * A stream is fast because the caches hold its RMBE, and that is enough while
 * both ends run. Beside programs that compute the ends take turns of some
 * milliseconds, and fill and empty the ring once in a turn, where TCP holds
 * megabytes. So a writer goes on in the overflow ring when it meets a full ring
 * again, and its reader took a while the last time. Nobody tells it that the
 * reader is quick again: it comes back when a conversation has emptied the
 * overflow ring, or after a good part of a gigabyte.
 *
 * A program that never waits, as an event loop, may make the next ten messages
 * before it looks for room. Its reader would have nothing to do meanwhile,
 * where TCP has taken the first message as a whole. So the rest of a message
 * that is much larger than the RMBE goes to the overflow ring in the same call.
 *
 * Never while the reader stands still: a writer that was told that there is no
 * room must not find some that nobody made.
 *
 * Memory: overflow_memory.h. The writer pays for the ring from when it first
 *         enters it until the connection leaves the element. A peer that
 *         enters it and does not pay uses memory of its own: it touches it
 *         first.
 * Locking: none held by the caller.
 *
 * Bounds: an RMBE of 256 KiB stays in the caches of two processors; an overflow
 * ring has 2 MiB. A writer enters it when it meets a full ring for the second
 * time, and the ring was not read for a millisecond the first time. It leaves
 * it after 256 MiB at the latest; or at once with a rest of more than 1 MiB.
 * A process has at most eight overflow rings, and 64 for such messages:
 * many streams help each other, and with overflow rings would push each other
 * out of the cache.
 */
#ifndef SMC_R_OVERFLOW_H
#define SMC_R_OVERFLOW_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* The RMBE is in use, and there is an overflow ring that may be entered: if it
 * has no memory yet, the process has less than `most` that have. */
bool overflow_is_possible(const struct connection *c, uint32_t most);

/* True: the next bytes go to the overflow ring, and there is room. */
bool overflow_enter(struct connection *c, uint32_t most);

#endif
