/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_adopt: registrations that were made before connect() made their socket
 * a candidate. They are the kernel's, and become members.
 *
 * Locking: takes the engine lock.
 */
#ifndef SMC_R_EPOLL_ADOPT_H
#define SMC_R_EPOLL_ADOPT_H

#include "smc_r/epoll/epoll_set.h"

/* fd, no connection's, is registered with the kernel. */
void epoll_remember(int fd);
/* fd is c's now. True: it is in an instance that several processes use. */
bool epoll_adopt(struct connection *c, int fd);

#endif
