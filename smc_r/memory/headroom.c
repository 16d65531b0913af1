/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* headroom: how much more memory the control groups of this process allow. */
#include "smc_r/memory/headroom.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define PATH_BYTES   1024
#define TEXT_BYTES   4096
#define NO_LIMIT     (1ull << 62) /* version 1 says a number that large */
/* A group that has no limit has none for so long: to find that out takes a
 * third of the time in which an RMB is made. */
#define UNLIMITED_NS 1000000000u

/*
 * What stays the program's, and the kernel's for its sockets: half of a small
 * limit, and a sixteenth of a large one. A group that is full does not fail at
 * once: the kernel looks for pages to take, at each page that anybody needs.
 */
#define SPARE_SMALL 2u
#define SPARE_LARGE 16u
#define SPARE_BYTES (128ull << 20) /* between the two */

struct version {
	const char *directory; /* below the root */
	const char *limit;
	const char *usage;
	const char *cache[2]; /* lines of memory.stat */
};

static const struct version two = {
    "", "/memory.max", "/memory.current", {"inactive_file ", "active_file "}};
static const struct version one = {
    "/memory",
    "/memory.limit_in_bytes",
    "/memory.usage_in_bytes",
    {"total_inactive_file ", "total_active_file "}};

static bool append(char *path, const char *more)
{
	size_t have = strlen(path);
	size_t n = strlen(more);

	if (have + n >= PATH_BYTES)
		return false;
	memcpy(path + have, more, n + 1);
	return true;
}

static bool read_text(const char *path, char text[TEXT_BYTES])
{
	long fd =
	    SYS_CALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return false;
	n = SYS_CALL3(SYS_read, fd, text, TEXT_BYTES - 1);
	sys_close((int)fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* A file of the group at path; path is as it was after that. */
static bool read_file(char *path, const char *name, char text[TEXT_BYTES])
{
	size_t end = strlen(path);
	bool done = append(path, name) && read_text(path, text);

	path[end] = '\0';
	return done;
}

/* The number behind a word at the beginning of a line, 0 without it. */
static uint64_t number_after(const char *text, const char *word)
{
	const char *at = text;

	while ((at = strstr(at, word)) != NULL) {
		if (at == text || at[-1] == '\n')
			return strtoull(at + strlen(word), NULL, 10);
		at++;
	}
	return 0;
}

static uint64_t spare_of(uint64_t limit)
{
	uint64_t small = limit / SPARE_SMALL, large = limit / SPARE_LARGE;

	if (small < SPARE_BYTES)
		return small;
	return large > SPARE_BYTES ? large : SPARE_BYTES;
}

static uint64_t room_of_group(char *path, const struct version *v)
{
	/* Stacks of threads may be small. */
	static _Alignas(64) char text[TEXT_BYTES];
	uint64_t limit, used, cache;

	if (!read_file(path, v->limit, text) || *text < '0' || *text > '9')
		return UINT64_MAX;
	limit = strtoull(text, NULL, 10);
	if (limit >= NO_LIMIT || !read_file(path, v->usage, text))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10) + spare_of(limit);
	if (read_file(path, "/memory.stat", text)) {
		cache = number_after(text, v->cache[0]) +
			number_after(text, v->cache[1]);
		used = used > cache ? used - cache : 0;
	}
	return used < limit ? limit - used : 0;
}

/* The group and those that it is in. */
static uint64_t room_of_tree(const char *root, const char *group,
			     const struct version *v)
{
	char path[PATH_BYTES] = "";
	uint64_t least = UINT64_MAX;
	size_t top;

	if (!append(path, root) || !append(path, v->directory))
		return UINT64_MAX;
	top = strlen(path);
	/* Outside of what this namespace shows there is nothing to read. */
	if (*group == '/' && !strstr(group, "/..") && !append(path, group))
		return UINT64_MAX;
	for (;;) {
		uint64_t room = room_of_group(path, v);
		char *slash = strrchr(path + top, '/');

		least = room < least ? room : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Is "memory" among the controllers, which a colon ends? */
static bool has_memory(const char *controllers, const char *end)
{
	size_t n = sizeof("memory") - 1;

	for (const char *at = controllers; at + n <= end; at++)
		if (memcmp(at, "memory", n) == 0 &&
		    (at == controllers || at[-1] == ',') &&
		    (at + n == end || at[n] == ','))
			return true;
	return false;
}

/* number:controllers:group; version 2 has none of them. */
static uint64_t room_of_line(char *line, const char *root)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group)
		return UINT64_MAX;
	if (group == controllers + 1)
		return room_of_tree(root, group + 1, &two);
	if (has_memory(controllers + 1, group))
		return room_of_tree(root, group + 1, &one);
	return UINT64_MAX;
}

uint64_t headroom_in(const char *groups, const char *root)
{
	static _Alignas(64) char text[TEXT_BYTES];
	uint64_t least = UINT64_MAX;
	char *next;

	if (!read_text(groups, text))
		return UINT64_MAX;
	for (char *line = text; line; line = next) {
		uint64_t room;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		room = room_of_line(line, root);
		least = room < least ? room : least;
	}
	return least;
}

uint64_t headroom(void)
{
	static uint64_t unlimited_until;
	uint64_t room;

	ENGINE_LOCKED();
	if (sys_left_ns(unlimited_until) > 0)
		return UINT64_MAX;
	room = headroom_in("/proc/self/cgroup", "/sys/fs/cgroup");
	unlimited_until = room == UINT64_MAX ? sys_end_in_ns(UNLIMITED_NS) : 0;
	return room;
}
