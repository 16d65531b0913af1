/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ud: sends datagrams, and delivers them.
 */
#ifndef OFED_CORE_UD_H
#define OFED_CORE_UD_H

#include "ofed_core/verbs/qp.h"

/* Sends what the program has posted. sq_lock is held. */
void ud_run(struct qp *qp);

/* A datagram for a pair of this core: the 40 bytes of the GRH, then the
 * payload. */
struct datagram {
	uint32_t qkey;
	uint32_t source_qpn;
	uint32_t imm;
	bool has_imm;
	bool is_solicited;
	const uint8_t *grh;
	const uint8_t *payload;
	size_t payload_bytes;
};
void ud_deliver(struct qp *qp, const struct datagram *d);

#endif
