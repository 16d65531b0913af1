/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_edge: what an edge-triggered registration has been told.
 *
 * Locking: none; what is told is taken by compare-and-swap.
 *
 * An edge wakes as the kernel's does: bytes wake those that ask for input, room
 * wakes those that ask for room, an end wakes everybody. Then all that is there
 * is reported.
 *
 * A full ring and a half that is shut: a program that drops its peer when it
 * sees EPOLLRDHUP would do so before all was sent, where TCP would have taken
 * the bytes long before. So a program that was refused room is told of room
 * first, and of the end of the half with the next look.
 */
#ifndef SMC_R_EPOLL_EDGE_H
#define SMC_R_EPOLL_EDGE_H

#include "smc_r/epoll/epoll_set.h"

/* Reported although nobody asks for them. */
#define EPOLL_ALWAYS (EPOLLERR | EPOLLHUP)

/* The keys of sock_def_readable() and of sk_stream_write_space(). */
#define EPOLL_INPUT  (EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLRDBAND)
#define EPOLL_OUTPUT (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

/* What wakes an edge-triggered registration, as sock_def_readable() and the
 * others of the kernel do: bytes that came wake those that ask for input, room
 * those that ask for room, and an end, the own one too, everybody. Once woken,
 * all that is asked for and there is reported. */
#define EPOLL_MARK_SHIFT 3

struct epoll_marks {
	uint64_t input; /* end bits below the cursor */
	uint32_t output;
};

struct epoll_marks epoll_marks(const struct epoll_member *m);
/* Do they tell of the halves that the program itself has shut by now? */
bool epoll_marks_stand(const struct epoll_member *m,
		       const struct epoll_marks *k);

/*
 * A program that asks whether the peer has shut its half (EPOLLRDHUP) may give
 * the connection up when it is told so, with what it could not send yet, as
 * nginx does. TCP would have taken some megabytes before. So a program whose
 * write was refused is told of room first, and of the end of the half with the
 * look after that. Returns the bits to report, with marks that fit.
 */
uint32_t epoll_half_waits(struct epoll_member *m, struct epoll_marks *now,
			  uint32_t bits);
/* Room was told to a registration that is not edge-triggered: notes it for
 * epoll_half_waits(). */
void epoll_told_room(struct epoll_member *m);

/* Would these bits be reported? Nothing is taken. */
bool epoll_has_edge(struct epoll_member *m, const struct epoll_marks *now,
		    uint32_t bits);

/* Would these bits be reported? If so, they count as told. The marks are from
 * before the bits: what comes in between is an edge of the next look. A wake
 * that finds nothing is over, too. */
bool epoll_takes_edge(struct epoll_member *m, const struct epoll_marks *now,
		      uint32_t bits);

#endif
