/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * doze: whether to let packets come before looking again.
 */
#include "ofed_core/pure/doze.h"

/* In ns. */
#define DOZE  80000
#define AWAKE 50000000

/* One in sixteen is chance where messages of 64 KiB follow each other. */
#define VAIN_MAX 4

uint64_t doze_ns(struct doze *d, bool ends_message, uint64_t now)
{
	if (d->has_dozed)
		d->vain = ends_message ? d->vain + 1 : 0;
	d->has_dozed = false;
	if (d->vain >= VAIN_MAX) {
		d->vain = 0;
		d->awake_until = now + AWAKE;
	}
	if (ends_message || now < d->awake_until)
		return 0;
	d->has_dozed = true;
	return DOZE;
}
