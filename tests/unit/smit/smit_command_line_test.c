/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/smit/command_line.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct screen dialog = {.kind = SCREEN_DIALOG};
static struct screen_part parts[2];
static struct entry entries[2];
static char line[COMMAND_LINE_SIZE];

static void begin(void)
{
	stanza_init(&dialog.head, "sm_cmd_hdr");
	stanza_set_string(&dialog.head, "cmd_to_exec", "do");
	dialog.parts = parts;
}

static void end(void)
{
	stanza_fini(&dialog.head);
	for (unsigned i = 0; i < dialog.count; i++)
		stanza_fini(&parts[i].object);
}

TestSuite(smit_command_line, .init = begin, .fini = end);

static void add_field(const char *prefix, const char *value)
{
	struct stanza *object = &parts[dialog.count].object;

	stanza_init(object, "sm_cmd_opt");
	stanza_set_string(object, "prefix", prefix);
	stanza_set_string(object, "required", "y");
	entry_init(&entries[dialog.count], object);
	entry_set(&entries[dialog.count++], value);
}

static void becomes(const char *words)
{
	cr_assert_eq(command_line_make(&dialog, entries, line), 0);
	cr_assert_str_eq(line, words);
}

Test(smit_command_line, a_flag_and_its_value)
{
	add_field("-l", "smc_r0");
	add_field("-a name=", "");
	becomes("do -l 'smc_r0' -a name=''");
}

Test(smit_command_line, an_operand_and_what_goes_on_with_it)
{
	add_field("", "a b");
	add_field("=", "5");
	becomes("do 'a b'='5'");
}

Test(smit_command_line, constants_stand_as_they_are_and_may_be_nothing)
{
	add_field("", "no");
	stanza_set_string(&parts[0].object, "disp_values", "no,yes");
	stanza_set_string(&parts[0].object, "aix_values", ",-d");
	becomes("do");
	entry_set(&entries[0], "yes");
	becomes("do -d");
}

/* Whatever a value is, the shell makes it one word again, and runs nothing. */
Test(smit_command_line, the_shell_gives_back_every_value)
{
	static const char *const values[] = {
	    "'",          "''",       "$(touch x)", "`touch x`",  "a;b",
	    "-x",         "\\",       "\\'",        "a\nb",       "\"$HOME\"",
	    "'; echo 'x", "*",        "~",          "!1",         "# a",
	    "\xc3\xa4",   "\xff\xfe", "a\tb",       "&& echo x &"};

	stanza_set_string(&dialog.head, "cmd_to_exec", "printf '<%s>'");
	add_field("", "");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char printed[64] = "", wanted[64];
		FILE *pipe;

		entry_set(&entries[0], values[i]);
		cr_assert_eq(command_line_make(&dialog, entries, line), 0);
		/* That it is a shell is what is tested. NOLINTNEXTLINE */
		pipe = popen(line, "r");
		cr_assert_not_null(pipe);
		printed[fread(printed, 1, sizeof(printed) - 1, pipe)] = '\0';
		cr_assert_eq(pclose(pipe), 0);
		snprintf(wanted, sizeof(wanted), "<%s>", values[i]);
		cr_assert_str_eq(printed, wanted);
	}
}

Test(smit_command_line, what_does_not_fit_is_no_command)
{
	char prefix[STANZA_STRING_MAX + 1], quotes[ENTRY_VALUE_SIZE];

	memset(prefix, 'p', sizeof(prefix) - 1);
	prefix[sizeof(prefix) - 1] = '\0';
	memset(quotes, '\'', sizeof(quotes) - 1);
	quotes[sizeof(quotes) - 1] = '\0';
	add_field(prefix, quotes);
	dialog.count = 1;
	cr_assert_eq(command_line_make(&dialog, entries, line), 0);
	struct screen_part many[16];
	struct entry same[16];

	for (int i = 0; i < 16; i++) {
		many[i] = parts[0];
		same[i] = entries[0];
	}
	dialog.parts = many;
	dialog.count = 16;
	cr_assert_neq(command_line_make(&dialog, same, line), 0);
	cr_assert_str_eq(line, "");
	dialog.count = 1;
}

Test(smit_command_line, names_stand_for_values_in_a_postfix)
{
	struct names names = {0};

	cr_assert_eq(names_put(&names, "_rawname", "a'b"), 0);
	cr_assert_eq(command_line_ask("ls", "-l _rawname  -x", &names, line),
		     0);
	cr_assert_str_eq(line, "ls -l 'a'\\''b' -x");
	for (int i = 0; i < NAMES_MAX; i++)
		names_put(&names, (char[]){'a' + i, '\0'}, "");
	cr_assert_neq(names_put(&names, "z", ""), 0);
	cr_assert_null(names_value(&names, "z"));
}
