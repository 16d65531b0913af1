/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_library: finds the preload library and names it to a program.
 *
 * Ownership: paths are written to the caller's buffers.
 * Locking:   none; changes the environment of this process.
 */
#ifndef CMD_RUN_LIBRARY_H
#define CMD_RUN_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define RUN_LIBRARY_NAME     "libsmc_r.so"
#define RUN_LIBRARY_VARIABLE "SMC_R_LIBRARY"
#define RUN_LIBRARY_LIST     "LD_PRELOAD"

/*
 * The absolute path of the library: $SMC_R_LIBRARY and nothing else when that
 * is set; else ../lib or ../lib/smc_r beside the directory of this executable,
 * as in a build tree and as installed; else where the build was told that it
 * will be. 0, or -ENOENT (-EACCES) with a sentence in why that names
 * the places and the cure.
 */
int run_library_find(char *out, size_t size, char *why, size_t why_size);

/*
 * How /etc/ld.so.preload names this library. $LIB, which the loader replaces,
 * leads programs of this width to the library and those of 32 bits to an empty
 * one, so that their loader has nothing to complain of. The path as it is where
 * the build made no such directories, or libc lives somewhere else.
 */
void run_library_line(const char *library, char out[PATH_MAX]);

/*
 * The library that shows programs the devices of the RDMA core, looked for in
 * the same places ($OFED_CORE_LIB). -ENOENT when no core is loaded in this
 * network namespace.
 */
int run_library_rdma(char *out, size_t size);

/*
 * Puts the library in front of LD_PRELOAD, unless it is there; again: also if
 * it is, as another one comes before it. -EINVAL when the path holds a blank or
 * a colon, which LD_PRELOAD cannot.
 */
int run_library_preload(const char *path, bool again);

/* Is the path one of those in the value of LD_PRELOAD? */
bool run_library_is_listed(const char *list, const char *path);

/* The file that execvp(3) would run: 0, -ENOENT or -EACCES. */
int run_library_program(const char *name, char *out, size_t size);

/*
 * Why the loader would not load the library into this program (as ld.so(8)
 * says: statically linked, set-user-ID and the like, another machine, another C
 * library), as half a sentence; NULL when nothing speaks against it. A script
 * is judged by its interpreter.
 */
const char *run_library_obstacle(const char *path);

/* Would the program not start with the library in LD_PRELOAD? The loader of
 * another C library gives up where it meets one that is not made for it. */
bool run_library_is_refused(const char *path);

#endif
