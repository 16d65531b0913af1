/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * handshake_begin: what handshake.c, handshake_connect.c and handshake_accept.c
 * share. Nobody else includes it.
 *
 * Locking: engine lock, and the connection's rx lock inside it, but for
 *          handshake_is_served, which is called without the engine lock, and
 *          handshake_socket_name, which needs none.
 */
#ifndef SMC_R_HANDSHAKE_BEGIN_H
#define SMC_R_HANDSHAKE_BEGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "smc_r/connection/connection.h"

bool handshake_is_undecided(struct connection *c);

/* It begins now. */
void handshake_start_clock(struct connection *c);

/* Why it stays on TCP, as the peer offers nothing. state: of offer.h. */
uint32_t handshake_why_tcp(const struct connection *c, int state);

/* From here on CLC messages follow. Its clock was started. */
void handshake_begin(struct connection *c, bool server);
/* Neither side is committed to anything: the connection is TCP, without a word.
 */
void handshake_stay_native(struct connection *c, uint32_t reason);
/* An offer in the registry that nobody claimed commits nobody, nor does one of
 * which nothing was said; else the machine decides what is to be said. */
void handshake_end_offer(struct connection *c, int fd, uint32_t reason,
			 uint64_t now);

/* TCP is connected, and the program's connect() waited for that: a step that
 * leaves a knock to the next call. */
void handshake_connected(struct connection *c, int fd);

/* What begins now is SMC-R's by address and port. */
bool handshake_is_served(const struct in6_addr *local, uint16_t server_port);
/* call: SYS_getsockname or SYS_getpeername. False: there is none. */
bool handshake_socket_name(long call, int fd, struct sockaddr_storage *a);

#endif
