/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_limits: the soft limit of descriptors as the program set it. The
 * kernel's own value is raised for moments (hidden.c), so this is not asked
 * of the kernel when it matters.
 *
 * Locking: descriptor_limit takes the engine lock the first time.
 */
#ifndef SMC_R_PRELOAD_LIMITS_H
#define SMC_R_PRELOAD_LIMITS_H

#include <stdint.h>

/* RLIMIT_NOFILE, soft. poll(2) refuses more entries than that. */
uint64_t descriptor_limit(void);

#endif
