/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * text: names of files, put together piece by piece, where stdio has no place.
 *
 * Each function writes at `at`, ends with a NUL byte, and returns where that
 * is. The caller has the room.
 */
#ifndef SMC_R_TEXT_H
#define SMC_R_TEXT_H

#include <stdint.h>

#define TEXT_NUMBER_BYTES 21 /* the longest number, with its NUL byte */

char *text_put(char *at, const char *text);
/* In decimal. */
char *text_put_number(char *at, uint64_t number);

#endif
