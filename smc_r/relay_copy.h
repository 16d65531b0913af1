/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_copy: a process that copies between two sockets.
 *
 * Locking: none; it shares nothing with the process that made it.
 */
#ifndef SMC_R_RELAY_COPY_H
#define SMC_R_RELAY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From now on, both ways, until both streams have ended: first these bytes to
 * `to`, then what comes from `from`. The caller keeps its descriptors. False:
 * no process.
 */
bool relay_copy_start(int from, int to, const uint8_t *first, size_t bytes);

#endif
