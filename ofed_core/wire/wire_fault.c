/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_fault: an aid for tests: a wire that loses, doubles and delays packets.
 */
#include "ofed_core/wire/wire_fault.h"

#include <string.h>

#include "ofed_core/base/params.h"

#define LATER_MAX 8

void faults_init(struct faults *f)
{
	f->random = (uint32_t)param(PARAMETER_WIRE_LOSS_SEED) * 2654435761u | 1;
	f->later = 0;
}

/* xorshift32: the same faults for the same seed and traffic. */
static uint32_t number(struct faults *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 17;
	f->random ^= f->random << 5;
	return f->random;
}

enum wire_fault faults_choose(struct faults *f)
{
	long lost = param(PARAMETER_WIRE_LOSS);
	long doubled = param(PARAMETER_WIRE_DUPLICATE);
	long delayed = param(PARAMETER_WIRE_REORDER);
	long n;

	if (!lost && !doubled && !delayed)
		return FAULT_NONE;
	n = (long)(number(f) % 1000);
	if (n < lost)
		return FAULT_LOST;
	if (n < lost + doubled)
		return FAULT_DOUBLED;
	return n < lost + doubled + delayed ? FAULT_DELAYED : FAULT_NONE;
}

bool faults_hold(struct faults *f, const struct address *to,
		 const struct packet *p)
{
	if (f->later || p->payload_bytes > sizeof(f->payload))
		return false;
	f->later = 1 + number(f) % LATER_MAX;
	f->to = *to;
	f->held = *p;
	if (p->payload_bytes)
		memcpy(f->payload, p->payload, p->payload_bytes);
	f->held.payload = f->payload;
	return true;
}

bool faults_due(struct faults *f)
{
	return f->later && --f->later == 0;
}
