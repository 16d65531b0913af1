/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * untrusted_fd: descriptors of programs that nobody has reason to trust.
 *
 * Closing the last reference to some kinds of files waits, for as long as the
 * program likes: sockets that linger, files of a FUSE server. A thread of the
 * core must not.
 *
 * Locking: none needed.
 */
#ifndef OFED_CORE_UNTRUSTED_FD_H
#define OFED_CORE_UNTRUSTED_FD_H

#include <stdbool.h>

/*
 * Listens at ofed_rundir_path(leaf), where everybody may connect, in place of
 * what was there: descriptor or -errno.
 */
int untrusted_fd_listen(const char *leaf, int type, int backlog);

/*
 * accept4(). When the core has no descriptor left the connection is refused at
 * once, where it would otherwise wait, and keep its listener ready, for ever.
 * The new descriptor or -errno.
 */
int untrusted_fd_accept(int listener, int flags);

/* An AF_UNIX socket: no call on it waits when it is told not to. */
bool untrusted_fd_is_socket(int fd);

/* Closes it, on a thread of its own if that may take long. */
void untrusted_fd_close(int fd);

#endif
