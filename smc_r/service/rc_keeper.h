/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_keeper: the process that was started keeps the socket for hellos, and
 * another one, its child, serves. When the child is killed, or crashes, the
 * next hello waits in the socket's queue and starts another.
 *
 * The credentials of the socket (SO_PEERCRED, unix(7)) are those of the process
 * to which SIGTERM goes: the child, or the keeper where there is none.
 */
#ifndef SMC_R_RC_KEEPER_H
#define SMC_R_RC_KEEPER_H

/*
 * Returns in each child, with its pid; in the keeper when a child has ended by
 * itself or SIGTERM or SIGINT came, with 0, *status being the exit status; or
 * -errno. Both signals are blocked before, and stay so.
 */
int rc_keeper_run(int listener, int *status);

#endif
