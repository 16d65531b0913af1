/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stream_place: bytes between a ring and the buffers of a call. */
#include "smc_r/stream/stream_place.h"

void place_init(struct place *p, const struct iovec *v, size_t count)
{
	p->v = v;
	p->count = count;
	p->offset = 0;
}

/* Copies n bytes between a flat piece of the ring and the buffers. */
void place_scatter(struct place *p, uint8_t *ring, size_t n, bool out)
{
	while (n > 0 && p->count > 0) {
		size_t k = p->v->iov_len - p->offset;
		char *user = (char *)p->v->iov_base + p->offset;

		k = k < n ? k : n;
		/* An empty buffer may have no address. */
		if (k == 0)
			;
		else if (out)
			memcpy(user, ring, k);
		else
			memcpy(ring, user, k);
		ring += k;
		n -= k;
		place_pass(p, k);
	}
}

void place_copy_pieces(struct place *p, const struct ring *ring, size_t at,
		       size_t n, bool out)
{
	size_t first = ring->bytes - at;

	if (first > n)
		first = n;
	place_scatter(p, ring->at + at, first, out);
	if (n > first)
		place_scatter(p, ring->at, n - first, out);
}

void place_skip(struct place *p, size_t n)
{
	while (n > 0 && p->count > 0) {
		size_t k = p->v->iov_len - p->offset;

		k = k < n ? k : n;
		n -= k;
		place_pass(p, k);
	}
}

bool place_holds_pieces(const struct place *p, size_t n, bool write)
{
	struct place at = *p;

	while (n > 0 && at.count > 0) {
		size_t k = at.v->iov_len - at.offset;

		k = k < n ? k : n;
		if (!pages_hold((char *)at.v->iov_base + at.offset, k, write))
			return false;
		n -= k;
		place_pass(&at, k);
	}
	return true;
}
