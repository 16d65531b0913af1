/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* headroom: limits of control groups, read from files that no kernel made. */
#include "smc_r/memory/headroom.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MB (1ull << 20)

static char place[256];

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(place, sizeof(place), "%s/headroom.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	cr_assert(mkdtemp(place));
}

static void teardown(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	cr_assert_eq(system(command), 0);
}

TestSuite(headroom, .init = setup, .fini = teardown);

static void put(const char *name, const char *text)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", place, name);
	for (char *at = path + strlen(place) + 1; (at = strchr(at, '/'));
	     at++) {
		*at = '\0';
		mkdir(path, 0777);
		*at = '/';
	}
	f = fopen(path, "w");
	cr_assert(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

static uint64_t room(void)
{
	char groups[300];

	snprintf(groups, sizeof(groups), "%s/groups", place);
	return headroom_in(groups, place);
}

Test(headroom, without_files_there_is_no_limit)
{
	cr_assert_eq(room(), UINT64_MAX);
	put("groups", "");
	cr_assert_eq(room(), UINT64_MAX);
	put("groups", "0::/a/b\n");
	cr_assert_eq(room(), UINT64_MAX);
	put("groups", "nonsense\n:::\n12\n0:");
	cr_assert_eq(room(), UINT64_MAX);
}

Test(headroom, version_two_keeps_a_part_of_the_limit_for_the_program)
{
	put("groups", "0::/a\n");
	put("a/memory.max", "67108864\n");
	put("a/memory.current", "16777216\n");
	cr_assert_eq(room(), 64 * MB - 16 * MB - 32 * MB);
	put("a/memory.current", "67108864\n");
	cr_assert_eq(room(), 0);
	put("a/memory.max", "max\n");
	cr_assert_eq(room(), UINT64_MAX);
	put("a/memory.current", "0\n");
	put("a/memory.max", "1073741824\n");
	cr_assert_eq(room(), (1024 - 128) * MB);
	put("a/memory.max", "4294967296\n");
	cr_assert_eq(room(), (4096 - 256) * MB);
}

Test(headroom, page_cache_is_room)
{
	put("groups", "0::/a\n");
	put("a/memory.max", "67108864\n");
	put("a/memory.current", "67108864\n");
	put("a/memory.stat", "anon 4096\nfile 99999999\nshmem 3\n"
			     "inactive_anon 1\nactive_anon 2\n"
			     "inactive_file 33554432\nactive_file 1048576\n"
			     "workingset_refault_file 7777777\n");
	cr_assert_eq(room(), 33 * MB - 32 * MB);
	/* Cannot be; and does not wrap. */
	put("a/memory.stat", "inactive_file 999999999\n");
	cr_assert_eq(room(), 64 * MB);
}

Test(headroom, the_tightest_group_up_the_tree_counts)
{
	put("groups", "0::/a/b/c\n");
	put("a/b/c/memory.max", "max\n");
	put("a/b/memory.max", "167772160\n");
	put("a/b/memory.current", "0\n");
	cr_assert_eq(room(), 80 * MB);
	put("a/memory.max", "16777216\n");
	put("a/memory.current", "4194304\n");
	cr_assert_eq(room(), 4 * MB);
	/* In a namespace the root is a group of its own, with files. */
	put("memory.max", "1048576\n");
	put("memory.current", "1048576\n");
	cr_assert_eq(room(), 0);
}

Test(headroom, version_one_is_found_among_its_hierarchies)
{
	put("groups", "12:cpu,cpuacct:/x\n9:memoryless:/y\n"
		      "4:hugetlb,memory:/docker/1\n0::/z\n");
	put("memory/docker/1/memory.limit_in_bytes", "33554432\n");
	put("memory/docker/1/memory.usage_in_bytes", "14680064\n");
	put("memory/docker/1/memory.stat",
	    "inactive_file 5\nactive_file 5\ntotal_inactive_file 2097152\n"
	    "total_active_file 0\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/memory.usage_in_bytes", "99999999999\n");
	cr_assert_eq(room(), 4 * MB);
}

Test(headroom, a_group_outside_of_the_namespace_is_not_followed)
{
	put("groups", "0::/../../other\n");
	put("memory.max", "16777216\n");
	put("memory.current", "0\n");
	cr_assert_eq(room(), 8 * MB);
}

Test(headroom, a_path_that_is_too_long_has_no_limit)
{
	static char text[3000] = "0::/";

	memset(text + 4, 'a', sizeof(text) - 5);
	put("groups", text);
	cr_assert_eq(room(), UINT64_MAX);
}
