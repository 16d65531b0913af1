/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_engine: the engines that programs have although nobody names one now.
 *
 * What the loader gave to this process it gives to the programs that it starts,
 * too: the library that /etc/ld.so.preload names, and those of LD_PRELOAD. They
 * are known by the name of the file. The first one serves (smc_r/os/engines.h).
 *
 * Ownership: paths are written to the caller's buffers.
 */
#ifndef CMD_RUN_ENGINE_H
#define CMD_RUN_ENGINE_H

#include <limits.h>
#include <stdbool.h>

/* The file of the first one, without symbolic links. False: there is none. */
bool run_engine_first(char out[PATH_MAX]);

/* Is there one that LD_PRELOAD does not name? Then the host's file does. */
bool run_engine_of_host(void);

/* Is there one from another file than this one, which has no symbolic links? */
bool run_engine_is_beside(const char *library);

#endif
