/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_ctl: what happens to tracked descriptors besides data: listen,
 * shutdown, close, dup, flags and options.
 *
 * Locking: each takes the engine lock itself where it changes the table.
 */
#ifndef SMC_R_SOCKET_CTL_H
#define SMC_R_SOCKET_CTL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "connection.h"

/* After a listen() that worked: says that whoever accepts speaks SMC. */
void socket_listening(int fd);
/* Before accept(): marks again when the settings moved. May a connection from
 * this listener be one of ours? No system call as long as nothing moves. */
bool socket_before_accept(int fd);

/* shutdown(); libc's result, or SOCKET_KERNEL of socket_io.h. */
int socket_shutdown(struct connection *c, int fd, int how);
/* The state of TCP (tcp(7), TCP_INFO) once a direction was shut on the ring,
 * which the kernel did not see; 0 when the kernel knows best. */
int socket_shut_state(struct connection *c);

/* After a call that slept on a descriptor which was closed meanwhile. */
void socket_end_orphan(struct connection *c);

/* close(fd) of any tracked descriptor. */
int socket_close(int fd);
/* The number is about to mean something else (dup2) or went away unseen. */
void socket_forget(int fd);
/* After a dup that worked. */
void socket_dup(int from, int to);
/* dup2 and dup3 onto a number of ours: move ours away. False: cannot. */
bool socket_make_way(int to);
/* close_range and closefrom: everything tracked in [first, last] but our own
 * hidden ones. */
void socket_close_range(unsigned first, unsigned last, bool cloexec_only);

/* A creator gave us this number, so what we knew of it is stale. */
void socket_number_is_new(int fd);

/* connect() to nobody ended the connection. */
void socket_disconnected(int fd);
/* TCP_DEFER_ACCEPT was set on it, perhaps. */
void socket_listener_deferred(int fd);

void socket_note_nonblock(int fd, bool on);
void socket_note_option(int fd, int level, int name);
/* Would this option change the stream in a way that SMC cannot? */
bool socket_option_demotes(int level, int name);

#endif
