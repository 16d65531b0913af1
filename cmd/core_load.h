/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_load: starts the RDMA core.
 */
#ifndef CMD_CORE_LOAD_H
#define CMD_CORE_LOAD_H

/* The program named, or NULL: the one that belongs to this command. Returns an
 * exit status, and said why. */
int core_load(const char *named);

#endif
