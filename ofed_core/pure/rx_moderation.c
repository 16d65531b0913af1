/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rx_moderation: whether to let packets come before looking again.
 */
#include "ofed_core/pure/rx_moderation.h"

/* In ns. */
#define WAIT_NS   80000
#define PROMPT_NS 50000000

/* One in sixteen is chance where messages of 64 KiB follow each other. */
#define VAIN_MAX 4

uint64_t rx_moderation_ns(struct rx_moderation *m, bool ends_message,
			  uint64_t now)
{
	if (m->has_waited)
		m->vain = ends_message ? m->vain + 1 : 0;
	m->has_waited = false;
	if (m->vain >= VAIN_MAX) {
		m->vain = 0;
		m->prompt_until = now + PROMPT_NS;
	}
	if (ends_message || now < m->prompt_until)
		return 0;
	m->has_waited = true;
	return WAIT_NS;
}
