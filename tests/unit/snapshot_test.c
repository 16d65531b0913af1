/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conf/snapshot.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/publish.h"

static const char whole[] = "smc_r0 version 1\n"
			    "generation 7\n"
			    "enabled 1\n"
			    "ip_addr_list 10.0.0.1 fe80::1\n"
			    "max_memory_bytes 1073741824\n"
			    "port_range_list 1-20 23 50\n"
			    "system_preload 0\n"
			    "exclude_list sshd redis-server\n"
			    "end\n";

static const char empty[] = "smc_r0 version 1\n"
			    "generation 1\n"
			    "enabled 0\n"
			    "ip_addr_list\n"
			    "max_memory_bytes 16777216\n"
			    "port_range_list\n"
			    "system_preload 1\n"
			    "exclude_list\n"
			    "end\n";

static struct in6_addr address(const char *text)
{
	struct in6_addr a;

	cr_assert_eq(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

static struct snapshot parsed(const char *text)
{
	struct snapshot s;

	cr_assert_eq(snapshot_parse(text, strlen(text), &s), 0);
	return s;
}

static void refused(const char *text)
{
	struct snapshot s, before;

	memset(&s, 0x5a, sizeof(s));
	before = s;
	cr_assert_eq(snapshot_parse(text, strlen(text), &s), -EPROTO, "%s",
		     text);
	cr_assert_eq(memcmp(&s, &before, sizeof(s)), 0, "*out was touched");
}

/* The whole text with the first "from" replaced. */
static void refused_with(const char *from, const char *to)
{
	const char *place = strstr(whole, from);
	char text[2 * SNAPSHOT_TEXT_MAX];

	cr_assert_not_null(place, "%s", from);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(place - whole), whole,
		 to, place + strlen(from));
	refused(text);
}

Test(snapshot, every_field_is_read)
{
	struct snapshot s = parsed(whole);
	struct in6_addr four = address("::ffff:10.0.0.1");
	struct in6_addr six = address("fe80::1");

	cr_assert_eq(s.generation, 7);
	cr_assert(s.enabled);
	cr_assert_eq(s.address_count, 2);
	cr_assert(IN6_ARE_ADDR_EQUAL(&s.addresses[0], &four));
	cr_assert(IN6_ARE_ADDR_EQUAL(&s.addresses[1], &six));
	cr_assert_eq(s.max_memory_bytes, 1073741824);
	cr_assert_eq(s.range_count, 3);
	cr_assert_eq(s.ranges[0].low, 1);
	cr_assert_eq(s.ranges[0].high, 20);
	cr_assert_eq(s.ranges[2].low, 50);
	cr_assert_eq(s.ranges[2].high, 50);
	cr_assert(!s.system_preload);
	cr_assert_eq(s.exclude_count, 2);
	cr_assert_str_eq(s.excludes[1], "redis-server");
}

Test(snapshot, what_is_printed_reads_back_the_same)
{
	const char *const texts[] = {whole, empty};

	for (size_t i = 0; i < 2; i++) {
		struct snapshot s = parsed(texts[i]);
		char text[SNAPSHOT_TEXT_MAX + 1];

		cr_assert_eq(snapshot_format(&s, text, sizeof(text)),
			     (int)strlen(texts[i]));
		cr_assert_str_eq(text, texts[i]);
	}
}

Test(snapshot, no_part_of_a_text_is_a_text)
{
	struct snapshot s;

	for (size_t n = 0; n < sizeof(whole) - 1; n++)
		cr_assert_eq(snapshot_parse(whole, n, &s), -EPROTO,
			     "%zu bytes were enough", n);
}

Test(snapshot, anything_malformed_is_refused)
{
	refused("");
	refused_with("version 1", "version 2");
	refused_with("generation 7", "generation 07");
	refused_with("generation 7", "generation -7");
	refused_with("generation 7", "generation 18446744073709551616");
	refused_with("enabled 1", "enabled 2");
	refused_with("enabled 1", "enabled 01");
	refused_with("enabled 1\n", "");
	refused_with("enabled 1", "enabled 1\nenabled 1");
	refused_with("10.0.0.1", "::ffff:10.0.0.1");
	refused_with("10.0.0.1", "10.0.0.01");
	refused_with("10.0.0.1", "host");
	refused_with("10.0.0.1", " 10.0.0.1");
	refused_with("fe80::1", "10.0.0.1");
	refused_with("fe80::1", "fe80:0::1");
	refused_with("fe80::1", "fe80::1 ::1");
	refused_with("1073741824", "0");
	refused_with("1-20", "0-20");
	refused_with("1-20", "20-1");
	refused_with("1-20", "1-65536");
	refused_with("1-20 23", "23 1-20");
	refused_with("1-20 23", "1-23 23");
	refused_with("23", "23-23");
	refused_with("sshd", "a/b");
	refused_with("sshd", "a,b");
	refused_with("sshd", "a-name-of-exactly-32-bytes-in-all");
	refused_with("end\n", "end\n\n");
	refused_with("end\n", "end\nmore");
}

Test(snapshot, a_zero_byte_is_refused)
{
	char text[sizeof(whole)];
	struct snapshot s;

	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		memcpy(text, whole, sizeof(text));
		text[i] = '\0';
		cr_assert_eq(snapshot_parse(text, sizeof(text) - 1, &s),
			     -EPROTO, "at %zu", i);
	}
}

