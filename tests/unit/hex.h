/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hex: bytes of a captured message, written in a test as hexadecimal digits.
 */
#ifndef TESTS_UNIT_HEX_H
#define TESTS_UNIT_HEX_H

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline size_t hex_bytes(const char *hex, uint8_t *out, size_t room)
{
	size_t n = strlen(hex) / 2;

	cr_assert_leq(n, room);
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		cr_assert_eq(sscanf(hex + 2 * i, "%2x", &v), 1);
		out[i] = (uint8_t)v;
	}
	return n;
}

#endif
