/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_helpers: what the programs of this directory share: a connection over
 * loopback, bytes that tell their position, and an end when nothing moves any
 * more.
 *
 * A failed check says what failed and ends the process with 1.
 */
#ifndef TESTS_PRELOAD_SOCKET_HELPERS_H
#define TESTS_PRELOAD_SOCKET_HELPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define check(condition, what) check_at(condition, what, __FILE__, __LINE__)
void check_at(bool condition, const char *what, const char *file, int line);

/* A listener on 127.0.0.1; *port is its number. */
int helper_listen(int *port);
int helper_connect(int port);
/* Both ends of a connection in this process; neither was used. */
void helper_pair(int ends[2]);

/* Bytes of the stream "seed" from this position on. */
void bytes_fill(void *to, size_t size, uint32_t seed, uint64_t position);
/* Are these the bytes? The first that is not is in *wrong. */
bool bytes_match(const void *from, size_t size, uint32_t seed,
		 uint64_t position, size_t *wrong);

/* All of it, in as many calls as it takes; waits where it must. */
void send_all(int fd, const void *bytes, size_t size);
/* Until size bytes or the end of the stream: how many. */
size_t recv_all(int fd, void *bytes, size_t size);
/* What comes goes back, until the end of the stream. */
void echo_all(int fd);

/* A generator that is as good on every machine. */
uint32_t dice(uint64_t *state, uint32_t below);

/*
 * Ends the process, with the state of each thread on stderr, when nobody has
 * called progress() for so many seconds.
 */
void watchdog_start(int seconds);
void progress(void);

int64_t clock_ms(void);
void nap_us(long us);

#endif