/* Engines of older revisions know no such line. */
Test(snapshot, autosmc_has_a_line_where_it_is_off)
{
	char text[SNAPSHOT_TEXT_MAX + 1];
	struct snapshot s = parsed(whole);

	cr_assert(s.autosmc);
	s.autosmc = false;
	cr_assert_gt(snapshot_format(&s, text, sizeof(text)), 0);
	cr_assert(strstr(text, "\nautosmc 0\nsystem_preload"));
	cr_assert_not(parsed(text).autosmc);
	text[strstr(text, "autosmc 0") + 8 - text] = '1';
	refused(text);
}

static struct snapshot fullest(void)
{
	struct snapshot s = {
	    .generation = UINT64_MAX,
	    .address_count = SNAPSHOT_ADDRESSES_MAX,
	    .max_memory_bytes = UINT64_MAX,
	    .range_count = SNAPSHOT_RANGES_MAX,
	    .exclude_count = SNAPSHOT_EXCLUDES_MAX,
	};

	memset(s.addresses, 0xfe, sizeof(s.addresses));
	s.addresses[1].s6_addr[15] = 1;
	for (unsigned i = 0; i < SNAPSHOT_RANGES_MAX; i++) {
		s.ranges[i].low = (uint16_t)(10000 + 10 * i);
		s.ranges[i].high = (uint16_t)(10008 + 10 * i);
	}
	for (unsigned i = 0; i < SNAPSHOT_EXCLUDES_MAX; i++)
		snprintf(s.excludes[i], SNAPSHOT_PROGRAM_SIZE, "%031u", i);
	return s;
}

Test(snapshot, the_largest_one_fits_its_limit)
{
	char text[SNAPSHOT_TEXT_MAX + 1];
	struct snapshot s = fullest();
	struct snapshot again;
	int length = snapshot_format(&s, text, sizeof(text));

	cr_assert_gt(length, 0);
	cr_assert_eq(snapshot_parse(text, (size_t)length, &again), 0);
	cr_assert_eq(memcmp(&s, &again, sizeof(s)), 0);
}

Test(snapshot, too_little_room_is_said)
{
	char text[SNAPSHOT_TEXT_MAX + 1];
	struct snapshot s = fullest();
	int length = snapshot_format(&s, text, sizeof(text));

	cr_assert_eq(snapshot_format(&s, text, (size_t)length), -ENOSPC);
	cr_assert_eq(snapshot_format(&s, text, (size_t)length + 1), length);
}

Test(snapshot, one_more_range_or_program_is_refused)
{
	refused_with("1-20 23 50",
		     "1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31 33 35 37 39 "
		     "41 43 45 47 49 51 53 55 57 59 61 63 65 67 69 71 73 75 "
		     "77 79 81 83 85 87 89 91 93 95 97 99 101 103 105 107 109 "
		     "111 113 115 117 119 121 123 125 127 129");
	refused_with("sshd redis-server",
		     "a b c d e f g h i j k l m n o p q r s t u v w x y z "
		     "A B C D E F G");
}

