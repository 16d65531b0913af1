/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * output: the end of what a command prints, for those without 0514 numbers
 * (message.h has it for the others).
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

/* The exit status, or, when standard output could not be written, `failed`, and
 * it was said why. */
int output_end(const char *command, int status, int failed);

#endif
