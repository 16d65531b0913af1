/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile: a peer that speaks CLC and the rendezvous channel by itself, and
 * lies.
 *
 * A line is one TCP connection with a victim. What belongs to a peer that
 * keeps the rules comes from the engine's own codecs and link groups; each
 * attack then departs from them in one way.
 *
 * Ownership: one line for each run of the program; the kernel takes it back.
 * Locking:   none, one thread.
 */
#ifndef TESTS_PRELOAD_HOSTILE_H
#define TESTS_PRELOAD_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/protocol/clc_wire.h"

#define EXIT_WRONG  1  /* the victim did what it must not */
#define EXIT_CANNOT 77 /* the connection is not on SMC here */

struct line {
	int fd;
	bool server;   /* we accepted */
	bool registry; /* the Proposal went, or came, by the registry */
	uint32_t entry;
	uint8_t own_id[PEER_ID_BYTES];
	uint8_t peer_id[PEER_ID_BYTES];
	struct clc_accept_confirm accept; /* sent or received */
	uint8_t nonce[NONCE_BYTES];
	uint8_t proof[NONCE_BYTES];

	/* Once there is memory. */
	struct rmb *rmb;
	uint32_t element;
	int side; /* ours */
	struct rmb_element *e;
	uint8_t *out, *in;
	uint32_t size;
	uint64_t written, read; /* true cursors of ours */
};

/* "what: why", and the end of the program. */
__attribute__((format(printf, 2, 3))) _Noreturn void
line_end(int status, const char *format, ...);
#define must(condition)                                                        \
	((condition) ? (void)0 : line_end(EXIT_WRONG, "not so: %s", #condition))

void line_init(void);
/* receive_bytes: SO_RCVBUF, 0 for the usual. */
void line_connect(struct line *l, uint16_t port, int receive_bytes);
void line_accept(struct line *l, uint16_t port);

/* ---- TCP ---- */

void line_send(struct line *l, const void *bytes, size_t n);
void line_send_slowly(struct line *l, const void *bytes, size_t n);
/* Bytes, 0 at the end, -1 on a reset or when nothing came in time. */
long line_read(struct line *l, void *bytes, size_t n, int ms);
/* The victim ends the connection, one way or the other, within 3 seconds. */
void line_must_end(struct line *l);
void line_reset(struct line *l);
/* The victim echoes this, or (as client) sends and gets its words back. */
void line_tcp_echo(struct line *l);

/* ---- CLC ---- */

/* Type of the next message, 0 when there is none in time or it is no CLC. */
int line_message(struct line *l, struct clc_message *m, int ms);
int line_proposal(struct line *l, void *bytes);
void line_send_proposal(struct line *l);
/* Client: reads the Accept and maps what it names. */
void line_await_accept(struct line *l);
int line_confirm(struct line *l, void *bytes);
void line_send_confirm(struct line *l);
void line_send_decline(struct line *l);
/* Server: the Proposal is in, and names the victim. */
void line_await_proposal(struct line *l);
/* Server: memory of a peer that keeps the rules, and the Accept for it. */
void line_take_memory(struct line *l);
int line_accept_message(struct line *l, void *bytes);
void line_send_accept(struct line *l);
void line_await_confirm(struct line *l);
/* All of it, whichever side. */
void line_handshake(struct line *l);

/* ---- rings ---- */

void line_put(struct line *l, const void *bytes, size_t n);
/* All n bytes, or it ends the program. */
void line_get(struct line *l, void *bytes, size_t n);
/* Echo over the rings, whichever side. */
void line_ring_echo(struct line *l);
void line_ring_bells(struct line *l);

uint32_t line_random(void);
void line_sleep(int ms);

/* ---- attacks ---- */

struct attack {
	const char *name;
	void (*run)(struct line *l, uint16_t port);
};

#define A(name)                                                                \
	{                                                                      \
#name, name                                                    \
	}

/* Three, of a peer that goes when up_to(l, port, stage) is done. */
#define GONE(stage)                                                            \
	static void close_##stage(struct line *l, uint16_t port)               \
	{                                                                      \
		up_to(l, port, stage);                                         \
		close(l->fd);                                                  \
	}                                                                      \
	static void reset_##stage(struct line *l, uint16_t port)               \
	{                                                                      \
		up_to(l, port, stage);                                         \
		line_reset(l);                                                 \
	}                                                                      \
	static void half_close_##stage(struct line *l, uint16_t port)          \
	{                                                                      \
		up_to(l, port, stage);                                         \
		shutdown(l->fd, SHUT_WR);                                      \
		line_must_end(l);                                              \
	}

extern const struct attack client_attacks[]; /* end with a NULL name */
extern const struct attack server_attacks[];
extern const struct attack ring_attacks[]; /* either side */

#endif
