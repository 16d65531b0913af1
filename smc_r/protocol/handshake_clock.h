/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * handshake_clock: for how long an undecided handshake is waited for, hidden
 * from polls, and when it is given up. Pure: the owner brings the time.
 *
 * A connection is hidden from polls for 5 ms. In a crowd it is hidden for half
 * the limit, and on while the acceptor answers others at least that often, up
 * to five limits; 5 ms more when a look comes late, because that look may find
 * answers. One that only its own thread would accept is hidden for the limit,
 * and written to after 1 ms.
 *
 * The port's history is the back-off of all waits: none is left after
 * PORT_HISTORY_TIMEOUTS of them in vain, and a quarter of a write's before
 * that.
 *
 * Nanoseconds of one clock. Locking: none.
 */
#ifndef SMC_R_HANDSHAKE_CLOCK_H
#define SMC_R_HANDSHAKE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum handshake_asker {
	HANDSHAKE_POLL,      /* a poll: may the program be told to write? */
	HANDSHAKE_WRITE,     /* a write that may block */
	HANDSHAKE_WRITE_NOW, /* a write that must not block */
};

/* The client's knock (knock.h). */
enum handshake_knock {
	HANDSHAKE_KNOCK_NONE,   /* or settled */
	HANDSHAKE_KNOCK_UNSURE, /* some acceptor may not hear it */
	HANDSHAKE_KNOCK_SURE,   /* all acceptors are known to hear it */
};

struct handshake_clock {
	enum handshake_asker asker;
	enum handshake_knock knock;
	uint64_t limit_ns;    /* SMC_R_HANDSHAKE */
	uint64_t begun_ns;    /* TCP was connected */
	uint64_t asked_ns;    /* a write: it began to wait */
	uint64_t late_ns;     /* the first look that came too late; 0: none */
	uint64_t answered_ns; /* the port's last answer to anyone; 0: none */
	uint32_t timeouts;    /* of the port: port_history.h */
	bool crowd;           /* many others began beside it */
	bool own;             /* nobody accepts while the caller waits */
	bool told;            /* the program knows that it can write */
};

enum handshake_turn {
	HANDSHAKE_KNOCK,   /* hide or wait, and leave the knock out */
	HANDSHAKE_HIDE,    /* a poll hides that it can write; a write waits */
	HANDSHAKE_TELL,    /* a poll tells */
	HANDSHAKE_GIVE_UP, /* the connection is TCP's */
};

/* until_ns: when the answer changes by itself; past after GIVE_UP. */
struct handshake_verdict {
	enum handshake_turn turn;
	uint64_t until_ns;
};

struct handshake_verdict handshake_judge(const struct handshake_clock *k,
					 uint64_t now_ns);

#endif
