/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * death: what the actors of the game "death" share.
 *
 * Ownership: the board is shared memory, made by the director.
 * Locking:   none; each word has one writer at a time.
 */
#ifndef TESTS_PRELOAD_DEATH_H
#define TESTS_PRELOAD_DEATH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LINES       2
#define BLOCK       1024u
#define LARGE       40960u
#define BUFFER      262144u
#define ROUND_MS    20000
#define ANSWER_SEED 900u

enum life {
	PLAIN,
	UNREAD,
	BRIEF,
	HALF,
	FORK_PARENT,
	FORK_CHILD,
	SHARED,
	DEMOTED,
	HANDED,
	LIVES
};
enum side {
	CONNECTS,
	ACCEPTS,
	SIDES
};
enum mode {
	BLOCKS,
	POLLS,
	EPOLLS,
	MODES,
	LATE = MODES /* no call before the victim waits, or is dead */
};

/* What one process wrote onto a line. */
struct writer {
	_Atomic uint64_t begun; /* before the call */
	_Atomic uint64_t done;  /* after it */
};

/* One connection of a round, as its ends tell. */
struct line {
	/* The survivor. */
	_Atomic bool open;
	_Atomic bool sending;
	_Atomic uint64_t sent;
	_Atomic uint64_t got;
	uint64_t sent_before; /* of it, the victim's death */
	int ending;           /* 0 end of file, or the error */
	bool stuck;           /* writes never failed */
	unsigned char bytes[BUFFER];
	/* The victim and its child. */
	_Atomic bool held; /* connect() or accept() has returned */
	_Atomic bool taking;
	_Atomic uint64_t taken;
	struct writer writer[2];
};

/* Shared by all of them. */
struct board {
	enum life life;
	enum side side;
	enum mode mode;
	int survivor_port;
	int victim_port;
	int mate_port;
	_Atomic int finished;  /* rounds, by the survivor */
	_Atomic bool dead;     /* all of the other end */
	bool measured;         /* the survivor counts what it has: */
	_Atomic int fds, maps; /* at the end of the round */
	bool quiet; /* the survivor had nothing to do when it happened */
	struct line line[LINES];
};

extern struct board *board;
extern int orders[2]; /* to the survivor: 'r' a round, 'd' all are dead */
extern int go[2];     /* to the process that goes on after the death */

/* Connections of the round. */
int line_count(void);
/* Seed of the bytes that a writer puts onto a line. */
uint32_t seed_of(const struct line *l, int who);

/* The lives of processes; none of them returns. */
_Noreturn void victim(void);
_Noreturn void survive(void);
_Noreturn void mate(int listener);

#endif
