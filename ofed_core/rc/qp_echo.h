/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_echo: last answers, said again.
 *
 * A program may end as soon as it has what it waited for, and its peer may
 * then still miss the acknowledgement of it. So a pair that takes nothing any
 * more, and for a while one that was destroyed, still repeats what it has
 * said: this was received, or this was refused. It takes nothing new.
 *
 * Locking: core_lock; keeping and the goodbye with it held for writing.
 */
#ifndef OFED_CORE_QP_ECHO_H
#define OFED_CORE_QP_ECHO_H

#include "ofed_core/verbs/qp.h"
#include "ofed_core/wire/wire.h"

/*
 * The program moves a connected pair to the error state, and is going to tell
 * the peer that it ends. The peer then flushes what it sent and has no
 * acknowledgement of, though all of it arrived: so that is said once more
 * before, as the acknowledgement may have been lost.
 */
void qp_echo_goodbye(const struct qp *qp);

/* The pair is going to be destroyed. */
void qp_echo_keep(const struct qp *qp);

/* Requests to a pair in the error state; under its rq_lock. */
void qp_echo(const struct qp *qp, const struct packet *const *p,
	     unsigned count);

/* One to a pair that is not there; false when nothing is known of it. */
bool qp_echo_gone(const struct arrival *a);

#endif
