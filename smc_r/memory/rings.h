/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rings: the two rings of one direction, RMBE and overflow ring (rmb.h), and
 * where a byte lies. A bit of the shift says in which.
 *
 * Shifts and cursors may be the peer's: whatever they are, the places named
 * here lie in the rings.
 *
 * Locking: none of its own. What rings_view says stays true for as long as the
 * bytes are not consumed.
 */
#ifndef SMC_R_RINGS_H
#define SMC_R_RINGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "smc_r/memory/rmb.h"

#define RINGS_OVERFLOW                                                         \
	0x80000000u /* in a shift: the bytes lie in the overflow ring */
#define RINGS_SHIFT 0x7fffffffu /* the rest of it */

struct ring {
	uint8_t *at;
	uint32_t bytes; /* a power of two */
};

/* [0] the RMBE, [1] the overflow ring; without one both are the RMBE. */
struct rings {
	struct ring ring[2];
	uint32_t start; /* short bytes begin here in the RMBE */
};

/* Tells where `want` bytes begin that are put into an empty ring: short ones
 * beside the control block. */
static inline uint32_t rings_start(const struct rings *r, size_t want)
{
	return want <= RMB_SHORT ? r->start : 0;
}

static inline const struct ring *rings_of(const struct rings *r, uint32_t shift)
{
	return &r->ring[shift >> 31];
}

static inline bool rings_have_overflow(const struct rings *r)
{
	return r->ring[0].at != r->ring[1].at;
}

/* Tells where in its ring the byte at a cursor lies. */
static inline size_t ring_offset(const struct ring *r, uint64_t cursor,
				 uint32_t shift)
{
	return ((uint32_t)cursor - shift) & (r->bytes - 1);
}

static inline size_t ring_free(const struct ring *r, uint64_t used)
{
	return used < r->bytes ? (size_t)(r->bytes - used) : 0;
}

static inline uint8_t *rings_at(const struct rings *r, uint64_t cursor,
				uint32_t shift)
{
	const struct ring *one = rings_of(r, shift);

	return one->at + ring_offset(one, cursor, shift);
}

/* Returns the bytes from `position` up to `end`, or to where they go on in the
 * other ring. It must be asked after the load of the cursor that says so. */
struct view {
	uint64_t end;
	uint32_t shift;
};

static inline struct view rings_view(const struct rmb_producer *p,
				     uint64_t position, uint64_t end)
{
	struct view v = {end,
			 atomic_load_explicit(&p->shift, memory_order_acquire)};
	uint64_t switched =
	    atomic_load_explicit(&p->switched, memory_order_acquire);

	if (__builtin_expect(position < switched, 0)) {
		v.shift = relaxed_load(&p->before);
		if (end > switched)
			v.end = switched;
	}
	return v;
}

/* The bytes of `p` from `cursor` on that are not consumed, in one piece, and at
 * most n of them. */
static inline uint8_t *rings_piece(const struct rings *r,
				   const struct rmb_producer *p,
				   uint64_t cursor, size_t *n)
{
	struct view v = rings_view(p, cursor, cursor + *n);
	const struct ring *one = rings_of(r, v.shift);
	size_t at = ring_offset(one, cursor, v.shift);

	if (*n > v.end - cursor)
		*n = (size_t)(v.end - cursor);
	if (*n > one->bytes - at)
		*n = one->bytes - at;
	return one->at + at;
}

/* Copies all of n bytes, which are not consumed. */
static inline void rings_copy(uint8_t *to, const struct rings *r,
			      const struct rmb_producer *p, uint64_t cursor,
			      size_t n)
{
	while (n > 0) {
		size_t k = n;
		const uint8_t *from = rings_piece(r, p, cursor, &k);

		memcpy(to, from, k);
		to += k;
		cursor += k;
		n -= k;
	}
}

#endif
