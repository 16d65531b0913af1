/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_flow_steps: the inside of rc_flow, for its files only: what messages
 * and time have in common.
 */
#ifndef SMC_R_RC_FLOW_STEPS_H
#define SMC_R_RC_FLOW_STEPS_H

#include "smc_r/service/rc_flow.h"

#define RC_FLOW_SECOND_NS 1000000000ULL
#define RC_FLOW_ANSWER_NS (2 * RC_FLOW_SECOND_NS)

/* Bits of news. */
#define RC_FLOW_NEWS_REMOVED 1
#define RC_FLOW_NEWS_ADDED   2

/* A message of ours begins in `out`; send puts it among the actions. */
struct llc_message *rc_flow_begin(struct rc_flow *f, enum llc_type type,
				  bool response);
void rc_flow_send(struct rc_flow *f, int link);

/* An action without a message; its other fields are for the caller. */
struct rc_flow_action *rc_flow_tell(struct rc_flow *f,
				    enum rc_flow_action_type type, int link);

/* The flow is over; a request of our own has its result. */
void rc_flow_finish(struct rc_flow *f, int error);

/* First contact is over; told once. */
void rc_flow_set_ready(struct rc_flow *f);

/* Starts what waits, if there is no flow. */
void rc_flow_start(struct rc_flow *f, uint64_t now_ns);

/* A link that can be used, -1 for none. Not `but`. */
int rc_flow_usable(const struct rc_flow *f, int but);

/* The link with this number on the wire, -1 for none. */
int rc_flow_by_number(const struct rc_flow *f, uint8_t number);

/* The link goes, and with the last one the group, for the error given. */
void rc_flow_remove_link(struct rc_flow *f, int link, int error);

void rc_flow_finish_group(struct rc_flow *f, int error, uint32_t reason);

/* A server's Delete Link of one link, on another one if there is one. */
void rc_flow_ask_delete(struct rc_flow *f, const struct llc_delete_link *d,
			uint64_t now_ns);

#endif
