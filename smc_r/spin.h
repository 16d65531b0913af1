/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spin: how long a wait may stay awake before it sleeps, learnt from how
 * waits ended. Never more than 50 microseconds; nothing when the process may
 * run on one core only, or SMC_R_SPIN=0 says so.
 *
 * A score is kept beside what is waited for; 0 is a new one.
 *
 * Locking: none; two threads that share a score only blur it.
 */
#ifndef SMC_R_SPIN_H
#define SMC_R_SPIN_H

#include <stdint.h>

/* Nanoseconds; 0: do not spin. */
uint64_t spin_budget(uint32_t *score);
/* The spin was ended by what it waited for. */
void spin_hit(uint32_t *score);
/* It was not, and the whole wait, with its sleep, took so long. */
void spin_missed(uint32_t *score, uint64_t waited_ns);

#endif
