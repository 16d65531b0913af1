/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * far_channel: a program's end of a hello.
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_FAR_CHANNEL_H
#define SMC_R_FAR_CHANNEL_H

#include "smc_r/far/far_hello.h"

/* A channel to the service of the network namespace that this TCP socket is in:
 * a private descriptor; -ENOENT, -ECONNREFUSED where there is none; -errno. */
int far_channel_open(int tcp);

/* Says hello with this socket and gets the answer within so many milliseconds:
 * 0, or -errno. */
int far_channel_ask(int channel, int tcp, const struct far_hello *hello,
		    struct far_answer *answer, unsigned ms);

/* The program is attached. 0; -errno: the service has not heard it. */
int far_channel_confirm(int channel);

#endif
