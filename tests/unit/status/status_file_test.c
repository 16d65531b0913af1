/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/status/status_file.h"
#include "smc_r/status/user_directory.h"

#include <errno.h>
#include <stddef.h>

#include "tests/unit/forged.h"

TestSuite(status_file, .init = forged_setup, .fini = forged_teardown);

Test(status_file, only_names_that_engines_give_are_taken)
{
	const char *const bad[] = {
	    "",
	    ".",
	    "..",
	    "1",
	    "1.",
	    ".1",
	    "0.1",
	    "-1.1",
	    "01.1",
	    "1.01",
	    "1.-1",
	    "1. 1",
	    " 1.1",
	    "1.1 ",
	    "1.1.1",
	    "+1.1",
	    "2147483648.1",
	    "4294967297.1",
	    "99999999999999999999.1",
	    "1.18446744073709551616",
	    "totals.0",
	    "1x.1",
	};
	struct status_name name;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!status_name_decode(bad[i], &name), "'%s'", bad[i]);
	cr_assert(status_name_decode("2147483647.18446744073709551615", &name));
	cr_assert_eq(name.pid, 2147483647);
	cr_assert_eq(name.start, UINT64_MAX);
	cr_assert(status_name_decode("1.0", &name));
	cr_assert_eq(name.start, 0);
}

Test(status_file, a_good_segment_is_read_as_it_was_written)
{
	struct status_file file;
	struct status_slot slot[FORGED_SLOTS];
	struct forged f;
	char name[48];

	forged_fill(&f, 123, 456);
	f.header.counters.doorbells = 7;
	forged_add_slot(&f, STATUS_ACTIVE)->tx.position = 11;
	forged_add_slot(&f, STATUS_TCP)->reason = 22;
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert_eq(file.uid, geteuid());
	cr_assert_eq(file.slot_count, 2);
	cr_assert_eq(file.header.counters.doorbells, 7);
	cr_assert_str_eq(file.header.program, "forged");
	cr_assert_eq(status_file_slots(&file, 0, slot, FORGED_SLOTS), 2);
	cr_assert_eq(slot[0].tx.position, 11);
	cr_assert_eq(slot[1].reason, 22);
	cr_assert_eq(status_file_slots(&file, 1, slot, FORGED_SLOTS), 1);
	cr_assert_eq(slot[0].reason, 22);
	cr_assert_eq(status_file_slots(&file, 2, slot, FORGED_SLOTS), 0);
	cr_assert_eq(status_file_slots(&file, UINT32_MAX, slot, 1), 0);
	status_file_close(&file);
}

struct damage {
	const char *what;
	size_t at;
	uint64_t value;
	size_t size;
};

#define DAMAGE(field, value)                                                   \
	{                                                                      \
#field, offsetof(struct status_header, field), value,          \
		    sizeof(((struct status_header *)NULL)->field)              \
	}

Test(status_file, a_header_with_one_wrong_field_is_refused)
{
	const struct damage damage[] = {
	    DAMAGE(magic, 0),
	    DAMAGE(version, STATUS_VERSION + 1),
	    DAMAGE(version, 0),
	    DAMAGE(slot_size, sizeof(struct status_slot) - 1),
	    DAMAGE(slot_size, 0),
	    DAMAGE(slot_count, 2),
	    DAMAGE(slot_count, STATUS_SLOTS_MAX + 1),
	    DAMAGE(slot_count, UINT32_MAX),
	    DAMAGE(pid, 124),
	    DAMAGE(start, 457),
	};
	struct status_file file;
	struct forged f;
	size_t i;

	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		forged_fill(&f, 123, 456);
		forged_add_slot(&f, STATUS_ACTIVE);
		memcpy((char *)&f + damage[i].at, &damage[i].value,
		       damage[i].size);
		forged_write_as("123.456", &f,
				STATUS_SLOTS_AT + sizeof(f.slot[0]));
		cr_assert_eq(status_file_open(forged_dir, "123.456", &file),
			     -EPROTO, "%s = %#" PRIx64, damage[i].what,
			     damage[i].value);
	}
}

Test(status_file, a_file_of_any_smaller_size_is_refused)
{
	struct status_file file;
	struct forged f;
	size_t size;

	forged_fill(&f, 123, 456);
	forged_add_slot(&f, STATUS_ACTIVE);
	for (size = 0; size < forged_size(&f); size += 97) {
		forged_write_as("123.456", &f, size);
		cr_assert_eq(status_file_open(forged_dir, "123.456", &file),
			     -EPROTO, "%zu bytes", size);
	}
}

