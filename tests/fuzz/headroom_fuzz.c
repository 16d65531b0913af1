/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * headroom_fuzz: any text in place of /proc/self/cgroup and of the files of
 * control groups. Whatever the texts say, nothing but files below the root of
 * the groups is opened, and the room is never more than the largest limit.
 *
 * Input: texts that end with a NUL: the one in /proc, then those of the files,
 * which get them in turns.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/os/sys.h"

#define GROUPS "/proc/self/cgroup"
#define ROOT   "/sys/fs/cgroup"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *texts, *texts_end;
static const uint8_t *file_text; /* which the next file gets */

static void must(bool holds)
{
	if (!holds)
		abort();
}

static const uint8_t *behind(const uint8_t *text)
{
	const uint8_t *nul = memchr(text, '\0', (size_t)(texts_end - text));

	return nul ? nul + 1 : texts_end;
}

static const uint8_t *opened;

static long open_text(const char *path)
{
	if (strcmp(path, GROUPS) == 0) {
		opened = texts;
		return 0;
	}
	must(strncmp(path, ROOT "/", sizeof(ROOT)) == 0 &&
	     !strstr(path, "/../"));
	if (file_text == texts_end)
		return -ENOENT;
	opened = file_text;
	file_text = behind(file_text);
	if (file_text == texts_end)
		file_text = behind(texts);
	return 0;
}

static long read_text_of(char *out, size_t size)
{
	const uint8_t *nul = memchr(opened, '\0', (size_t)(texts_end - opened));
	size_t n = (size_t)((nul ? nul : texts_end) - opened);

	n = n < size ? n : size;
	memcpy(out, opened, n);
	return (long)n;
}

/* The file under test is taken in whole, so that its calls can be turned away
 * from the kernel. */
#undef SYS_CALL4
#undef SYS_CALL3
#define SYS_CALL4(n, a, path, c, d)    open_text(path)
#define SYS_CALL3(n, fd, buffer, size) read_text_of(buffer, size)
#define sys_close(fd)                  ((void)(fd))
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "smc_r/memory/headroom.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t room;

	texts = data;
	texts_end = data + size;
	file_text = behind(texts);
	room = headroom_in(GROUPS, ROOT);
	must(room == UINT64_MAX || room < NO_LIMIT);
	return 0;
}
