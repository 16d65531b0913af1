/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ldpreload_fuzz: any bytes as /etc/ld.so.preload, in which our line is put and
 * from which it is taken. Lines of others stay as they are, in their order.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/ldpreload.h"

#define LINE "/usr/$LIB/libsmc_r.so"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct ldpreload_content compose(const void *bytes, size_t length,
					bool wanted)
{
	const struct ldpreload_edit edit = {.existed = true,
					    .bytes = (char *)(uintptr_t)bytes,
					    .length = length};
	struct ldpreload_content out = {0};

	must(ldpreload_compose(&edit, LINE, wanted, &out) == 0);
	return out;
}

/* What is left of the old bytes are whole lines of it. */
static void check_lines(const char *old, size_t length,
			const struct ldpreload_content *c)
{
	const char *left = c->bytes, *end = c->bytes + c->length;

	while (length) {
		const char *newline = memchr(old, '\n', length);
		size_t n = newline ? (size_t)(newline - old) + 1 : length;

		if ((size_t)(end - left) >= n && memcmp(left, old, n) == 0)
			left += n;
		else
			must(memmem(old, n, "libsmc_r.so", 11) != NULL);
		old += n;
		length -= n;
	}
	must(left == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ldpreload_content with = compose(data, size, true);
	struct ldpreload_content without = compose(data, size, false);
	struct ldpreload_content again = compose(with.bytes, with.length, true);
	struct ldpreload_content back = compose(with.bytes, with.length, false);

	check_lines((const char *)data, size, &without);
	must(with.length == sizeof(LINE) + without.length &&
	     memcmp(with.bytes, LINE "\n", sizeof(LINE)) == 0 &&
	     memcmp(with.bytes + sizeof(LINE), without.bytes, without.length) ==
		 0);
	must(!again.is_changed && again.length == with.length &&
	     memcmp(again.bytes, with.bytes, with.length) == 0);
	must(back.is_changed && back.length == without.length &&
	     memcmp(back.bytes, without.bytes, without.length) == 0);
	must(without.is_changed || without.length == size);
	free(with.bytes);
	free(without.bytes);
	free(again.bytes);
	free(back.bytes);
	return 0;
}
