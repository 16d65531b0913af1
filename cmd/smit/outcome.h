/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * outcome: the screen COMMAND STATUS: runs a command and shows what it printed.
 *
 * Locking: none.
 */
#ifndef CMD_SMIT_OUTCOME_H
#define CMD_SMIT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

enum outcome {
	OUTCOME_DONE,
	OUTCOME_FAILED,
	OUTCOME_NOT_RUN
};

/*
 * Logs the command, runs it if it is to be run, and shows the result until the
 * reader leaves the screen. errors gets the beginning of what the command
 * printed as errors.
 */
enum outcome outcome_show(const char *command, bool is_run, char *errors,
			  size_t size);

#endif
