/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * messages_send: our CLC messages of one connection, made and sent.
 *
 * Locking: engine lock and the connection's rx lock held by the caller.
 */
#ifndef SMC_R_MESSAGES_SEND_H
#define SMC_R_MESSAGES_SEND_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

void messages_send(struct connection *c, int fd, enum clc_send what);

/* So many bytes of them TCP still counts as sent and not acknowledged: they are
 * none of the program's. No lock is needed. */
uint32_t messages_unheard(const struct connection *c, int fd);

/* Has the peer's end of the stream come, or an error? */
bool messages_have_ended(int fd);

#endif
