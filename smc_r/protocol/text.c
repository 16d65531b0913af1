/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* text: names of files, put together piece by piece. */
#include "smc_r/protocol/text.h"

#include <string.h>

char *text_put(char *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n + 1);
	return at + n;
}

char *text_put_number(char *at, uint64_t number)
{
	char digits[TEXT_NUMBER_BYTES];
	int n = 0;

	do {
		digits[n++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (n > 0)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}
