/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream_place: bytes between a ring and the buffers of a call, for stream.c,
 * stream_put.c and stream_room.c alone. What nearly every call does is in line.
 *
 * Locking: as stream_steps.h.
 */
#ifndef SMC_R_STREAM_PLACE_H
#define SMC_R_STREAM_PLACE_H

#include "smc_r/os/pages.h"
#include "smc_r/stream/stream_steps.h"

/* Any number of buffers, and of pieces. */
void place_scatter(struct place *p, uint8_t *ring, size_t n, bool out);
void place_copy_pieces(struct place *p, const struct ring *ring, size_t at,
		       size_t n, bool out);
void place_skip(struct place *p, size_t n);
bool place_holds_pieces(const struct place *p, size_t n, bool write);

static inline void place_pass(struct place *p, size_t n)
{
	p->offset += n;
	if (p->offset == p->v->iov_len) {
		p->v++;
		p->count--;
		p->offset = 0;
	}
}

/* out: to the buffers. Nearly always one buffer takes it all, and the ring does
 * not end there. */
static inline void place_copy(struct place *p, const struct ring *ring,
			      size_t at, size_t n, bool out)
{
	char *user;

	if (p->count == 0 || p->v->iov_len - p->offset < n ||
	    ring->bytes - at < n) {
		place_copy_pieces(p, ring, at, n, out);
		return;
	}
	user = (char *)p->v->iov_base + p->offset;
	if (out)
		copy(user, ring->at + at, n);
	else
		copy(ring->at + at, user, n);
	place_pass(p, n);
}

/* Is there memory behind the next n bytes of the buffers? */
static inline bool place_holds(const struct place *p, size_t n, bool write)
{
	return (p->count > 0 && p->v->iov_len - p->offset >= n &&
		pages_know((char *)p->v->iov_base + p->offset, n, write)) ||
	       place_holds_pieces(p, n, write);
}

#endif
