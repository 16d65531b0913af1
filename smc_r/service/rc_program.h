/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_program: the near half of connections: a program's end of the element, and
 * its TCP socket, for as long as the service has that.
 *
 * A connection is *hot* while something moves, and its words are looked at in
 * each round of the loop. One that has been quiet for RC_QUIET_NS is armed, so
 * that the program rings when it goes on, and costs nothing until then.
 *
 * Falling back: the service seals its ring at the first byte, asks the program
 * for a seal and for what lies in the ring (demote.h), and waits until the
 * program has done that in a call. A program that makes none has its bytes sent
 * by the service, as a reader may send for a busy writer (send_for_peer.h).
 *
 * Ownership: all connections are on a list of the owner's struct rc_programs.
 * Locking:   none; one thread. Takes the engine lock.
 */
#ifndef SMC_R_RC_PROGRAM_H
#define SMC_R_RC_PROGRAM_H

#include <sys/socket.h>
#include <sys/types.h>

#include "smc_r/far/far_hello.h"
#include "smc_r/service/rc_conn.h"

#define RC_QUIET_NS 50000u

struct rc_program;

/* What an epoll instance tells of: its data points here. */
enum rc_watch_kind {
	RC_WATCH_LISTENER,
	RC_WATCH_DEATHS,
	RC_WATCH_WIRE,
	RC_WATCH_HELLO,
	RC_WATCH_CHANNEL,
	RC_WATCH_TCP,
	RC_WATCH_BELL,
	RC_WATCH_RELAY,
};

struct rc_watch {
	enum rc_watch_kind kind;
	struct rc_program *program; /* of the last four */
};

struct rc_programs {
	int epoll;
	struct rc_service *service;
	struct rc_program *first;
	struct rc_program *listed; /* looked at in each round */
	unsigned count;
	struct rc_caller *caller; /* rc_hello.c */
	unsigned callers;
	unsigned ended;  /* to be freed by rc_programs_sweep() */
	uint64_t now_ns; /* as of the round */
};

/*
 * A hello came over a channel, with the program's socket: takes an element and
 * answers. Both descriptors are the service's from here on.
 */
void rc_program_hello(struct rc_programs *all, int channel, int tcp,
		      const struct far_hello *hello,
		      const struct ucred *caller);

/* The descriptor that the watch is for has events. */
void rc_program_event(struct rc_watch *w, uint32_t events);

/* Looks at all that are hot: has anything moved? *until: when the next one is
 * to be armed, or looked at again; UINT64_MAX for never. */
bool rc_programs_work(struct rc_programs *all, uint64_t *until);

/* Is any hot? */
bool rc_programs_are_hot(const struct rc_programs *all);

/* Frees those that are over. No event of this round may follow. */
void rc_programs_sweep(struct rc_programs *all);

#endif
