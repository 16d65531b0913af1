/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * silence: clients that offered SMC and say nothing, of this process: unheard.h
 *
 * Locking: engine lock.
 */
#ifndef SMC_R_SILENCE_H
#define SMC_R_SILENCE_H

#include "smc_r/connection/connection.h"

/* The client of c has said nothing yet. True: there are so many of its port
 * that no new one should be offered SMC. It is said once for many of them. */
bool silence_begin(struct connection *c);
/* It has spoken, whatever it was before. */
void silence_end(struct connection *c);

#endif
