/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_service: the wire half of the link service: devices, link groups, and the
 * handshakes of connections that get one (RFC 7609, 3 and 4). What it finds out
 * it tells by rc_near.h. Times are nanoseconds of a clock that does not go
 * back.
 *
 * Use: rc_service_poll() while there is something; rc_service_time() when
 * rc_service_next_ns() has come; between them the owner may sleep on
 * rc_service_fd() and on the TCP sockets of connections in RC_CONN_SETUP.
 *
 * Locking: none; one thread. Nothing is global: there may be several.
 */
#ifndef SMC_R_RC_SERVICE_H
#define SMC_R_RC_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/far/far_status.h"
#include "smc_r/service/rc_conn.h"

struct rc_service;

/* With this peer ID (RFC 7609, A.2), which names this instance of the service.
 * NULL: no memory. Devices are opened when a connection needs them. */
struct rc_service *rc_service_new(const uint8_t peer_id[8]);
/* It has this user EID, up to 32 characters, for version 2; without any it
 * offers and takes version 1 alone. 0, -EINVAL, -ENOSPC. */
int rc_service_add_eid(struct rc_service *s, const char *eid);
/* Ends all link groups: peers are told, connections are over. */
void rc_service_end(struct rc_service *s, uint64_t now_ns);
/* Has what that said gone out, or may nothing go any more? */
bool rc_service_is_done(const struct rc_service *s);
void rc_service_free(struct rc_service *s);

/* Is there an RDMA device that serves this local address? */
bool rc_service_serves(struct rc_service *s, const struct in6_addr *local);

/* TCP is connected, and both ends have agreed to use CLC: begins the handshake
 * of a connection in RC_CONN_SETUP. */
void rc_service_begin(struct rc_service *s, struct rc_conn *c, uint64_t now_ns);
/* Its TCP socket is readable, or has ended. What came may be a part of a
 * message, which stays there: the owner waits for edges. */
void rc_service_readable(struct rc_conn *c, uint64_t now_ns);
/* There is something for the link: the program wrote or read, or
 * rc_stream_end() was called. 0; -EPROTO: the program broke the rules of shared
 * memory, and the connection is aborted. */
int rc_service_work(struct rc_conn *c, uint64_t now_ns);

/* Takes completions and acts on them: how many. */
unsigned rc_service_poll(struct rc_service *s, uint64_t now_ns);
void rc_service_time(struct rc_service *s, uint64_t now_ns);
/* When rc_service_time() is due; UINT64_MAX for never. */
uint64_t rc_service_next_ns(const struct rc_service *s);

/* Tells of its ports, and of as many groups as `out` has place for. */
void rc_service_status(const struct rc_service *s, struct far_status *out);
/* The counters in it begin anew. */
void rc_service_reset_counts(struct rc_service *s);

/* The next completion makes rc_service_fd() readable: poll once more behind
 * this. False: not all of them will, so look by the clock, too. */
bool rc_service_arm(struct rc_service *s);
/* An epoll instance of the completion channels. */
int rc_service_fd(const struct rc_service *s);
void rc_service_heard(struct rc_service *s, uint64_t now_ns);

#endif
