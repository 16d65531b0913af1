/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_report: what became of the connections of one run, in one line.
 *
 * Ownership: none.
 * Locking:   none.
 */
#ifndef CMD_RUN_REPORT_H
#define CMD_RUN_REPORT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Prints one line on `out` about the segments that wait for this reporter,
 * then merges those of ended processes into the totals. program is argv[0] of
 * the run. cures adds a line for each reason: what to change.
 */
void run_report(FILE *out, pid_t reporter, const char *program, bool cures);

#endif
