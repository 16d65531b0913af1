/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control: how a command talks to the running RDMA core.
 *
 * The core listens on a stream socket, ofed_rundir_path("control"). A request
 * is one line. The answer is any number of data lines, each starting with '=',
 * then one final line: "ok" or "error ERRNO TEXT" (ERRNO is a number, TEXT a
 * sentence for people). Lines end with '\n' and hold less than
 * CONTROL_LINE_BYTES bytes. One connection may carry many requests.
 *
 * request            data lines of the answer
 * query              "=NAME VALUE" for each parameter, in table order
 * set NAME VALUE     none; the value holds until reload or unload
 * reload             none; ofed.conf is read again, all or nothing
 * clients            "=PID UID CONTEXTS QPS NAME" per process with a device
 *                    or rdma_cm channel open
 * devices            "=DEVICE NETDEV STATE MTU" per device;
 *                    STATE is ACTIVE or DOWN
 * listeners          "=SPACE PORT PID" per rdma_cm listener; SPACE is TCP
 *                    or UDP
 * statistics         "=NAME VALUE" per counter of the whole core
 * ping               "=version TEXT" and "=pid NUMBER"
 * unload             none; "ok" means that unloading has begun: clients get
 *                    IBV_EVENT_DEVICE_FATAL, after delay_kill ms SIGTERM,
 *                    after delay_between_signals ms more SIGKILL. The core
 *                    has gone when the connection reaches end of file.
 *
 * set, reload and unload need uid 0 or the uid of the core (else EPERM).
 * A connection that is one too many for its user (EMFILE) is answered before
 * it asks, and closed.
 * Nobody listening (ENOENT, ECONNREFUSED) means: not loaded.
 */
#ifndef OFED_CORE_CONTROL_H
#define OFED_CORE_CONTROL_H

#include <stddef.h>

#define CONTROL_LINE_BYTES 512

/*
 * Connects to the core of the network namespace with that name in the run
 * directory (ofed_rundir.h), or of this one (NULL); descriptor or -errno.
 */
int control_open(const char *name);

/*
 * Sends one request line (without '\n') and reads the whole answer. Every
 * data line, without '=' and '\n', goes to line(); NULL ignores them.
 * 0 when the core said ok; the core's -ERRNO with its words in *error when it
 * refused; -EPIPE when it went away, -EPROTO when the answer made no sense.
 * error may be NULL. Reads exactly the answer, so the descriptor stays usable.
 */
int control_call(int fd, const char *request,
		 void (*line)(void *owner, const char *text), void *owner,
		 char *error, size_t error_bytes);

/* Blocks until the core has closed the connection (after unload). */
int control_wait_gone(int fd);

#endif