Test(snapshot, the_first_rule_that_fails_is_named)
{
	struct snapshot s = parsed(whole);
	struct in6_addr four = address("::ffff:10.0.0.1");
	struct in6_addr other = address("::ffff:10.0.0.2");

	cr_assert_eq(snapshot_match(&s, &four, 20), SNAPSHOT_MATCHES);
	cr_assert_eq(snapshot_match(&s, &four, 21), SNAPSHOT_NO_PORT);
	cr_assert_eq(snapshot_match(&s, &other, 20), SNAPSHOT_NO_ADDRESS);
	s.enabled = false;
	cr_assert_eq(snapshot_match(&s, &four, 20), SNAPSHOT_DISABLED);
	s = parsed(empty);
	s.enabled = true;
	cr_assert_eq(snapshot_match(&s, &four, 20), SNAPSHOT_NO_ADDRESS);
}

Test(snapshot, both_ends_of_a_range_belong_to_it)
{
	struct snapshot s = parsed(whole);

	cr_assert(snapshot_has_port(&s, 1));
	cr_assert(snapshot_has_port(&s, 20));
	cr_assert(!snapshot_has_port(&s, 0));
	cr_assert(!snapshot_has_port(&s, 21));
	cr_assert(!snapshot_has_port(&s, 22));
	cr_assert(snapshot_has_port(&s, 23));
	cr_assert(!snapshot_has_port(&s, 51));
}

/* ---- Files -------------------------------------------------------------- */

static char rundir[64];

static void make_rundir(void)
{
	strcpy(rundir, "/tmp/snapshot_test.XXXXXX");
	cr_assert_not_null(mkdtemp(rundir));
}

static void remove_rundir(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", rundir);
	cr_assert_eq(system(command), 0);
}

TestSuite(snapshot_file, .init = make_rundir, .fini = remove_rundir);

Test(snapshot_file, what_is_published_is_read)
{
	struct snapshot s = parsed(whole), got;

	cr_assert_eq(snapshot_read(rundir, &got), -ENOENT);
	cr_assert_eq(publish_prepare(rundir), 0);
	cr_assert_eq(snapshot_read(rundir, &got), -ENOENT);
	cr_assert_eq(publish_write(rundir, &s), 0);
	cr_assert_eq(snapshot_read(rundir, &got), 0);
	cr_assert_eq(memcmp(&s, &got, sizeof(s)), 0);
	cr_assert_eq(got.generation, 1);
	cr_assert_eq(publish_remove(rundir), 0);
	cr_assert_eq(snapshot_read(rundir, &got), -ENOENT);
}

Test(snapshot_file, the_word_moves_with_each_publication)
{
	struct snapshot s = parsed(whole);
	const _Atomic uint64_t *word;

	cr_assert_eq(snapshot_generation_map(rundir, &word), -ENOENT);
	cr_assert_eq(publish_prepare(rundir), 0);
	cr_assert_eq(snapshot_generation_map(rundir, &word), 0);
	cr_assert_eq(*word, 0);
	for (uint64_t i = 1; i < 4; i++) {
		cr_assert_eq(publish_write(rundir, &s), 0);
		cr_assert_eq(*word, i);
		cr_assert_eq(s.generation, i);
	}
	cr_assert_eq(publish_remove(rundir), 0);
	cr_assert_eq(*word, 4);
	cr_assert_eq(publish_prepare(rundir), 0);
	cr_assert_eq(*word, 4, "to make the device again starts no new count");
}

Test(snapshot_file, nothing_changes_when_the_snapshot_is_impossible)
{
	struct snapshot good = parsed(whole), bad = good, got;
	const _Atomic uint64_t *word;

	cr_assert_eq(publish_prepare(rundir), 0);
	cr_assert_eq(publish_write(rundir, &good), 0);
	bad.max_memory_bytes = 0;
	cr_assert_eq(publish_write(rundir, &bad), -EINVAL);
	cr_assert_eq(snapshot_read(rundir, &got), 0);
	cr_assert_eq(memcmp(&good, &got, sizeof(got)), 0);
	cr_assert_eq(snapshot_generation_map(rundir, &word), 0);
	cr_assert_eq(*word, 1);
}