Test(status_file, nothing_but_a_regular_file_is_opened)
{
	struct status_file file;
	struct forged f;
	char name[48];

	forged_fill(&f, 123, 456);
	forged_write(&f, name);
	cr_assert_eq(symlinkat(name, forged_dir, "1.1"), 0);
	cr_assert_eq(status_file_open(forged_dir, "1.1", &file), -ELOOP);
	cr_assert_eq(mkfifoat(forged_dir, "2.2", 0644), 0);
	cr_assert_eq(status_file_open(forged_dir, "2.2", &file), -EPROTO);
	cr_assert_eq(mkdirat(forged_dir, "3.3", 0755), 0);
	cr_assert_eq(status_file_open(forged_dir, "3.3", &file), -EPROTO);
	cr_assert_eq(status_file_open(forged_dir, "4.4", &file), -ENOENT);
	cr_assert_eq(status_file_open(forged_dir, "../status/123.456", &file),
		     -EPROTO);
}

static int fail(void *owner, const struct user_directory *u)
{
	(void)owner;
	(void)u;
	return 1;
}

Test(status_file, a_status_directory_that_is_a_link_is_not_followed)
{
	char link[4200], status[4200];

	snprintf(status, sizeof(status), "%s/users/000000/status",
		 forged_rundir);
	snprintf(link, sizeof(link), "%s/away", forged_rundir);
	cr_assert_eq(rename(status, link), 0);
	cr_assert_eq(symlink(link, status), 0);
	cr_assert_eq(user_directory_each(forged_rundir, fail, NULL), 0);
}

Test(status_file, a_program_name_without_end_is_ended_and_made_printable)
{
	struct status_file file;
	struct forged f;
	char name[48];

	forged_fill(&f, 123, 456);
	memset(f.header.program, 'x', sizeof(f.header.program));
	f.header.program[3] = 27;
	f.header.program[4] = (char)0xff;
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert_eq(strlen(file.header.program), STATUS_PROGRAM_MAX - 1);
	cr_assert_eq(strncmp(file.header.program, "xxx??x", 6), 0);
	status_file_close(&file);
}

Test(status_file, a_file_cut_short_after_opening_gives_an_error_not_a_signal)
{
	struct status_slot slot;
	struct status_file file;
	struct forged f;
	char name[48];

	forged_fill(&f, 123, 456);
	forged_add_slot(&f, STATUS_ACTIVE);
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	forged_write_as(name, "", 0);
	cr_assert_eq(status_file_slots(&file, 0, &slot, 1), -EPROTO);
	cr_assert_eq(status_file_refresh(&file), -EPROTO);
	status_file_close(&file);
}

Test(status_file, a_segment_lives_as_long_as_any_holder)
{
	struct status_file file;
	struct forged f, own;
	char name[48];

	forged_fill_self(&own);
	forged_fill(&f, forged_dead_pid(), 1);
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert(!status_file_is_alive(&file));
	cr_assert_eq(status_file_living(&file), 0);
	status_file_close(&file);

	f.header.holders[63].pid = own.header.pid;
	f.header.holders[63].start = own.header.start;
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert(status_file_is_alive(&file));
	cr_assert_eq(status_file_living(&file), UINT64_C(1) << 63);
	status_file_close(&file);

	/* The number is the same, but the process is another one. */
	f.header.holders[63].start--;
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert(!status_file_is_alive(&file));
	status_file_close(&file);
}

Test(status_file, a_holder_that_is_being_written_is_who_writes_it)
{
	const int32_t number[] = {-getpid(), -1, 0, INT32_MIN};
	const uint64_t living[] = {4, 4, 0, 0};
	struct status_file file;
	struct forged f;
	char name[48];
	size_t i;

	forged_fill(&f, forged_dead_pid(), 1);
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		f.header.holders[2].pid = number[i];
		forged_write(&f, name);
		cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
		cr_assert_eq(status_file_living(&file), living[i]);
		status_file_close(&file);
	}
}

Test(status_file, a_maker_that_is_not_yet_a_holder_counts_as_the_first)
{
	struct status_file file;
	struct forged f;
	char name[48];

	forged_fill_self(&f);
	f.header.holders[0].pid = 0;
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert(status_file_is_alive(&file));
	cr_assert_eq(status_file_living(&file), 1);
	status_file_close(&file);
}
