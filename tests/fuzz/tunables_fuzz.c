/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tunables_fuzz: any text as a file of the no command. A change is read back,
 * changes nothing when it is made again, and leaves every other line as it is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/tunables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* One line was changed or added, before it perhaps the head of a stanza and
 * the end of a line that had none. */
static void compare(const char *old, const char *new)
{
	size_t a = strlen(old), b = strlen(new), begin = 0, end = 0;

	while (begin < a && begin < b && old[begin] == new[begin])
		begin++;
	while (end < a - begin && end < b - begin &&
	       old[a - 1 - end] == new[b - 1 - end])
		end++;
	must(!memchr(old + begin, '\n', a - begin - end) ||
	     old[a - end - 1] == '\n');
	if (a > begin + end)
		must(!memchr(old + begin, '\n', a - begin - end - 1));
}

static void change(const char *text, const struct tunable *t, long value)
{
	char *once = tunables_edit(text, t, value);
	char *twice = once ? tunables_edit(once, t, value) : NULL;
	unsigned line = 0;
	long read = -1;

	must(once && twice && strcmp(once, twice) == 0);
	must(tunables_decode(once, t, &read, &line) == 0 && read == value &&
	     line > 0);
	compare(text, once);
	free(once);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tunable *t = &tunables[0];
	char *text = malloc(size + 1);
	long value = -1;
	unsigned line;
	int result;

	must(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	result = tunables_decode(text, t, &value, &line);
	if (result == 0)
		must(value >= t->min && value <= t->max);
	else
		must(result == -EINVAL && value == -1 && line > 0);
	change(text, t, t->min);
	change(text, t, t->max);
	free(text);
	return 0;
}
