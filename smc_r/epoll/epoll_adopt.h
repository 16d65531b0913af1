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
/* fd is c's now. The reason why an instance that it is in is the kernel's, and
 * c must go to TCP; or REASON_NONE. */
uint32_t epoll_adopt(struct connection *c, int fd);

#endif
