/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_pump: moves one connection between an element of shared memory, whose
 * other side is a program, and a link. Only cursors pass through here: the
 * RNIC reads the program's ring and writes into the one that it reads.
 *
 * The service has the element as the server's side does, whatever the TCP role
 * is. It never changes rings or their shift: so a byte at position p of the
 * wire lies at p modulo the RMBE's size. What the program says in shared
 * memory is looked at once, checked, and then used.
 *
 * Ownership: the link, the element and its regions are the caller's.
 * Locking:   none; one thread.
 */
#ifndef SMC_R_RC_PUMP_H
#define SMC_R_RC_PUMP_H

#include "smc_r/connection/connection.h"
#include "smc_r/service/rc_stream.h"
#include "smc_r/service/rc_verbs.h"

struct rc_pump {
	struct connection near; /* attached, SIDE_SERVER */
	struct status_slot slot;
	struct rc_stream stream;
	struct rc_stream_view view; /* of the program, checked */
	struct rc_link *link;
	uint32_t lkey;   /* of the program's ring */
	uint64_t remote; /* address of the peer's RMBE */
	uint32_t rkey;
};

/* The element is the service's; both its rings have memory, and MRs. */
void rc_pump_init(struct rc_pump *p, struct rmb *rmb, uint32_t element);

/* Posts what the program has to send, as far as there are slots and room: how
 * many chains. -EPROTO: its cursors cannot be; else the link is dead. */
int rc_pump_send(struct rc_pump *p, uint64_t tag);

/* A CDC message came: 0, -EPROTO. */
int rc_pump_receive(struct rc_pump *p, const struct cdc_message *m);

/* A message of ours has completed. */
void rc_pump_completed(struct rc_pump *p, uint16_t sequence);

/* Before the service sleeps: the program rings when it writes, or reads what
 * lets the peer go on. False: look by the clock. */
bool rc_pump_arm(struct rc_pump *p);
void rc_pump_disarm(struct rc_pump *p);

#endif
