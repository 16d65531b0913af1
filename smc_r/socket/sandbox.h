/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sandbox: what is left when a program has confined itself to some calls.
 *
 * A marked listener promised each client that any process that accepts has the
 * engine. So before a filter stands its mark goes, and the connections that
 * wait in its queue are taken in and end their handshakes, on TCP. The program
 * gets them by its accept(), which then is no call at all; and poll(), select()
 * and epoll tell of them, the latter by an eventfd beside the listener.
 *
 * A child of fork has a copy of each such connection. Each is handed out once,
 * by whichever process is the first.
 *
 * Locking: none; places are taken by compare-and-swap. sandbox_enter() runs
 *          before the filter, in the thread that sets it.
 *
 * A filter may stand before the program begins. So tables that others write to
 * are there from the beginning, and what ends a listener or an instance without
 * members takes no lock. tests/preload/quiet.c calls every name, and the calls
 * that are recorded must be those of a run without the library.
 */
#ifndef SMC_R_SANDBOX_H
#define SMC_R_SANDBOX_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

/* Listeners: their marks go, and connections are taken from their queues; then
 * those are the program's, on TCP. leave comes before the engine retires. */
void sandbox_leave_listeners(void);
void sandbox_hold(void);

/* Are there listeners with such connections? */
extern _Atomic bool sandbox_holds;

/* Hands the next one out, as accept4() does; -1: there is none, and the kernel
 * is to be asked. */
int sandbox_accept(int fd, struct sockaddr *a, socklen_t *n, int flags);
/* After epoll_ctl() that worked. errno stays. */
void sandbox_registered(int ep, int op, int fd,
			const struct epoll_event *event);
/* After the kernel's answer, which did not wait: adds them to it. */
int sandbox_polled(struct pollfd *fds, nfds_t n, int result);
bool sandbox_polls(const struct pollfd *fds, nfds_t n);
/* Looks at a set; n as of select(). held: those that it is about. */
bool sandbox_selects(int n, const fd_set *r, fd_set *held);
int sandbox_selected(int n, fd_set *r, const fd_set *held, int result);

#endif
