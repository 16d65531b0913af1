/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * outcome: tells what a connection of a server was like at its end, so that
 * new ones of its place are on SMC or not (worth.h).
 *
 * The BPF program knows how long each one lived, and what TCP carried. It is
 * told of one that carried much in memory: short ones cost no system call.
 * Where there is none, the registry is told of all, and TCP is asked about some
 * of those that it carried.
 */
#ifndef SMC_R_OUTCOME_H
#define SMC_R_OUTCOME_H

#include "smc_r/connection/connection.h"

/* Comes before the last close of it, or the exit of its last process. No lock
 * needed. */
void outcome_tell(const struct connection *c, int fd);

#endif
