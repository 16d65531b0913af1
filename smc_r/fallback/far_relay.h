/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * far_relay: a connection to another host that somebody without the engine is
 * to use (exec, a passed descriptor, stdio) or that needs what rings have not
 * (signals for readiness, aio, io_uring). There is no way back to its TCP
 * stream. So a TCP connection of this host takes its place, and the link
 * service copies between that and the rings, behind what lies in them.
 *
 * What differs: the program sees another peer address, and another inode. A
 * process that shares the connection by fork() and uses it on finds a TCP
 * socket on which nothing comes.
 */
#ifndef SMC_R_FAR_RELAY_H
#define SMC_R_FAR_RELAY_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* False: there is no service, or no socket; the connection is as it was. Takes
 * the engine lock, and the stream locks inside it. */
bool far_relay_start(struct connection *c, int fd);

#endif
