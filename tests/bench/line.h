/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * line: a stream between the two ends of a trial, and how an end waits on it.
 *
 * Sockets are used as any program uses them: recv and send by programs that
 * block, read and write by programs that poll.
 *
 * Ownership: a line owns its descriptors.
 * Locking:   one thread.
 */
#ifndef TESTS_BENCH_LINE_H
#define TESTS_BENCH_LINE_H

#include "tests/bench/trial.h"

struct line {
	int fd;
	int epoll_fd;
	enum waiting waiting;
	bool is_ring;
	bool ended; /* the end of the stream was seen */
	struct ring_end in;
	struct ring_end out;
};

/* Sockets alone. They exit with a message on failure, but line_connect_fd
 * tries for two seconds as long as nobody listens. */
int line_listen_fd(const struct trial *t);
void line_listen_end(const struct trial *t, int listener);
int line_accept_fd(const struct trial *t, int listener);
int line_connect_fd(const struct trial *t);

/* A whole line, prepared for the trial's way of waiting. */
void line_accept(struct line *l, struct trial *t);
void line_connect(struct line *l, struct trial *t);
void line_close(struct line *l);

/* Sends all of it. */
void line_send(struct line *l, const void *bytes, size_t len);

/* Receives all of it. False: the stream ended before the last byte. */
bool line_receive(struct line *l, void *bytes, size_t len);

/* Receives what there is: 1 .. len bytes, 0 at the end of the stream. */
size_t line_receive_some(struct line *l, void *bytes, size_t len);

#endif
