/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * trial: one measurement between two processes; its options and its ends.
 *
 * A bench program is an ordinary socket program. It forks into a server and
 * a client before the first socket call, so each end is a process of its
 * own; with -r each end can be started by itself instead.
 *
 * Ownership: a trial owns the memory that both processes share.
 * Locking:   the server writes shared->server, the client shared->client;
 *            each reads the other's after the other has ended.
 */
#ifndef TESTS_BENCH_TRIAL_H
#define TESTS_BENCH_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/bench/measure.h"
#include "tests/bench/ring.h"

enum transport {
	TRANSPORT_TCP,
	TRANSPORT_UNIX,
	TRANSPORT_RING,
};

enum waiting {
	WAIT_BLOCK,
	WAIT_EPOLL,
	WAIT_EPOLL_EDGE,
	WAIT_POLL,
	WAIT_BUSY, /* reads again and again, never sleeps */
};

enum role {
	ROLE_BOTH,
	ROLE_SERVER,
	ROLE_CLIENT,
};

/* What accepts, in the program that has several kinds of servers. */
enum shape {
	SHAPE_ONE,      /* serves one connection after the other */
	SHAPE_THREADS,  /* a thread for each */
	SHAPE_CHILDREN, /* a process for each */
	SHAPE_SHARE,    /* several processes with one listener */
	SHAPE_REUSE,    /* several, each with its own (SO_REUSEPORT) */
};

/* What one end found; only the fields that fit the program are set. */
struct finding {
	struct usage usage;
	uint64_t bytes;
	uint64_t calls;
	uint64_t time_ns; /* that bytes or calls took */
	uint64_t wakeups; /* context switches while idle, all threads */
	uint64_t memory_bytes;
};

struct shared {
	struct finding server;
	struct finding client;
};

struct trial {
	enum transport transport;
	enum waiting waiting;
	enum role role;
	enum shape shape;
	enum ring_waiting ring_waiting;
	const char *address; /* IPv4 or IPv6, as text */
	const char *path;    /* of an AF_UNIX socket */
	unsigned port;
	int client_cpu; /* -1: not bound */
	int server_cpu; /* -1: not bound */
	double seconds;
	size_t size;      /* bytes of a message or of one write */
	size_t read_size; /* bytes of one read, where that is apart */
	size_t piece;     /* bytes, bare ring only; 0: the whole write */
	size_t ring_size; /* bytes, a power of two */
	bool no_delay;    /* TCP_NODELAY at both ends */
	unsigned gap_us;  /* sleep after each write */
	unsigned busy;    /* connections with traffic */
	unsigned idle;    /* connections without */
	unsigned turn_ms; /* one for each line of standard input; 0: none */
	struct shared *shared;
	struct ring *to_server; /* bare ring only */
	struct ring *to_client;
	int ready_fd; /* server tells here that it listens; -1: nobody asks */
};

/*
 * Fills in defaults, then the options of the command line. `allowed` holds
 * the letters that the program takes; `what` is its one-line description.
 * Exits with a usage message on -h and on anything it does not know.
 */
void trial_options(struct trial *t, int argc, char **argv, const char *allowed,
		   const char *what);

/*
 * Runs the ends that the role asks for, each bound to its core. Returns when
 * they have ended; exits when one of them failed or hung.
 */
void trial_run(struct trial *t, void (*server)(struct trial *),
	       void (*client)(struct trial *));

/* The server calls this when a client may connect. */
void trial_ready(struct trial *t);

/* Processor time of both ends, in ns for each call of the client. */
double trial_cpu_ns(const struct shared *s);

/* Nanoseconds the trial shall run. */
uint64_t trial_length_ns(const struct trial *t);

#endif
