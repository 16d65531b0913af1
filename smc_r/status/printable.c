/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* printable: text of a stranger, so that a terminal can show it. */
#include "smc_r/status/printable.h"

#include <stdbool.h>
#include <stdint.h>

/* A character and its bytes; 0 bytes if these are no UTF-8. */
static size_t decode(const unsigned char *text, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80             ? 1
			: (text[0] & 0xe0) == 0xc0 ? 2
			: (text[0] & 0xf0) == 0xe0 ? 3
			: (text[0] & 0xf8) == 0xf0 ? 4
						   : 0;
	uint32_t c = length == 1 ? text[0] : text[0] & (0xffU >> (length + 1));

	/* The final NUL ends a character that was cut. */
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	*out = c;
	return length && c >= least[length] && c <= 0x10ffff &&
		       (c < 0xd800 || c > 0xdfff)
		   ? length
		   : 0;
}

static bool is_shown(uint32_t c)
{
	return c >= ' ' && (c < 0x7f || c >= 0xa0) && c != 0xad && c != 0x61c &&
	       (c < 0x200b || c > 0x200f) && (c < 0x2028 || c > 0x202e) &&
	       (c < 0x2060 || c > 0x206f) && c != 0xfeff && c < 0xe0000;
}

void printable_make(char *text, size_t size)
{
	uint32_t c;

	text[size - 1] = '\0';
	while (*text) {
		size_t length = decode((const unsigned char *)text, &c);
		bool stays = length && is_shown(c);

		for (length = length ? length : 1; length; length--, text++)
			if (!stays)
				*text = '?';
	}
}

size_t printable_length(const char *text)
{
	size_t length = 0;

	for (; *text; text++)
		length += ((unsigned char)*text & 0xc0) != 0x80;
	return length;
}
