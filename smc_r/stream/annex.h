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
