/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * half_close: the FIN of a half that is shut (shutdown(SHUT_WR)).
 *
 * The ring tells of it at once. TCP may still have to carry what is unread, for
 * example to a successor of the reader. When all is read only the FIN is left
 * to carry, and goes out. The end that shut the half sends it in that call, or
 * in a later one; the reader wakes one that sleeps. So the states of both
 * sockets are those of TCP: the end that closes last has sent its FIN last, and
 * keeps no TIME_WAIT.
 *
 * Locking: the writer's stream lock for a moment, and, for what is done in the
 * peer's place, the engine lock. errno stays.
 *
 * TIME_WAIT belongs to the end whose FIN came first. So a reader that closes
 * makes sure that the peer's FIN is out before its own, if need be over a
 * duplicate of the peer's socket.
 */
#ifndef SMC_R_HALF_CLOSE_H
#define SMC_R_HALF_CLOSE_H

#include <stdbool.h>

#include "smc_r/connection/connection_ends.h"

/* Sends our FIN if it is owed (stream_owes_fin), and all is read. */
void half_close_send(struct connection *c, int fd);

/* The program shuts its half now: tells the peer which process and descriptor
 * do. */
void half_close_announce(struct connection *c, int fd);

/* Has TCP the FIN of the peer's half, by its own hand? */
bool half_close_has_come(const struct connection *c);

/* Comes behind a read: when that was the last of a half that is shut, the peer
 * is woken for its FIN. */
void half_close_tell(struct connection *c);

/*
 * Before our own FIN goes out with a close, or a shutdown of both halves: the
 * peer's goes first, if that shut its half first. In its place if need be
 * (send_for_peer.h), or it is waited for for a few milliseconds if it was woken
 * for it.
 */
void half_close_follow(struct connection *c, int fd);

#endif
