/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * unheard: how many clients of a port offered SMC and have said nothing since.
 *
 * Each of them takes memory that the client did not pay for. So a listener with
 * UNHEARD_MAX of them offers SMC to no new one for a while. One that is silent
 * for UNHEARD_MS counts no more: it costs nothing until it speaks, and nobody
 * can use up what others may have.
 *
 * Counts in slices of a quarter of that time; two ports may share a place.
 * Milliseconds of any clock that does not go back.
 */
#ifndef SMC_R_UNHEARD_H
#define SMC_R_UNHEARD_H

#include <stdint.h>

#define UNHEARD_MAX    1024u
#define UNHEARD_MS     1000u
#define UNHEARD_SLICES 4u
#define UNHEARD_PORTS  64u

struct unheard {
	struct {
		uint64_t slice[UNHEARD_SLICES];
		uint32_t count[UNHEARD_SLICES];
	} ports[UNHEARD_PORTS];
};

/* One was accepted. Returns how many there are, it included. */
uint32_t unheard_begin(struct unheard *u, uint16_t port, uint64_t now_ms);
/* The one that was accepted then has spoken. */
void unheard_end(struct unheard *u, uint16_t port, uint64_t begun_ms);

#endif
