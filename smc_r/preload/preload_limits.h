/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_limits: the soft limit of descriptors as the program set it, and the
 * sandboxes that it begins. The kernel's own value of the limit is raised for
 * moments (private_fd.c), so this is not asked of the kernel when it matters.
 *
 * Locking: descriptor_limit takes the engine lock the first time.
 */
#ifndef SMC_R_PRELOAD_LIMITS_H
#define SMC_R_PRELOAD_LIMITS_H

#include <stdint.h>

/* RLIMIT_NOFILE, soft. poll(2) refuses more entries than that. */
uint64_t descriptor_limit(void);

/* Before the kernel is given a seccomp mode (SECCOMP_MODE_STRICT ...) and, for
 * SECCOMP_MODE_FILTER, the address of the filter. */
void sandbox_begins(unsigned long mode, unsigned long filter);

#endif
