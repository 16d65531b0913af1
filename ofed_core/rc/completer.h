/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * completer: what answers of the peer mean for the requester.
 *
 * Locking: sq_lock of the pair is held.
 */
#ifndef OFED_CORE_COMPLETER_H
#define OFED_CORE_COMPLETER_H

#include "ofed_core/pure/packet.h"
#include "ofed_core/verbs/qp.h"

/* ACKs, NAKs, READ responses and atomic answers, in the order of arrival. */
void completer_handle(struct qp *qp, const struct packet *const *p,
		      unsigned count);

/* Sends again from this PSN on. */
void completer_go_back(struct qp *qp, uint32_t psn);

#endif
