/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* recorder: what a program tells the one that records its calls. */
#ifndef TESTS_PRELOAD_RECORDER_H
#define TESTS_PRELOAD_RECORDER_H

#include "smc_r/os/sys.h"

#define RECORDER_MARK 5151 /* no system call has this number */
#define RECORDER_PART 40   /* bytes of a part's name */

/* From here on it is this part. Enters the kernel without libc, whose name for
 * it we define. */
static inline void recorder_mark(const char *name)
{
	SYS_CALL3(RECORDER_MARK, name, 0, 0);
}

#endif
