/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registrations: what is registered in an epoll instance, as the kernel tells
 * in /proc/self/fdinfo (proc(5)). Slow; used once for a socket that a program
 * put into an instance before it connected it.
 *
 * Locking: none. errno may change.
 */
#ifndef SMC_R_REGISTRATIONS_H
#define SMC_R_REGISTRATIONS_H

#include <stdbool.h>
#include <sys/epoll.h>

/* False when fd is not registered in ep. */
bool registrations_find(int ep, int fd, struct epoll_event *out);

#endif
