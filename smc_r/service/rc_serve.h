/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_serve: the loop of the link service. It looks at what is hot for as long
 * as something is, and yields the processor between two looks in vain; else it
 * sleeps in epoll_wait(2), and nothing wakes it but work.
 */
#ifndef SMC_R_RC_SERVE_H
#define SMC_R_RC_SERVE_H

#include <signal.h>

#include "smc_r/service/rc_service.h"

/* Serves until *stop is set by the handler of a signal that is blocked but
 * where the loop waits, then ends all link groups in order. 0, or an errno that
 * made it impossible. */
int rc_serve(int listener, struct rc_service *service,
	     const volatile sig_atomic_t *stop);

#endif
