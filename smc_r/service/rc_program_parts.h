/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_program_parts: the inside of rc_program, for its files only.
 */
#ifndef SMC_R_RC_PROGRAM_PARTS_H
#define SMC_R_RC_PROGRAM_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/service/rc_program.h"
#include "smc_r/service/rc_relay.h"

#define RC_CONFIRM_NS 1000000000ull /* a program attaches in this time */
#define RC_REST_NS    5000000ull    /* one that sleeps has woken by then */

struct rc_program {
	struct rc_program *next;
	struct rc_programs *all;
	struct rc_conn conn;
	struct rc_watch channel_watch, tcp_watch, bell_watch;
	int channel; /* until it is confirmed; else -1 */
	bool attached;
	bool hot;
	bool gone;   /* no process has the program's end */
	bool over;   /* to be freed */
	bool listed; /* among those that are looked at */
	struct rc_program *next_listed;
	uint64_t until_ns;          /* hot until then; or the next look */
	uint64_t written, consumed; /* of the program, at the last look */
	enum ends_peer end;         /* ... told to the wire half */
	uint64_t ticket;
	uid_t user;
	pid_t pid;
	bool relayed; /* the rings are the relay's, not the program's */
	struct rc_relay relay;
	struct rc_watch relay_watch;
	int relay_channel; /* it asked before the outcome; else -1 */
};

static inline struct connection *rc_program_near(struct rc_program *p)
{
	return &p->conn.pump.near;
}

static inline struct rc_program *rc_program_of(struct rc_conn *c)
{
	return (struct rc_program *)(void *)((char *)c -
					     offsetof(struct rc_program, conn));
}

/* Events of this descriptor come to rc_program_event(); and no more. */
void rc_program_watch(struct rc_program *p, int fd, struct rc_watch *w,
		      enum rc_watch_kind kind, uint32_t events);
void rc_program_forget(const struct rc_program *p, int fd);
void rc_program_watch_bells(struct rc_program *p);

void rc_program_close_channel(struct rc_program *p);
void rc_program_close_tcp(struct rc_program *p);
void rc_program_drop_relay(struct rc_program *p);

/* It is looked at in each round, from the next one on; and hot for a while. */
void rc_program_list(struct rc_program *p);
void rc_program_heat(struct rc_program *p);

/* The element goes back: used again if the program said that it closes. */
void rc_program_finish(struct rc_program *p);
/* Wakes the program. */
void rc_program_signal(struct rc_program *p);
/* The connection is reset, to the program. */
void rc_program_abort(struct rc_program *p);

/* The channel is readable: the program is attached, or not. */
void rc_program_hear_channel(struct rc_program *p);
/* The program is attached if it has said so; it cannot say so any more. */
void rc_program_give_up(struct rc_program *p);
/* The relay that was asked for begins. */
void rc_program_start_relay(struct rc_program *p);

/* They are called by the wire half. */
extern const struct rc_near_calls rc_program_calls;

/* Looks at one: has anything moved? */
bool rc_program_work(struct rc_program *p);

#endif
