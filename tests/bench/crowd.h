/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * crowd: many connections in one process, on one level-triggered epoll.
 *
 * Ownership: a crowd owns its descriptors.
 * Locking:   one thread.
 */
#ifndef TESTS_BENCH_CROWD_H
#define TESTS_BENCH_CROWD_H

#include "tests/bench/trial.h"

struct crowd {
	int epoll_fd;
	unsigned count;
	int *fd;
};

/* The server's side: accepts `count` connections. */
void crowd_accept(struct crowd *c, struct trial *t, unsigned count);

/* The client's side: makes `count` connections, one after the other. */
void crowd_connect(struct crowd *c, const struct trial *t, unsigned count);

/*
 * Answers each message of t->size bytes with itself until every connection
 * is closed, or until `most` messages are answered (0: no such limit).
 * Returns the number of messages.
 */
uint64_t crowd_echo(struct crowd *c, const struct trial *t, uint64_t most);

/*
 * Keeps one message under way on each of the first `busy` connections for
 * `length` ns; sets *took_ns and returns the number of answers in that time.
 * Length 0: one message on each.
 */
uint64_t crowd_ask(struct crowd *c, const struct trial *t, unsigned busy,
		   uint64_t length, uint64_t *took_ns);

void crowd_close(struct crowd *c);

#endif
