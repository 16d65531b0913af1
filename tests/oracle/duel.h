/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel: two sides play the same list of moves, in turns, and write down all
 * that they see.
 *
 * A move comes from the seed and its number alone, and knows nothing of what
 * the moves before it did: any slot, any flag, any size, in any state. So
 * any of them can be left out, and the others stay what they were. What
 * follows from results that both runs share (how many bytes are under way)
 * stands in memory that both sides see.
 *
 * Ownership: a side's descriptors are its own; struct table is both sides'.
 * Locking:   turns. A thread that a move began writes its answer only.
 */
#ifndef TESTS_ORACLE_DUEL_H
#define TESTS_ORACLE_DUEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SIDES      2
#define SOCKETS    6 /* slots that hold sockets, most of the time */
#define LISTENER   6 /* and a listener */
#define EPOLL      7 /* two instances */
#define PIPE_READ  9 /* and a pipe, a file, an eventfd */
#define PIPE_WRITE 10
#define FILE_SLOT  11
#define EVENT      12
#define SLOTS      13

#define FD_MAX       200 /* descriptors of the game are below */
#define FD_LOG       200
#define FD_TABLE     201
#define FD_TURN      202 /* and the next one: a side reads from FD_TURN + side */
#define FD_TURN_SEND 204
#define FD_UNIX      206
#define CONNECTIONS  400
#define FLIGHT_MAX   44000u
#define PIECES_MAX   80u
#define BYTES        (1u << 21)
#define GAME_MORE    1000000u /* seeds from here on know more moves */
#define GAME_ALL     2000000u /* and these more again */
#define GAME_NEW     4000000u /* and these all */

struct random {
	uint64_t state;
};

struct table {
	int slots[SIDES][SLOTS];
	uint32_t ports[SIDES]; /* of the last listener */
	uint32_t warm[SIDES];  /* of every listener; 0: any */
	/* For each descriptor: its connection (from 1 on) and which end. */
	uint16_t connection[SIDES][FD_MAX];
	uint8_t end[SIDES][FD_MAX];
	uint32_t connections;
	uint32_t flight[CONNECTIONS][2]; /* bytes on their way to an end */
	uint32_t pieces[CONNECTIONS][2];
	bool odd[CONNECTIONS]; /* what is on its way is not known any more */
};

struct game {
	struct table *table;
	unsigned char *bytes; /* BYTES, and a page not to be touched */
	uint64_t seed;
	int side; /* that moves now */
	int mine; /* the side of this process, or -1: both */
	int move; /* its number */
	int phase;
	unsigned given; /* pages that a pipe may hold */
	int moves;      /* how many there are */
	bool patient;   /* waits for what is on its way before each phase */
	bool lazy;      /* connections are used before both ends have looked */
	bool looks;     /* asks for all readiness behind each move */
	unsigned crowd;
	const char *only; /* the list of moves that are made, or NULL */
	bool child;       /* of a fork: its move is all */
	char **argv;      /* to be started with again */
};

/* A kind of move. Its phases are made by the one side and the other in turn. */
struct kind {
	const char *name;
	int phases;
	unsigned weight;
	void (*make)(struct game *g, struct random *r);
};

extern const struct kind data_kinds[], life_kinds[], ready_kinds[], odd_kinds[],
    sleep_kinds[], doze_kinds[], flow_kinds[], rare_kinds[], state_kinds[],
    new_kinds[]; /* each ends with a NULL name */

/* A move that is not over before its last phase. */
void make_flow(struct game *g, struct random *r);

/* The chance of one move of this seed, or of something else by its number. */
struct random random_of(uint64_t seed, uint64_t number);
unsigned pick(struct random *r, unsigned below);
bool chance(struct random *r, unsigned percent);
#define PICK(r, list) ((list)[pick(r, sizeof(list) / sizeof(*(list)))])
/* Some of these bits; often few. */
unsigned some(struct random *r, const unsigned *bits, unsigned count);
#define SOME(r, list) some(r, list, sizeof(list) / sizeof(*(list)))

/* The number in a slot. */
int in(const struct game *g, int slot);
void put(struct game *g, int slot, int fd);
/* A slot that mostly has a socket. */
int socket_slot(struct game *g, struct random *r);
int any_slot(struct game *g, struct random *r);

/* Names the descriptor: its entry in the table, which may say "nobody". */
void known_as(struct game *g, int fd, unsigned connection, int end);
void known_copy(struct game *g, int from, int to);
unsigned connection_of(const struct game *g, int fd);
/* How much of this may be sent without anybody waiting for room. */
size_t sendable(const struct game *g, int fd, size_t size);
void was_sent(struct game *g, int fd, ssize_t n);
void was_taken(struct game *g, int fd, ssize_t n);

/* A line of the log begins, goes on, and ends with a result. */
void say(struct game *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void say_result(struct game *g, long ret);
void say_end(struct game *g);
/* Since the last end? */
bool has_said(void);

/* A call that sleeps is interrupted after a while. */
void guard_set(void);
void guard_end(void);
extern volatile int alarms;

/* Waits until this thread of ours is asleep for a while. False: it is over. */
bool thread_rests(pid_t tid, const volatile bool *over);

void pattern(const struct game *g, unsigned char *bytes, size_t size);
uint32_t sum(const void *bytes, size_t size);

/* Counts signals from here on; they stand behind what is said. */
void signals_catch(void);

/* The other side's turn; waits for ours. */
void turn_give(int side);
void turn_take(int side);

/*
 * DUEL_WARM: each side's listeners have a port of their own, at which it has
 * served the other side before, so that the next client may knock
 * (smc_r/handshake/knock.h).
 */
void game_warm(struct game *g);

/* Makes one phase of this move; with_kind NULL: the seed's. */
void game_phase(struct game *g, int move, int phase);
int move_phases(const struct game *g, int move);
int move_side(const struct game *g, int move);
/* The rest of the game, from this move on. */
void game_play(struct game *g, int move);
/* One move that a child of a fork may make. */
void game_child(struct game *g, struct random *r);

#endif
