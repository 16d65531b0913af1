/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * inject: naps at the places where a wake-up could be lost: between arming, the
 * second look and the sleep on one side, and between publishing, the exchange
 * and the ring on the other. Only the flavour "inject", which tests load, has
 * them; elsewhere this is nothing.
 */
#ifndef SMC_R_INJECT_H
#define SMC_R_INJECT_H

#ifdef SMC_R_INJECT
#include "sys.h"

/* Now and then; mostly short, so that the other side just gets in between. */
static inline void inject_nap(void)
{
	uint64_t dice = sys_now_ns() * 0x9e3779b97f4a7c15u >> 32;
	struct timespec nap = {0, (long)(dice >> 8 & 0xff) * 1000};

	if (dice & 7)
		return;
	if (dice & 0x38)
		SYS_CALL3(SYS_sched_yield, 0, 0, 0);
	else
		SYS_CALL4(SYS_nanosleep, &nap, NULL, 0, 0);
}
#else
static inline void inject_nap(void)
{
}
#endif

#endif
