/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * restart: a sleep that we limit and the program did not.
 *
 * A signal ends a blocking call with EINTR, unless its handler was installed
 * with SA_RESTART; then the kernel goes on with the call. It does so only where
 * the sleep has no limit. So signals wait while we sleep, some milliseconds at
 * most, and what each of them would have done is asked for. Where there are
 * more threads that cannot be: see the .c file.
 */
#ifndef SMC_R_RESTART_H
#define SMC_R_RESTART_H

#include <stdbool.h>

/* As bell_wait() with a limit; but -EINTR only after a handler that ends calls:
 * any, and a stop of the process, if the call has something to return already.
 * A cancellation point. */
int restart_wait(int bell, int ms, bool has_part);

/* A handler has run: does it end the call? Which one it was is not known, so
 * any that would counts. */
bool restart_ends_call(bool has_part);

#endif
