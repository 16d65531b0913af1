/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * service_load: the link service between hosts (smc_rc) follows the device: it
 * is loaded where that is Available and there is an RDMA device, and unloaded
 * where it is not. Connections to other hosts stay on TCP without it, so that
 * no command fails for it; but it says so.
 */
#ifndef CMD_SERVICE_LOAD_H
#define CMD_SERVICE_LOAD_H

#include <stdbool.h>

/* In the name of a command, for this network namespace. */
void service_follow(const char *command, bool available);

#endif
