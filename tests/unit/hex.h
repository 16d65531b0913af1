/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hex: messages written as hexadecimal text, for tests.
 */
#ifndef TESTS_UNIT_HEX_H
#define TESTS_UNIT_HEX_H

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Blanks do not count. Returns the number of bytes; stops at room. */
static inline size_t hex_decode(const char *text, uint8_t *out, size_t room)
{
	static const char digits[] = "0123456789abcdef";
	size_t nibbles = 0;

	for (; *text && nibbles / 2 < room; text++) {
		const char *digit = strchr(digits, *text);

		if (!digit)
			continue;
		if (nibbles % 2 == 0)
			out[nibbles / 2] = (uint8_t)((digit - digits) << 4);
		else
			out[nibbles / 2] |= (uint8_t)(digit - digits);
		nibbles++;
	}
	return nibbles / 2;
}

/* Takes digits only: the test fails when they do not fit. */
static inline size_t hex_bytes(const char *text, uint8_t *out, size_t room)
{
	cr_assert_leq(strlen(text) / 2, room);
	cr_assert_eq(strspn(text, "0123456789abcdef"), strlen(text));
	return hex_decode(text, out, room);
}

#endif