static void plant(const char *name, const char *text, uid_t owner)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", rundir, name);
	unlink(path);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
	if (owner)
		cr_assert_eq(chown(path, owner, owner), 0);
}

Test(snapshot_file, a_strangers_file_does_not_count)
{
	const _Atomic uint64_t *word;
	struct snapshot got;

	if (geteuid() != 0)
		cr_skip("only root can make a file in somebody else's name");
	cr_assert_eq(chmod(rundir, 01777), 0);
	plant("smc_r0", whole, 12345);
	plant("generation", "12345678", 12345);
	cr_assert_eq(snapshot_read(rundir, &got), -EPERM);
	cr_assert_eq(snapshot_generation_map(rundir, &word), -EPERM);
	cr_assert_eq(publish_prepare(rundir), -EPERM);
	/* The directory's own owner may, in a directory of theirs. */
	cr_assert_eq(chown(rundir, 12345, 12345), 0);
	cr_assert_eq(snapshot_read(rundir, &got), 0);
}

Test(snapshot_file, a_damaged_or_odd_file_is_refused)
{
	const _Atomic uint64_t *word;
	struct snapshot got;
	char path[128];

	plant("smc_r0", "smc_r0 version 1\n", 0);
	cr_assert_eq(snapshot_read(rundir, &got), -EPROTO);
	plant("generation", "short", 0);
	cr_assert_eq(snapshot_generation_map(rundir, &word), -EPROTO,
		     "a mapping beyond the end would kill the reader");
	snprintf(path, sizeof(path), "%s/smc_r0", rundir);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/etc/hostname", path), 0);
	cr_assert_eq(snapshot_read(rundir, &got), -ELOOP);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(snapshot_read(rundir, &got), -EPERM,
		     "nobody waits for a writer");
}

Test(snapshot_file, a_text_that_is_too_long_is_refused)
{
	char *text = malloc(3 * SNAPSHOT_TEXT_MAX);
	struct snapshot got;

	memset(text, ' ', 3 * SNAPSHOT_TEXT_MAX);
	text[3 * SNAPSHOT_TEXT_MAX - 1] = '\0';
	plant("smc_r0", text, 0);
	cr_assert_eq(snapshot_read(rundir, &got), -EPROTO);
	free(text);
}

static const struct part {
	const char *name;
	mode_t by_root, by_others;
} parts[] = {
    {"", 0755, 0700},
    {"/users", 01733, 0700},
    {"/users/000000", 0711, 0711},
    {"/users/000000/status", 0700, 0700},
    {"/users/000000/peer", 0711, 0711},
};

static void assert_parts(const char *top)
{
	char path[128];
	struct stat st;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", top, parts[i].name);
		cr_assert_eq(stat(path, &st), 0);
		cr_assert_eq(st.st_mode & 07777,
			     geteuid() == 0 ? parts[i].by_root
					    : parts[i].by_others,
			     "%s", path);
	}
}

Test(snapshot_file, the_directory_is_made_for_all_by_root_else_private)
{
	mode_t mask = umask(077);
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/new", rundir);
	cr_assert_eq(publish_prepare(path), 0);
	umask(mask);
	assert_parts(path);
	snprintf(path, sizeof(path), "%s/new/generation", rundir);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0644);
	cr_assert_eq(st.st_size, SNAPSHOT_GENERATION_BYTES);
}

/* What former revisions left, and anybody could write to. */
Test(snapshot_file, what_everybody_could_write_to_is_closed_or_gone)
{
	static const char *const former[] = {"", "/status", "/peer"};
	char path[128], file[256];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/new%s", rundir, former[i]);
		cr_assert_eq(mkdir(path, 0777), 0);
		cr_assert_eq(chmod(path, 01777), 0);
	}
	snprintf(file, sizeof(file), "%s/1.1", path);
	cr_assert_eq(symlink("/nowhere", file), 0);
	snprintf(path, sizeof(path), "%s/new", rundir);
	cr_assert_eq(publish_prepare(path), 0);
	assert_parts(path);
	snprintf(path, sizeof(path), "%s/new/status", rundir);
	cr_assert_eq(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/new/peer", rundir);
	cr_assert_eq(access(path, F_OK), -1);
}
