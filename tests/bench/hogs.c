/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hogs: busy loops on the cores given, for the time given.
 *
 * They end with their parent, and by themselves when the time is over.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/measure.h"

static _Noreturn void burn(int cpu, unsigned seconds)
{
	volatile unsigned long turns = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	measure_pin(cpu);
	alarm(seconds);
	for (;;)
		turns++;
}

int main(int argc, char **argv)
{
	unsigned seconds;
	int loops;
	int i;
	int k;

	if (argc < 4) {
		fprintf(stderr, "hogs: hogs SECONDS LOOPS_PER_CORE CORE ...\n");
		return 2;
	}
	seconds = (unsigned)strtoul(argv[1], NULL, 10);
	loops = (int)strtol(argv[2], NULL, 10);
	if (seconds < 1 || seconds > 600 || loops < 0 || loops > 16) {
		fprintf(stderr, "hogs: 1..600 seconds, 0..16 loops a core\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 3; i < argc; i++)
		for (k = 0; k < loops; k++)
			if (!fork())
				burn((int)strtol(argv[i], NULL, 10), seconds);
	puts("ready");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
