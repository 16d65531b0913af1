/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/smit/screen.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "attrdb/object.h"
#include "conf/predefined.h"

static struct attrdb *db;

static void begin(void)
{
	static const struct attrdb_place memory = {"", ATTRDB_CREATE, 0};
	char why[512];

	setenv("SMC_R_CONFDIR", "conf", 1);
	cr_assert_eq(attrdb_open(&db, &memory, why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(predefined_load(db, why, sizeof(why)), 0, "%s", why);
}

static void end(void)
{
	attrdb_close(db);
}

TestSuite(smit_screen, .init = begin, .fini = end);

static void leads(const char *path, enum screen_kind kind, const char *to)
{
	char id[SCREEN_ID_SIZE];
	int error;

	cr_assert_eq(screen_find(db, path, id, &error), kind, "%s", path);
	cr_assert_eq(error, 0);
	if (kind)
		cr_assert_str_eq(id, to);
}

Test(smit_screen, fast_paths)
{
	leads("smcr", SCREEN_MENU, "smcr");
	leads("mksmcr", SCREEN_DIALOG, "mksmcr");
	leads("chsmcr", SCREEN_SELECTOR, "chsmcr");
	leads("rmsmcr", SCREEN_SELECTOR, "rmsmcr");
	leads("smcrstat", SCREEN_DIALOG, "smcrstat");
	leads("ofed", SCREEN_MENU, "ofed");
	leads("mkdev", SCREEN_DIALOG, "mksmcr");
	leads("nosuch", SCREEN_NONE, "");
	leads("' or id like '*", SCREEN_NONE, "");
	leads("", SCREEN_NONE, "");
}

/* Every line leads to a screen, and every line and field has help. */
static void check_screen(enum screen_kind kind, const char *id, int depth)
{
	struct screen s;

	cr_assert_lt(depth, 8);
	cr_assert_eq(screen_load(db, kind, id, &s), 0, "%c %s", kind, id);
	cr_assert_neq(screen_title(&s)[0], '\0', "%s", id);
	for (unsigned i = 0; i < s.count; i++) {
		cr_assert_neq(s.parts[i].help[0], '\0', "%s, %u", id, i);
		if (kind == SCREEN_MENU)
			check_screen(screen_next(&s, i),
				     screen_part_word(&s, i, "next_id"),
				     depth + 1);
	}
	if (kind == SCREEN_SELECTOR)
		check_screen(screen_follows(&s), screen_word(&s, "next_id"),
			     depth + 1);
	screen_fini(&s);
}

Test(smit_screen, every_predefined_screen_is_whole)
{
	check_screen(SCREEN_MENU, SCREEN_ROOT, 0);
}

Test(smit_screen, lines_and_fields_come_in_the_order_of_their_numbers)
{
	struct screen s;

	cr_assert_eq(screen_load(db, SCREEN_DIALOG, "chsmcr_d", &s), 0);
	cr_assert_eq(s.count, 9);
	cr_assert_str_eq(screen_part_word(&s, 0, "prefix"), "-l");
	cr_assert_str_eq(screen_part_word(&s, 3, "disc_field_name"),
			 "max_memory");
	screen_fini(&s);
	cr_assert_eq(screen_load(db, SCREEN_MENU, "nosuch", &s), -ENOENT);
	cr_assert_eq(screen_load(db, SCREEN_DIALOG, "nosuch", &s), -ENOENT);
	cr_assert_eq(screen_load(db, SCREEN_SELECTOR, "nosuch", &s), -ENOENT);
}

/* A field that the file does not name any more must not stay. */
Test(smit_screen, loading_anew_forgets_what_is_not_in_the_file)
{
	struct stanza field = {0};
	struct screen s;
	char why[512];

	stanza_init(&field, "sm_cmd_opt");
	stanza_set_string(&field, "id", "chsmcr_d_opt");
	stanza_set_string(&field, "id_seq_num", "999");
	stanza_set_string(&field, "name", "of an older version");
	cr_assert_eq(attrdb_object_put(db, &field), 0);
	stanza_fini(&field);
	cr_assert_eq(screen_load(db, SCREEN_DIALOG, "chsmcr_d", &s), 0);
	cr_assert_eq(s.count, 10);
	screen_fini(&s);
	cr_assert_eq(predefined_load(db, why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(screen_load(db, SCREEN_DIALOG, "chsmcr_d", &s), 0);
	cr_assert_eq(s.count, 9);
	screen_fini(&s);
}
