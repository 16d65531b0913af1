/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wait: a thread that has nothing to read, or no room to write.
 *
 * First a bounded spin that learns whether it pays, then sleep on the bell.
 * Beside a peer that was last seen on our own core a spin gives the core away,
 * and there is none where a third one would take it.
 */
#ifndef SMC_R_WAIT_H
#define SMC_R_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "connection.h"

/* What the reader finds when the ring gave nothing. */
enum input {
	INPUT_DATA,   /* bytes came meanwhile, or enough of them */
	INPUT_NONE,   /* wait */
	INPUT_END,    /* end of file */
	INPUT_KERNEL, /* this direction is the kernel's now */
	INPUT_ERROR,  /* the peer broke the rules */
};

/* From the cursors alone; for whoever is told of the peer's end otherwise. */
enum input input_look(struct connection *c, int fd, size_t need);
/* The same for a call that would wait: a writer that sleeps is woken, and the
 * kernel is asked now and then whether the peer still lives. */
enum input input_state(struct connection *c, int fd, size_t need);

/* True when the writer should look again: room, or no ring any more. */
bool output_is_ready(struct connection *c, int fd);

/* For a call that sends and may never have to wait: a reader that died leaves
 * room for many small writes, of which TCP would take no more than one. One
 * that slept does not hear the bell. */
#define SENDS_A_LOOK 64
void output_ask(struct connection *c, int fd);
static inline void output_watch(struct connection *c, int fd)
{
	if (__builtin_expect(!(++c->sends % SENDS_A_LOOK) || c->deaf, 0))
		output_ask(c, fd);
}

/* Has the kernel seen the peer's FIN, or a reset? Remembered once true. */
bool tcp_has_ended(struct connection *c, int fd);
/* Takes the socket's pending error (SO_ERROR) as TCP would have it. */
int tcp_error(struct connection *c, int fd);
/* The same for an error that was taken already. */
int tcp_error_of(struct connection *c, int error);

/* For a reader that found nothing, and may wait: true when that has changed
 * within a microsecond or two. Never sleeps. */
bool wait_briefly(struct connection *c);

/*
 * Waits until input_state is not INPUT_NONE / output_is_ready. timeout NULL:
 * for ever. 0: look again; -EINTR; -EAGAIN when the time is over. has_part: the
 * call has moved some bytes, so any handler ends it. Cancellation points.
 */
int wait_for_input(struct connection *c, int fd, size_t need,
		   const struct timespec *timeout, bool has_part);
int wait_for_output(struct connection *c, int fd,
		    const struct timespec *timeout, bool has_part);

/* The peer wants this end to go back to TCP: the caller must see to that. */
bool demotion_is_due(const struct connection *c);

#endif
