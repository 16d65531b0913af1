/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * annex: the second ring of a direction, for a writer whose reader is late.
 *
 * A stream is fast because the caches hold its RMBE, and that is enough while
 * both ends run. Beside programs that compute the ends take turns of some
 * milliseconds, and fill and empty the ring once in a turn, where TCP holds
 * megabytes. So a writer goes on in the annex when it meets a full ring again,
 * and its reader took a while the last time. Nobody tells it that the reader is
 * quick again: it comes back when a conversation has emptied the annex, or
 * after a good part of a gigabyte.
 *
 * Never while the reader stands still: a writer that was told that there is no
 * room must not find some that nobody made.
 *
 * Memory: annex_memory.h. Its writer pays for it from when it is first entered
 *         until the connection leaves the element. A peer that enters it and
 *         does not pay uses memory of its own: it touches it first.
 * Locking: none held by the caller.
 *
 * Bounds: an RMBE of 256 KiB stays in the caches of two processors; an annex
 * has 1 MiB. A writer enters it when it meets a full ring for the second time,
 * and the ring was not read for a millisecond the first time. It leaves it
 * after 256 MiB at the latest. A process has at most eight annexes: many
 * streams help each other, and with annexes would push each other out of the
 * cache.
 */
#ifndef SMC_R_ANNEX_H
#define SMC_R_ANNEX_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* The RMBE is in use, and there is an annex that may be entered. */
bool annex_is_possible(const struct connection *c);

/* True: the next bytes go to the annex, and there is room. */
bool annex_enter(struct connection *c);

#endif
