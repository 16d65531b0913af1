/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model: what a generated script knows of its connections.
 *
 * A step may only be written if its result does not depend on timing. So the
 * model counts the bytes that are on their way to each end and remembers which
 * ends have finished; before a step that looks at an end it writes an "await"
 * for exactly that. It predicts no results: plain TCP does.
 */
#ifndef TESTS_ORACLE_MODEL_H
#define TESTS_ORACLE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONNECTIONS   3
#define IN_FLIGHT_MAX 44000u /* fits into every socket buffer, always */

struct end {
	char actor;    /* 'A' or 'B' */
	int task;      /* the lane that holds the descriptor */
	char name[12]; /* of the descriptor */
	bool nonblock;
	bool fin_sent;
	bool read_shut;
	bool watched;    /* member of the epoll instance of its actor */
	unsigned unread; /* bytes */
	unsigned pieces; /* sends since it was empty */
};

struct connection {
	bool used;
	bool moved; /* on TCP again, or may be */
	const char *address;
	struct end ends[2]; /* 0 called connect */
};

struct model {
	FILE *out;
	bool more; /* a seed of the later ones */
	uint64_t random;
	struct connection connections[CONNECTIONS];
	unsigned pattern; /* the last one used */
	unsigned serial;  /* makes names of descriptors */
	int listener;     /* serial number of the last one */
	int children[2];  /* last task used for a child, per actor */
};

unsigned pick(struct model *m, unsigned below);
bool chance(struct model *m, unsigned percent);
const char *pick_word(struct model *m, const char *const *words,
		      unsigned count);
#define PICK(m, words) pick_word(m, words, sizeof(words) / sizeof(*(words)))

/* One step in the lane of this end. */
void step(struct model *m, const struct end *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line as it is. */
void line(struct model *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Until what the model knows to be on its way has arrived. */
void arrive(struct model *m, struct connection *c, int i);

void sent(struct end *to, unsigned bytes);
void taken(struct end *by, unsigned bytes);
/*
 * shutdown WR. The peer's acknowledgement is one more edge for an epoll, so
 * it is waited for.
 */
void finish_sending(struct model *m, struct end *e);
void set_blocking(struct model *m, struct end *e);
unsigned next_pattern(struct model *m);

/* The task, as a digit, in which this end may block while others go on. */
int blocking_task(const struct end *e);
/* The instance of this end's actor, asked once, when what is on its way to its
 * members has arrived; but `but` may be over, or NULL. */
void look_at_epoll(struct model *m, const struct end *e,
		   const struct connection *but);
/* No bytes and no end of stream at this end: a receive would wait. */
bool is_quiet(const struct connection *c, int i);
/* Data sent from this end arrives. */
bool can_send(const struct connection *c, int i);
bool same_lane(const struct end *a, const struct end *b);

/* A new end, whose name is this letter and the last serial number. */
void end_make(struct model *m, struct end *e, char actor, char letter);
char other_actor(char actor);
/* The family of an address, as "socket" has it. */
const char *family(const char *address);
/* All that is on its way to this end, taken by one call. */
void read_all(struct model *m, struct connection *c, int i);
/* A child task ends when its end does; exits: it does not close it first. */
void close_end(struct model *m, struct end *e, bool exits);
/* Both ends are closed. */
void forget(struct connection *c);

/*
 * The kinds of steps. Each writes what is sensible in this state, perhaps
 * nothing. i is the end that acts.
 */
/* model_data: bytes, by send and receive */
void write_send(struct model *m, struct connection *c, int i);
void write_recv(struct model *m, struct connection *c, int i);
void write_flags(struct model *m, struct connection *c, int i);
void write_many(struct model *m, struct connection *c, int i);
void write_bad(struct model *m, struct connection *c, int i);
void write_transfer(struct model *m, struct connection *c, int i);
void write_fill(struct model *m, struct connection *c, int i);
void write_send_limit(struct model *m, struct connection *c, int i);

/* model_ways: bytes, by other calls */
void write_splice(struct model *m, struct connection *c, int i);
void write_pump(struct model *m, struct connection *c, int i);
void write_stdio(struct model *m, struct connection *c, int i);
void write_requests(struct model *m, struct connection *c, int i);
void write_urgent(struct model *m, struct connection *c, int i);
void write_strange(struct model *m, struct connection *c, int i);

/* model_option: what is set and asked */
void write_probe(struct model *m, struct connection *c, int i);
void write_nonblock(struct model *m, struct connection *c, int i);
void write_option(struct model *m, struct connection *c, int i);
void write_low_water(struct model *m, struct connection *c, int i);
void write_peek_offset(struct model *m, struct connection *c, int i);
void write_async(struct model *m, struct connection *c, int i);
void write_sigio(struct model *m, struct connection *c, int i);

/* model_ready: readiness, without waiting */
void write_poll(struct model *m, struct connection *c, int i);
void write_epoll(struct model *m, struct connection *c, int i);
void write_rearm(struct model *m, struct connection *c, int i);

/* model_sleep: sleeps */
void write_blocked_recv(struct model *m, struct connection *c, int i);
void write_blocked_wait(struct model *m, struct connection *c, int i);
void write_signal(struct model *m, struct connection *c, int i);
void write_timeout(struct model *m, struct connection *c, int i);
void write_masked(struct model *m, struct connection *c, int i);
void write_timed(struct model *m, struct connection *c, int i);
void write_ticking(struct model *m, struct connection *c, int i);

/* model_beside: sleeps that another thread of the process has a part in */
void write_changed_wait(struct model *m, struct connection *c, int i);
void write_two_waiters(struct model *m, struct connection *c, int i);
void write_two_peeks(struct model *m, struct connection *c, int i);
void write_shut_asleep(struct model *m, struct connection *c, int i);
void write_gone_asleep(struct model *m, struct connection *c, int i);
void write_request_end(struct model *m, struct connection *c, int i);

/* model_connect: beginnings */
void write_connect(struct model *m, struct connection *c);
void write_reconnect(struct model *m, struct connection *c, int i);
void write_misplaced(struct model *m, struct connection *c, int i);
void write_early(struct model *m, struct connection *c, int i);
void write_refused(struct model *m, struct connection *c, int i);

/* model_hands: other names, other processes */
void write_dup(struct model *m, struct connection *c, int i);
void write_alias(struct model *m, struct connection *c, int i);
void write_child(struct model *m, struct connection *c, int i);
void write_pass(struct model *m, struct connection *c, int i);
void write_flight(struct model *m, struct connection *c, int i);
void write_cat(struct model *m, struct connection *c, int i);

/* model_fresh: whole connections */
void write_fresh(struct model *m, struct connection *c, int i);

/* model_begin: ... that are used while they begin */
void write_beginning(struct model *m, struct connection *c, int i);
void write_full_queue(struct model *m, struct connection *c, int i);

/* model_end: ends */
void write_shutdown(struct model *m, struct connection *c, int i);
void write_finish(struct model *m, struct connection *c, int i);
void write_part_reset(struct model *m, struct connection *c, int i);
/* The process of actor 'A' or 'B' is killed; the script ends with it. */
void write_kill(struct model *m, char actor);

/* The end leaves the epoll instance of its actor. */
void unwatch(struct model *m, struct end *e);

#endif
