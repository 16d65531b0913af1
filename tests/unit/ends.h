/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ends: both ends of one connection, put together by hand in one process. No
 * socket, no handshake; rings of any power of two, with pages on both sides
 * that nobody may touch.
 *
 * What one end keeps private is apart from the other's, as in two processes.
 *
 * Ownership: never given back; the test's process ends.
 * Locking:   as stream.h says.
 */
#ifndef TESTS_UNIT_ENDS_H
#define TESTS_UNIT_ENDS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/os/process.h"
#include "smc_r/stream/stream.h"
#include "tests/unit/children.h"

#define ENDS_PAGE     4096u
#define ENDS_OVERFLOW 4u /* times the ring's size: ends_build */

struct ends {
	struct connection c[2]; /* [SIDE_SERVER] and [SIDE_CLIENT] */
	struct status_slot slot[2];
	struct rmb_element element;
	struct rmb_waiters waiters[2];
	struct rmb rmb; /* of no link group */
	_Atomic uint64_t ready[2];
	uint8_t *ring[2]; /* [side that writes] */
	uint8_t *overflow[2];
	uint32_t size;
};

/* Where the ring lies between its guards matters when it is no whole page. */
enum ends_place {
	ENDS_HIGH, /* its end is the guard's beginning */
	ENDS_LOW,  /* its beginning is the guard's end */
};

static inline uint8_t *ends_guarded(uint32_t size, enum ends_place place)
{
	size_t inner = (size + ENDS_PAGE - 1) & ~(size_t)(ENDS_PAGE - 1);
	uint8_t *base =
	    mmap(NULL, inner + 2 * ENDS_PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq((void *)base, MAP_FAILED);
	cr_assert_eq(mprotect(base, ENDS_PAGE, PROT_NONE), 0);
	cr_assert_eq(mprotect(base + ENDS_PAGE + inner, ENDS_PAGE, PROT_NONE),
		     0);
	return base + ENDS_PAGE + (place == ENDS_HIGH ? inner - size : 0);
}

static inline struct rings ends_rings(const struct ends *e, int writer)
{
	struct ring own = {e->ring[writer], e->size};
	struct ring overflow = {e->overflow[writer], ENDS_OVERFLOW * e->size};

	return (struct rings){{own, overflow.at ? overflow : own}, 0};
}

static inline void ends_attach(struct ends *e, int side)
{
	struct connection *c = &e->c[side];

	c->entry.kind = FDENTRY_SOCKET;
	c->slot = &e->slot[side];
	c->rmb = &e->rmb;
	connection_point(c, &e->element, side);
	c->size = e->size;
	c->out_memory.bytes = UINT32_MAX;
	c->own_waiters = &e->waiters[side];
	c->peer_waiters = &e->waiters[!side];
	c->peer_ready = &e->ready[!side];
	c->out = ends_rings(e, side);
	c->in = ends_rings(e, !side);
	c->bells = BELLS_NONE;
	atomic_store(&c->slot->phase, PHASE_ACTIVE);
}

static inline struct ends *ends_make(uint32_t size, enum ends_place place)
{
	struct ends *e = children_share(sizeof(*e));

	process_init();
	e->size = size;
	e->ring[0] = ends_guarded(size, place);
	e->ring[1] = ends_guarded(size, place);
	ends_attach(e, 0);
	ends_attach(e, 1);
	return e;
}

/* Each direction gets an overflow ring. */
static inline void ends_build(struct ends *e, enum ends_place place)
{
	for (int side = 0; side < 2; side++)
		e->overflow[side] =
		    ends_guarded(ENDS_OVERFLOW * e->size, place);
	for (int side = 0; side < 2; side++) {
		e->c[side].out = ends_rings(e, side);
		e->c[side].in = ends_rings(e, !side);
		e->c[side].size = (1 + ENDS_OVERFLOW) * e->size;
	}
}

/* As if `position` bytes had gone from `writer` to the other side already. */
static inline void ends_move(struct ends *e, int writer, uint64_t position)
{
	atomic_store(&e->slot[writer].tx.position, position);
	e->slot[writer].tx.peer_position = position;
	atomic_store(&e->slot[!writer].rx.position, position);
	e->slot[!writer].rx.peer_position = position;
	atomic_store(&e->slot[writer].tx.window, (uint32_t)position);
	atomic_store(&e->slot[!writer].rx.window, (uint32_t)position);
	atomic_store(&e->element.side[writer].producer.cursor, position);
	atomic_store(&e->element.side[!writer].consumer.cursor, position);
}

static inline ssize_t ends_put(struct ends *e, int side, const void *from,
			       size_t n)
{
	struct iovec v = {(void *)(uintptr_t)from, n};
	struct place p;

	place_init(&p, &v, 1);
	return stream_put(&e->c[side], &p, n);
}

static inline ssize_t ends_take(struct ends *e, int side, void *to, size_t n)
{
	struct iovec v = {to, n};
	struct place p;

	place_init(&p, &v, 1);
	return stream_take(&e->c[side], &p, n, 0, 0);
}

static inline ssize_t ends_peek(struct ends *e, int side, void *to, size_t n,
				size_t skip)
{
	struct iovec v = {to, n};
	struct place p;

	place_init(&p, &v, 1);
	return stream_take(&e->c[side], &p, n, skip, TAKE_PEEK);
}

/* The sockets of both ends; that of SIDE_SERVER was accepted. */
static inline void ends_connect(int fd[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(bind(listener, (struct sockaddr *)&a, n), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
	fd[SIDE_CLIENT] = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd[SIDE_CLIENT], (struct sockaddr *)&a, n), 0);
	fd[SIDE_SERVER] = accept(listener, NULL, NULL);
	cr_assert_geq(fd[SIDE_SERVER], 0);
	close(listener);
}

/* Byte number i of a stream that repeats itself nowhere near. */
static inline uint8_t ends_byte(uint64_t i)
{
	return (uint8_t)((i * 2654435761u) >> 13 ^ i >> 5);
}

static inline void ends_fill(uint8_t *out, uint64_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = ends_byte(from + i);
}

static inline bool ends_right(const uint8_t *bytes, uint64_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != ends_byte(from + i))
			return false;
	return true;
}

#endif
