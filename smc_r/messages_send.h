/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * messages_send: our CLC messages of one connection, made and sent.
 *
 * Locking: engine lock and the connection's rx lock held by the caller.
 */
#ifndef SMC_R_MESSAGES_SEND_H
#define SMC_R_MESSAGES_SEND_H

#include <stdbool.h>

#include "connection.h"

void messages_send(struct connection *c, int fd, enum clc_send what);

/* Has the peer's end of the stream come, or an error? */
bool messages_have_ended(int fd);

#endif
