/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* barrier: see barrier.h. */
#include "smc_r/os/barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "smc_r/os/sys.h"

static long membarrier(int command)
{
	return SYS_CALL3(SYS_membarrier, command, 0, 0);
}

bool barrier_works(void)
{
#if defined(__x86_64__)
	static _Atomic int known; /* 0 not asked, 1 no, 2 yes */
	int answer = relaxed_load(&known);

	if (answer == 0) {
		long commands = membarrier(MEMBARRIER_CMD_QUERY);

		answer =
		    commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED)
			? 2
			: 1;
		atomic_store(&known, answer);
	}
	return answer == 2;
#else
	return false;
#endif
}

_Atomic pid_t barrier_registered;

bool barrier_register(void)
{
	if (barrier_reaches_us())
		return true;
	if (!barrier_works() ||
	    membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) < 0)
		return false;
	atomic_store(&barrier_registered, process.pid);
	return true;
}

bool barrier_all(void)
{
	return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
}

bool barrier_everybody(void)
{
	return membarrier(MEMBARRIER_CMD_GLOBAL) == 0;
}
