/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * option_instance: under which number the BPF program of a run directory is
 * addressed (option.h).
 *
 * Locking: none. Uses libc only and allocates nothing.
 */
#ifndef SMC_R_OPTION_INSTANCE_H
#define SMC_R_OPTION_INSTANCE_H

#include <stdint.h>

/*
 * The number by which the run directory's BPF program is addressed: 0 and
 * 1..2^31-1 in *out, or -EINVAL when the path is not absolute. Repeated
 * slashes, "." and ".." do not count; symbolic links are not followed, so one
 * directory has to be called by one name.
 */
int option_instance(const char *rundir, uint32_t *out);

#endif
