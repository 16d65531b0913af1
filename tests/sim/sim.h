/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim: the world of the deterministic simulator: a seed, virtual time, events
 * in the order of their time, two hosts with a link service each. The fakes
 * for rc_verbs.h, rc_carrier.h, rc_paths.h and rc_near.h stand on it.
 *
 * Everything that happens follows from the seed. Nothing that is printed is an
 * address of memory.
 *
 * Locking: none; one thread. The world is global: a process has one at a time.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_service.h"
#include "tests/rc/element.h"

#define SIM_HOSTS   2
#define SIM_ENDS    64 /* of connections */
#define SIM_US      1000ull
#define SIM_MS      1000000ull
#define SIM_SECOND  1000000000ull
#define SIM_STREAM  4096 /* bytes of a TCP stream, at most */
#define SIM_APP     24   /* ... that a program writes behind a fallback */
#define SIM_DEVICES 16

enum sim_event {
	SIM_DELIVER, /* the head of a queue pair's chains */
	SIM_ACK,     /* chains of a queue pair have completed */
	SIM_POLL,    /* a service looks at its completions */
	SIM_BEGIN,   /* an end of a connection says hello */
	SIM_STEP,    /* a program does something */
	SIM_WORK,    /* the near half has seen it */
	SIM_ARRIVE,  /* bytes of a TCP stream */
	SIM_RESET,   /* a TCP connection breaks */
	SIM_RESTART, /* a service dies, and another one comes */
};

struct sim_host {
	int index;
	struct rc_service *service;
	struct in6_addr address;
	bool has_v1, has_v2, has_eid;
	bool poll_due;
	unsigned lives;
};

enum sim_style {
	SIM_SHUTS,  /* writes all, shuts down, reads to the end, closes */
	SIM_CLOSES, /* closes when all is written and read */
	SIM_RUDE,   /* closes at any time, with bytes unread */
};

struct sim_tcp;

/* One end of a connection, with its program. */
struct sim_end {
	struct rc_conn conn;
	struct element element;
	struct sim_end *other;
	struct sim_host *host;
	struct sim_tcp *tcp;
	int index; /* its TCP side is the lowest bit */
	enum sim_style style;
	bool is_slow;
	uint32_t salt;
	uint64_t plan; /* bytes that it wants to write */
	uint64_t wrote, got;
	uint64_t close_ns; /* SIM_RUDE */
	bool began, has_outcome, over, freed;
	bool shut, closed; /* the program's end */
	bool closed_unread;
	int told; /* of it, to the wire half */
	enum rc_outcome outcome;
	enum rc_stream_end peer;
	bool gave_up;   /* its peer was late */
	bool disturbed; /* a fault may have met it */
	bool work_due;
};

struct sim_dir {
	uint8_t bytes[SIM_STREAM];
	size_t sent, arrived, taken;
	bool arriving;
};

struct sim_tcp {
	struct sim_dir dir[2]; /* by the side that writes */
	bool reset;
};

extern struct sim {
	uint64_t seed, random, now;
	uint64_t fail_at; /* the n-th call that can fail does; 0: none */
	uint64_t calls;
	bool verbose, failed, in_service;
	bool link_faults, any_fault;
	struct sim_host host[SIM_HOSTS];
	struct sim_end end[SIM_ENDS];
	struct sim_tcp tcp[SIM_ENDS / 2];
	unsigned ends;
	uint64_t bytes; /* that programs have read */
	uint64_t smc, fallbacks, broken, resets;
} sim;

/* ---- sim.c ---- */

uint64_t sim_random(uint64_t below);
static inline bool sim_chance(unsigned percent)
{
	return sim_random(100) < percent;
}
void sim_at(uint64_t delay_ns, enum sim_event what, void *of, uint64_t n);
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The oracle is not content: the seed and its trace are shown. */
_Noreturn void sim_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Is this the call that fails? */
bool sim_fails(const char *what);

/* ---- sim_verbs.c ---- */

void sim_verbs_begin(void);
void sim_verbs_deliver(void *qp);
void sim_verbs_ack(void *qp, uint64_t n);
bool sim_verbs_has_completions(const struct sim_host *h);
/* Does the peer reach this memory, or an RNIC of ours? */
bool sim_verbs_reaches(const void *at, size_t bytes);
/* All is given back. */
void sim_verbs_end(void);

/* ---- sim_near.c ---- */

void sim_near_make(unsigned pairs);
void sim_near_begin(struct sim_end *e);
void sim_near_step(struct sim_end *e);
void sim_near_work(struct sim_end *e);
void sim_near_check(const struct sim_end *e);
/* The service of its host died. */
void sim_near_drop(struct sim_end *e);
void sim_near_sweep(void);
bool sim_near_is_done(void);
void sim_near_end(void);

/* ---- sim_carrier.c ---- */

void sim_carrier_arrive(struct sim_tcp *t, uint64_t side);
void sim_carrier_reset(struct sim_tcp *t);

#endif
