/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * printable: text of a stranger, so that a terminal can show it.
 *
 * Pure.
 */
#ifndef SMC_R_STATUS_PRINTABLE_H
#define SMC_R_STATUS_PRINTABLE_H

#include <stddef.h>

/*
 * Ends the text inside of size bytes. UTF-8 stays; bytes that are none, control
 * characters, and those that turn the direction of writing become '?'.
 */
void printable_make(char *text, size_t size);

/* How many characters the text has, after printable_make(). */
size_t printable_length(const char *text);

#endif
