/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_listen: listeners, and the marks by which they offer SMC.
 *
 * Ownership: a listener belongs to the entry of its descriptors (fdtable.h).
 * Locking:   each takes the engine lock itself, but for listener_of and
 *            listener_drop, which need none, and listener_free, where it is
 *            held.
 */
#ifndef SMC_R_SOCKET_LISTEN_H
#define SMC_R_SOCKET_LISTEN_H

#include <stdbool.h>

#include "smc_r/os/fdtable.h"

static inline struct listener *listener_of(int fd)
{
	return (struct listener *)(void *)fdtable_kind(fd, FDENTRY_LISTENER);
}

/* Before listen(): Linux before 6.12 takes no mark on a socket that listens. Is
 * it marked? Then offer_unmark() follows a listen() that fails. */
bool socket_before_listen(int fd);
/* Called after a listen() that worked: says that any process that accepts
 * speaks SMC. */
void socket_listening(int fd);
/* Before accept(): marks again when the settings moved. May a connection from
 * this listener be one of ours? No system call as long as nothing moves. */
bool socket_before_accept(int fd);

/* TCP_DEFER_ACCEPT was set or cleared, perhaps of a listener; and is it set? */
void socket_defer_changed(int fd);
bool socket_is_deferred(int fd);

/* Its last descriptor here went. */
void listener_free(struct listener *l);
/* A process that accepts from it from now on may lack the engine: no promise is
 * made. */
void listener_unmark(int fd);
/* Called for one that has `held`. */
extern void (*listener_on_end)(struct listener *l);
/* This descriptor goes. No system call; false: it takes some, and nothing was
 * done. */
bool listener_drop(int fd);

#endif
