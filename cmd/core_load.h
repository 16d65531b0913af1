/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_load: starts the RDMA core.
 */
#ifndef CMD_CORE_LOAD_H
#define CMD_CORE_LOAD_H

/* The program named, or NULL: the one that belongs to this command. Returns an
 * exit status, and said why. */
int core_load(const char *named);

/* Can this be the core's program? 0, or 1 and it was said why not. */
int core_check_program(const char *named);

#endif
