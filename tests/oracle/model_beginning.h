/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_beginning: a connection beside those of the model, which is made to be
 * watched, used, shared and ended while it begins. All of it is written by one
 * step of the generator.
 */
#ifndef TESTS_ORACLE_MODEL_BEGINNING_H
#define TESTS_ORACLE_MODEL_BEGINNING_H

#include "model.h"

#define WATCHES 2
#define CHILD   3 /* a task that no other step has */

enum sleep {
	SLEEP_NONE,
	SLEEP_READY, /* polls, or waits in an instance */
	SLEEP_RECV   /* takes all that comes first */
};

struct watch {
	char name[12]; /* of the instance */
	char of[12];   /* the registered name; empty: none */
};

struct beginning {
	struct model *m;
	struct connection d;
	const char *listens, *connects;
	int listener;
	struct watch watches[WATCHES];
	enum sleep sleep; /* of the client's task 1 */
	bool accepted, listener_closed;
};

static inline struct end *client(struct beginning *b)
{
	return &b->d.ends[0];
}

static inline struct end *server(struct beginning *b)
{
	return &b->d.ends[1];
}

/* ---- model_beginning.c: up to connect() ---- */

/* The listener, with these words behind its address, and both ends' names. */
void beginning_start(struct beginning *b, struct model *m, char actor,
		     const char *backlog);
/* The client's socket, and perhaps instances that it is in. */
void beginning_socket(struct beginning *b);
void beginning_connect(struct beginning *b);

void watch_new(struct beginning *b, struct watch *w);
void watch_add(struct beginning *b, struct watch *w, const char *name);
void watch_ask(struct beginning *b, const struct watch *w, int ms);
/* The client's socket, out of all instances. A closed name leaves them by
 * itself only with its last duplicate. */
void watch_leave(struct beginning *b);
void watches_close(struct beginning *b);
/* What one may ask an instance for. */
const char *watch_events(struct model *m);

/* ---- model_client.c ---- */

/* One thing or another. */
void client_acts(struct beginning *b);
void client_watches(struct beginning *b);
/* Both names are in one instance for a moment. */
void client_renames(struct beginning *b);
/* The server has just done what ends its sleep: it sent so many bytes, or its
 * end. */
void client_wakes(struct beginning *b, unsigned bytes);

/* ---- model_server.c ---- */

/* forks: perhaps in a child. */
void server_accepts(struct beginning *b, bool forks);
void server_acts(struct beginning *b);

/* ---- model_leave.c ---- */

/* At the client's end, by the instances that it is in. */
void look_once_more(struct beginning *b);
void end_in_queue(struct beginning *b);
void end_unaccepted(struct beginning *b);
void end_in_order(struct beginning *b);

#endif
