/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_verdict: is a registration to be told of what there is? Pure.
 *
 * An edge wakes a registration as sock_def_readable() and the others of the
 * kernel do: bytes that came wake those that ask for input, room wakes those
 * that ask for room, and an end, the own one too, wakes everybody. Once woken,
 * all that is asked for and there is reported.
 *
 * A full ring and a half that is shut: a program that asks whether the peer has
 * shut its half (EPOLLRDHUP) may give the connection up when it is told so,
 * with what it could not send yet, as nginx does. TCP would have taken some
 * megabytes before. So a program whose write was refused is told of room first,
 * and of the end of the half with the look after that.
 */
#ifndef SMC_R_EPOLL_VERDICT_H
#define SMC_R_EPOLL_VERDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* These are reported although nobody asks for them. */
#define EPOLL_ALWAYS (EPOLLERR | EPOLLHUP)

/* The keys of sock_def_readable() and of sk_stream_write_space(). */
#define EPOLL_INPUT  (EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLRDBAND)
#define EPOLL_OUTPUT (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

/* view.input: the ends that there are, below the place that the stream has
 * come to. */
#define EPOLL_END_PEER    1u
#define EPOLL_END_IN      2u /* the program has shut it itself */
#define EPOLL_END_OUT     4u
#define EPOLL_ENDS        7u
#define EPOLL_PLACE_SHIFT 3

/* It was told of nothing. */
#define EPOLL_UNTOLD UINT64_MAX

/* What there is to tell of a connection, or what a registration was told of. */
struct epoll_view {
	uint64_t input;
	uint32_t output; /* refusals of the ring, and edges of TCP's room */
	uint32_t bits;   /* EPOLL* */
};

/* A new bit without a mark is an edge: the kernel's half of a demoted
 * connection sets it. */
static inline bool epoll_is_edge(uint32_t events, struct epoll_view seen,
				 struct epoll_view now)
{
	uint64_t moved = now.input ^ seen.input;
	uint32_t fresh = now.bits & ~seen.bits & ~(uint32_t)EPOLL_OUTPUT;

	return fresh || (moved & EPOLL_ENDS) ||
	       (moved && (events & EPOLL_INPUT)) ||
	       ((now.bits & EPOLL_OUTPUT) && now.output != seen.output);
}

/* Returns the bits to report. */
static inline uint32_t epoll_verdict(uint32_t events, struct epoll_view seen,
				     struct epoll_view now)
{
	bool tells = !(events & EPOLLET) || epoll_is_edge(events, seen, now);

	return tells ? now.bits : 0;
}

/* The end of the peer's half may wait for room, if there is none. */
static inline bool epoll_end_may_wait(uint32_t events, struct epoll_view seen,
				      struct epoll_view now)
{
	bool told = seen.input != EPOLL_UNTOLD && (seen.input & EPOLL_END_PEER);

	return (now.bits & EPOLLRDHUP) && (events & EPOLL_OUTPUT) &&
	       !(now.bits & EPOLL_ALWAYS) && !((events & EPOLLET) && told);
}

/* It does wait: what there is without it. bytes: some are there to be read. */
static inline struct epoll_view epoll_end_waits(struct epoll_view now,
						bool bytes)
{
	now.input &= ~(uint64_t)EPOLL_END_PEER;
	now.bits &= ~(uint32_t)EPOLLRDHUP;
	if (!bytes)
		now.bits &= ~(uint32_t)EPOLL_INPUT;
	return now;
}

#endif
