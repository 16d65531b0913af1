/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_unload: ends the RDMA core, and the programs that go on using it.
 *
 * Both return an exit status, and said why.
 */
#ifndef CMD_CORE_UNLOAD_H
#define CMD_CORE_UNLOAD_H

int core_unload(const char *program);
/* Says what that would do, and changes nothing. */
int core_say_unload(void);

#endif
