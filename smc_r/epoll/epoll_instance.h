/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_instance: the program's instances, and the shadows inside them.
 *
 * Locking: engine lock, but for epoll_created, which takes it.
 */
#ifndef SMC_R_EPOLL_INSTANCE_H
#define SMC_R_EPOLL_INSTANCE_H

#include "smc_r/epoll/epoll_set.h"

/* epoll_create has made fd. */
void epoll_created(int fd);
/* The number fd is about to go. */
void epoll_closing(int fd);
/* Does what epoll_closing() does without the lock, while there has been no
 * connection that could be in it; false: there has been one, or fd is no
 * instance. */
bool epoll_close_bare(int fd);

/* Makes S and B, for the first member. 0 or -errno. */
int epoll_make_shadow(struct epoll *e);
/* Takes them out of E, for all processes. */
void epoll_remove_shadow(struct epoll *e);

/* Before a sleep in e: puts the deaths of peers into it, if this thread is to
 * hear of them, and gives back what those held that e has heard of. Takes the
 * lock itself, if there is something to do. */
void epoll_hear_deaths(struct epoll *e);

/* Draws another cookie: the program uses this one. */
void epoll_draw_cookie(struct epoll *e);

#endif
