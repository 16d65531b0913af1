/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_option: flags and options that matter to SMC. The kernel's socket has
 * them; what a data call must know stands in the slot, too.
 *
 * Locking: none.
 */
#ifndef SMC_R_SOCKET_OPTION_H
#define SMC_R_SOCKET_OPTION_H

#include <stdbool.h>

/* After a call that worked. */
void socket_note_nonblock(int fd, bool on);
void socket_note_append(int fd, bool on);
void socket_note_option(int fd, int level, int name);
/* SO_RCVTIMEO or SO_SNDTIMEO; never: of less than nothing. */
void socket_note_time_out(int fd, int name, bool never);
/* Would this option change the stream in a way that SMC cannot? */
bool socket_option_demotes(int level, int name);

#endif
