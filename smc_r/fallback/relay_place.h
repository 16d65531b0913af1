/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_place: a socket that a relay made comes under the numbers that the
 * program has for its connection.
 *
 * Locking: none; nobody reads or writes the connection meanwhile.
 */
#ifndef SMC_R_RELAY_PLACE_H
#define SMC_R_RELAY_PLACE_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* `from` comes under fd, as that is: blocking or not, and shut where it is
 * shut. False: nothing has changed. */
bool relay_take_place(struct connection *c, int from, int fd);

/* `from` comes under all numbers of the connection, which are one file and stay
 * that. */
bool relay_put_at_all(const struct connection *c, int from, int fd);

#endif
