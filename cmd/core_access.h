/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_access: the RDMA core, for commands that ask it, and what they say when
 * it does not answer.
 */
#ifndef CMD_CORE_ACCESS_H
#define CMD_CORE_ACCESS_H

#include <stdbool.h>

#define CORE             "ofed_core"
#define CORE_ERROR_BYTES 256

/* The namespace whose core is meant, by its name in the run directory; NULL:
 * this one. */
extern const char *core_namespace;

/* Does this error of control_open() mean that no core is loaded? */
bool core_is_absent(int error);

/* A descriptor, or -1 when it was said why there is none. */
int core_open(void);

/* Is this program the one that serves there? True for NULL, and where the
 * kernel does not say to this user. */
bool core_runs(int fd, const char *program);

/* Says of another error of control_open(), and what to do; returns 1. */
int core_unreached(int error);

/* Says why the core refused, in its words if it has any; returns 1. */
int core_refused(int error, const char *words);

#endif
