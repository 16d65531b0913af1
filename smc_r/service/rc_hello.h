/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_hello: the socket at which programs say hello (far_hello.h).
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_HELLO_H
#define SMC_R_RC_HELLO_H

#include "smc_r/service/rc_program.h"

/*
 * Listens in the run directory, for this network namespace: a descriptor that
 * does not block; -EADDRINUSE, a service is there; -errno. The name of a dead
 * service is taken over.
 */
int rc_hello_listen(void);
/* From now on the socket's credentials (SO_PEERCRED, unix(7)) are those of the
 * caller. 0, or -errno. */
int rc_hello_own(int listener);
/* Removes the name. */
void rc_hello_forget(void);

/* The descriptor is readable: takes what came, a bounded number at once. */
void rc_hello_accept(int listener, struct rc_programs *all);
/* So is a channel whose hello had not come (RC_WATCH_HELLO). */
void rc_hello_event(struct rc_watch *w);
/* Frees what is over. No event of this round may follow. */
void rc_hello_sweep(struct rc_programs *all);

#endif
