/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "attrdb/attrdb.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attrdb/device.h"
#include "attrdb/object.h"

static const char kinds[] =
    "PdDv:\n uniquetype=\"c/s/t\"\n type=\"t\"\n class=\"c\"\n subclass=\"s\"\n"
    " prefix=\"dev\"\n catalog=\"cat\"\n setno=1\n msgno=1\n"
    "PdDv:\n uniquetype=\"c/s/u\"\n type=\"u\"\n class=\"c\"\n subclass=\"s\"\n"
    " prefix=\"oth\"\n"
    "PdAt:\n uniquetype=\"c/s/t\"\n attribute=\"alpha\"\n deflt=\"1\"\n"
    " values=\"0,1\"\n type=\"R\"\n generic=\"DU\"\n rep=\"nl\"\n"
    " nls_index=2\n"
    "PdAt:\n uniquetype=\"c/s/t\"\n attribute=\"beta\"\n deflt=\"\"\n"
    " values=\"\"\n type=\"R\"\n generic=\"D\"\n rep=\"s\"\n"
    "PdMsg:\n catalog=\"cat\"\n setno=1\n msgno=1\n text=\"A device\"\n"
    "PdMsg:\n catalog=\"cat\"\n setno=1\n msgno=2\n text=\"First letter\"\n";

static char dir[64];
static struct attrdb *db;

static int open_at(enum attrdb_mode mode, int wait_ms, struct attrdb **out)
{
	struct attrdb_place place = {dir, mode, wait_ms};
	char why[256] = "";
	int error = attrdb_open(out, &place, why, sizeof(why));

	cr_assert(error == 0 || why[0], "a refusal has words");
	return error;
}

static void put_all(const char *text)
{
	struct stanza_reader r;
	struct stanza s;

	stanza_reader_init(&r, text, strlen(text));
	while (stanza_read(&r, &s) == 1) {
		cr_assert_eq(attrdb_object_put(db, &s), 0, "%s",
			     attrdb_words(db));
		stanza_fini(&s);
	}
	cr_assert_null(r.why);
}

static void put_device(const char *name, const char *parent, int status)
{
	struct attrdb_device device = {.status = status};

	strcpy(device.name, name);
	strcpy(device.parent, parent);
	strcpy(device.uniquetype, "c/s/t");
	cr_assert_eq(attrdb_device_put(db, &device), 0, "%s", attrdb_words(db));
}

static void make_database(void)
{
	strcpy(dir, "/tmp/attrdb_test.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(open_at(ATTRDB_CREATE, 1000, &db), 0);
	cr_assert_eq(attrdb_begin(db), 0);
	put_all(kinds);
	put_device("dev0", "", ODM_STATUS_DEFINED);
	cr_assert_eq(attrdb_commit(db), 0);
}

static void remove_database(void)
{
	char command[96];

	attrdb_close(db);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(attrdb, .init = make_database, .fini = remove_database);

static struct attrdb_attribute attribute(const char *device, const char *name)
{
	struct attrdb_attribute *list, found = {0};
	int count = attrdb_attributes_of_device(db, device, &list);

	cr_assert_gt(count, 0);
	for (int i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			found = list[i];
	free(list);
	cr_assert_str_eq(found.name, name);
	return found;
}

static int count_one(void *owner, const struct stanza *s)
{
	(void)s;
	++*(int *)owner;
	return 0;
}

static int count_objects(const char *class_name, const char *criteria_text)
{
	const struct odm_class *c = odm_class_find(class_name);
	struct criteria which;
	char why[128] = "";
	int count = 0;

	cr_assert_eq(criteria_parse(c, criteria_text, &which, why, sizeof(why)),
		     0, "%s", why);
	cr_assert_eq(attrdb_object_each(db, c, &which, count_one, &count), 0);
	return count;
}

static bool is_view(sqlite3 *handle, const char *name)
{
	char sql[128];
	sqlite3_stmt *s;
	bool found;

	snprintf(sql, sizeof(sql),
		 "SELECT 1 FROM sqlite_master WHERE type = 'view' AND "
		 "name = '%s'",
		 name);
	cr_assert_eq(sqlite3_prepare_v2(handle, sql, -1, &s, NULL), SQLITE_OK);
	found = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return found;
}

Test(attrdb, the_table_of_classes_agrees_with_the_schema)
{
	const struct odm_class *c;
	char path[96], sql[96];
	sqlite3_stmt *statement;
	sqlite3 *handle;

	snprintf(path, sizeof(path), "%s/attr.db", dir);
	cr_assert_eq(sqlite3_open(path, &handle), SQLITE_OK);
	for (size_t i = 0; (c = odm_class_at(i)) != NULL; i++) {
		unsigned columns = 0, fields = 0;

		snprintf(sql, sizeof(sql), "PRAGMA table_info(\"%s\")",
			 c->name);
		cr_assert_eq(
		    sqlite3_prepare_v2(handle, sql, -1, &statement, NULL),
		    SQLITE_OK);
		for (; sqlite3_step(statement) == SQLITE_ROW; columns++) {
			const char *name =
			    (const char *)sqlite3_column_text(statement, 1);
			const char *type =
			    (const char *)sqlite3_column_text(statement, 2);
			const struct odm_field *f = odm_class_field(c, name);

			cr_assert_not_null(f, "%s.%s", c->name, name);
			/* What a view computes has no type, and no key. */
			if (is_view(handle, c->name))
				continue;
			cr_assert_str_eq(type, f->size ? "TEXT" : "INTEGER");
			cr_assert_eq(sqlite3_column_int(statement, 5) > 0,
				     f < c->fields + c->key_count, "key %s",
				     name);
		}
		sqlite3_finalize(statement);
		while (c->fields[fields].name)
			fields++;
		cr_assert_eq(columns, fields, "%s", c->name);
	}
	cr_assert_gt(sqlite3_close(handle), -1);
}

Test(attrdb, only_what_differs_from_the_default_is_stored)
{
	cr_assert_str_eq(attribute("dev0", "alpha").value, "1");
	cr_assert_eq(attrdb_attribute_put(db, "dev0", "alpha", "0"), 0);
	cr_assert_str_eq(attribute("dev0", "alpha").value, "0");
	cr_assert_str_eq(attribute("dev0", "alpha").deflt, "1");
	cr_assert_eq(count_objects("CuAt", "name=dev0"), 1);
	cr_assert_eq(attrdb_attribute_put(db, "dev0", "alpha", "1"), 0);
	cr_assert_str_eq(attribute("dev0", "alpha").value, "1");
	cr_assert_eq(count_objects("CuAt", ""), 0);
}

Test(attrdb, an_unknown_attribute_or_device_is_not_stored)
{
	cr_assert_eq(attrdb_attribute_put(db, "dev0", "gamma", "0"), -ENOENT);
	cr_assert_eq(attrdb_attribute_put(db, "dev9", "alpha", "0"), -ENOENT);
	cr_assert_eq(attrdb_running_put(db, "dev0", "alpha", "0"), -ENOENT,
		     "it does not run");
	cr_assert_eq(attrdb_device_remove(db, "dev9"), -ENOENT);
	cr_assert_eq(count_objects("CuAt", ""), 0);
}

Test(attrdb, stored_configured_and_running_values_are_told_apart)
{
	struct attrdb_attribute a = attribute("dev0", "alpha");

	cr_assert(!a.is_configured);
	cr_assert_eq(attrdb_configured_set(db, "dev0"), 0);
	cr_assert_eq(attrdb_attribute_put(db, "dev0", "alpha", "0"), 0);
	a = attribute("dev0", "alpha");
	cr_assert_str_eq(a.value, "0");
	cr_assert_str_eq(a.configured, "1");
	cr_assert_str_eq(a.running, "1");
	cr_assert_eq(attrdb_running_put(db, "dev0", "alpha", "7"), 0);
	a = attribute("dev0", "alpha");
	cr_assert_str_eq(a.value, "0");
	cr_assert_str_eq(a.configured, "1");
	cr_assert_str_eq(a.running, "7");
	cr_assert_eq(attrdb_configured_set(db, "dev0"), 0);
	a = attribute("dev0", "alpha");
	cr_assert_str_eq(a.configured, "0");
	cr_assert_str_eq(a.running, "0");
	cr_assert_eq(attrdb_configured_clear(db, "dev0"), 0);
	cr_assert(!attribute("dev0", "alpha").is_configured);
}

Test(attrdb, descriptions_come_from_the_catalogue)
{
	char text[ODM_VALUE_SIZE];

	cr_assert_str_eq(attribute("dev0", "alpha").description,
			 "First letter");
	cr_assert_str_eq(attribute("dev0", "beta").description, "");
	cr_assert_eq(attrdb_kind_description(db, "c/s/t", text), 0);
	cr_assert_str_eq(text, "A device");
	cr_assert_eq(attrdb_kind_description(db, "c/s/u", text), 0);
	cr_assert_str_eq(text, "");
}

Test(attrdb, the_smallest_free_number_names_a_new_device)
{
	char name[ODM_NAME_SIZE];

	put_device("dev1", "", 0);
	put_device("dev3", "", 0);
	cr_assert_eq(attrdb_next_name(db, "dev", name), 0);
	cr_assert_str_eq(name, "dev2");
	cr_assert_eq(attrdb_next_name(db, "oth", name), 0);
	cr_assert_str_eq(name, "oth0");
	cr_assert_eq(attrdb_next_name(db, "exactly15letter", name), -EEXIST);
}

Test(attrdb, kinds_are_found_by_any_of_their_names)
{
	char uniquetype[ODM_UNIQUE_SIZE];
	struct attrdb_kind kind = {.class_name = "c"};

	cr_assert_eq(attrdb_kind_find(db, &kind, uniquetype), 2);
	kind.type = "u";
	cr_assert_eq(attrdb_kind_find(db, &kind, uniquetype), 1);
	cr_assert_str_eq(uniquetype, "c/s/u");
	kind.subclass = "x";
	cr_assert_eq(attrdb_kind_find(db, &kind, uniquetype), 0);
}

Test(attrdb, a_device_takes_its_attributes_along)
{
	cr_assert_eq(attrdb_attribute_put(db, "dev0", "alpha", "0"), 0);
	cr_assert_eq(attrdb_configured_set(db, "dev0"), 0);
	cr_assert_eq(attrdb_device_remove(db, "dev0"), 0);
	put_device("dev0", "", 0);
	cr_assert_str_eq(attribute("dev0", "alpha").value, "1");
	cr_assert(!attribute("dev0", "alpha").is_configured);
}

Test(attrdb, devices_are_listed_by_parent_and_kind)
{
	struct attrdb_device *list;

	put_device("dev2", "dev0", 1);
	put_device("dev1", "dev0", 0);
	cr_assert_eq(attrdb_device_list(db, "dev0", NULL, &list), 2);
	cr_assert_str_eq(list[0].name, "dev1");
	cr_assert_eq(list[1].status, 1);
	free(list);
	cr_assert_eq(attrdb_device_list(db, NULL, "c/s/t", &list), 3);
	free(list);
	cr_assert_eq(attrdb_device_list(db, NULL, "c/s/u", &list), 0);
	free(list);
}

Test(attrdb, rules_between_objects_are_kept)
{
	struct attrdb_device device = {.name = "dev5", .uniquetype = "no/such"};

	cr_assert_eq(attrdb_device_put(db, &device), -EEXIST);
	strcpy(device.uniquetype, "c/s/t");
	device.status = 3;
	cr_assert_eq(attrdb_device_put(db, &device), -EEXIST);
}

Test(attrdb, an_object_must_fit_its_class)
{
	static const char *const bad[] = {
	    "Nothing:\n x=1\n",
	    "CuDv:\n name=\"a\"\n",
	    "CuDep:\n name=\"dev0\"\n dependency=1\n",
	    "CuDep:\n name=\"dev0\"\n dependency=\"dev0\"\n colour=\"red\"\n",
	    "CuDep:\n name=\"a-name-of-16-let\"\n dependency=\"dev0\"\n",
	    "history:\n id=1\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct stanza_reader r;
		struct stanza s;

		stanza_reader_init(&r, bad[i], strlen(bad[i]));
		cr_assert_eq(stanza_read(&r, &s), 1);
		cr_assert_eq(attrdb_object_put(db, &s), -EINVAL, "%s", bad[i]);
		cr_assert_neq(attrdb_words(db)[0], '\0');
		stanza_fini(&s);
	}
}

Test(attrdb, an_object_with_the_same_keys_is_replaced)
{
	put_all("PdAt:\n uniquetype=\"c/s/t\"\n attribute=\"alpha\"\n"
		" deflt=\"0\"\n values=\"0,1,2\"\n type=\"R\"\n");
	cr_assert_eq(count_objects("PdAt", "attribute=alpha"), 1);
	cr_assert_str_eq(attribute("dev0", "alpha").values, "0,1,2");
	cr_assert_str_eq(attribute("dev0", "alpha").rep, "nl",
			 "fields that are not named stay");
}

Test(attrdb, criteria_select_objects)
{
	put_device("dev1", "dev0", 1);
	put_device("dev2", "dev0", 2);
	cr_assert_eq(count_objects("CuDv", ""), 3);
	cr_assert_eq(count_objects("CuDv", "name = dev1"), 1);
	cr_assert_eq(count_objects("CuDv", "name='dev1' AND status=1"), 1);
	cr_assert_eq(count_objects("CuDv", "name=dev1 and status=2"), 0);
	cr_assert_eq(count_objects("CuDv", "status>=1"), 2);
	cr_assert_eq(count_objects("CuDv", "status>1"), 1);
	cr_assert_eq(count_objects("CuDv", "status < 0x1"), 1);
	cr_assert_eq(count_objects("CuDv", "status<=1"), 2);
	cr_assert_eq(count_objects("CuDv", "status != 0"), 2);
	cr_assert_eq(count_objects("CuDv", "name like 'dev[12]'"), 2);
	cr_assert_eq(count_objects("CuDv", "name LIKE \"d*\""), 3);
	cr_assert_eq(count_objects("CuDv", "name = 'x\" OR 1=1 --'"), 0,
		     "quotes do not leave the value");
}

Test(attrdb, criteria_that_make_no_sense_are_refused)
{
	static const char *const bad[] = {
	    "colour=red",
	    "name",
	    "name=",
	    "name dev0",
	    "name=a or name=b",
	    "name='x' or 1=1'",
	    "name='open",
	    "= dev0",
	    "name=a and",
	};
	const struct odm_class *c = odm_class_find("CuDv");
	struct criteria which;
	char why[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		cr_assert_eq(
		    criteria_parse(c, bad[i], &which, why, sizeof(why)),
		    -EINVAL, "%s", bad[i]);
		cr_assert_neq(why[0], '\0');
	}
}

static int keep_count(void *owner, const struct stanza *s)
{
	cr_assert_str_eq(stanza_string(s, "user"), "ann");
	cr_assert_str_eq(stanza_string(s, "command"), "chdev -l dev0");
	cr_assert_eq(stanza_find(s, "uid")->number, 1000);
	cr_assert_gt(stanza_find(s, "time")->number, 1600000000);
	++*(int *)owner;
	return 0;
}

Test(attrdb, the_history_says_who_did_what)
{
	const struct odm_class *c = odm_class_find("history");
	const struct criteria all = {0};
	int count = 0;

	attrdb_author_set(db, 1000, "ann", "chdev -l dev0");
	cr_assert_eq(attrdb_history_add(db, "dev0", "alpha", "1", "0"), 0);
	cr_assert_eq(attrdb_history_add(db, "dev0", "", "Defined", "Available"),
		     0);
	cr_assert_eq(attrdb_object_each(db, c, &all, keep_count, &count), 0);
	cr_assert_eq(count, 2);
}

/* ---- The file ----------------------------------------------------------- */

Test(attrdb, a_change_that_is_given_up_leaves_nothing)
{
	struct attrdb_device device;

	cr_assert_eq(attrdb_begin(db), 0);
	put_device("dev7", "", 0);
	attrdb_rollback(db);
	cr_assert_eq(attrdb_device_get(db, "dev7", &device), -ENOENT);
	cr_assert_eq(attrdb_begin(db), 0);
	put_device("dev7", "", 0);
	attrdb_close(db);
	cr_assert_eq(open_at(ATTRDB_WRITE, 0, &db), 0);
	cr_assert_eq(attrdb_device_get(db, "dev7", &device), -ENOENT);
}

Test(attrdb, readers_see_the_old_state_until_the_commit)
{
	struct attrdb_device device;
	struct attrdb *reader;

	cr_assert_eq(open_at(ATTRDB_READ, 0, &reader), 0);
	cr_assert_eq(attrdb_begin(db), 0);
	put_device("dev7", "", 0);
	cr_assert_eq(attrdb_device_get(reader, "dev7", &device), -ENOENT);
	cr_assert_eq(attrdb_commit(db), 0);
	cr_assert_eq(attrdb_device_get(reader, "dev7", &device), -ENOENT,
		     "the file that it opened stays");
	attrdb_close(reader);
	cr_assert_eq(open_at(ATTRDB_READ, 0, &reader), 0);
	cr_assert_eq(attrdb_device_get(reader, "dev7", &device), 0);
	attrdb_close(reader);
}

static sqlite3 *start_sql(const char *sql)
{
	char path[96];
	sqlite3 *handle;

	snprintf(path, sizeof(path), "%s/attr.db", dir);
	cr_assert_eq(sqlite3_open(path, &handle), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	return handle;
}

Test(attrdb, a_change_waits_for_no_reader)
{
	sqlite3 *reader =
	    start_sql("BEGIN; SELECT count(*) FROM CuDv, history");

	cr_assert_eq(attrdb_begin(db), 0);
	put_device("dev7", "", 0);
	cr_assert_eq(attrdb_commit(db), 0, "%s", attrdb_words(db));
	sqlite3_close(reader);
}

Test(attrdb, other_programs_that_write_and_a_change_exclude_each_other)
{
	pid_t child;
	int status;

	cr_assert_eq(attrdb_begin(db), 0);
	child = fork();
	if (child == 0) {
		char path[96];
		sqlite3 *writer;

		snprintf(path, sizeof(path), "%s/attr.db", dir);
		sqlite3_open(path, &writer);
		_exit(sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL,
				   NULL) != SQLITE_BUSY);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	attrdb_rollback(db);
	start_sql("BEGIN IMMEDIATE");
	attrdb_close(db);
	cr_assert_eq(open_at(ATTRDB_WRITE, 20, &db), 0);
	cr_assert_eq(attrdb_begin(db), -EBUSY);
}

Test(attrdb, a_commit_that_fails_leaves_all_as_it_was)
{
	struct attrdb_device device;
	char path[96];

	snprintf(path, sizeof(path), "%s/attr.db", dir);
	cr_assert_eq(attrdb_begin(db), 0);
	put_device("dev7", "", 0);
	/* What cannot be renamed over. */
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(attrdb_commit(db), -EISDIR);
	attrdb_rollback(db);
	cr_assert_eq(attrdb_device_get(db, "dev7", &device), -ENOENT);
	cr_assert_eq(attrdb_device_get(db, "dev0", &device), 0);
	strcat(path, "-new");
	cr_assert_lt(access(path, F_OK), 0);
}

Test(attrdb, a_second_change_waits_and_then_gives_up)
{
	struct attrdb *other;

	cr_assert_eq(open_at(ATTRDB_WRITE, 50, &other), 0);
	cr_assert_eq(attrdb_begin(db), 0);
	cr_assert_eq(attrdb_begin(other), -EBUSY);
	attrdb_rollback(db);
	cr_assert_eq(attrdb_begin(other), 0);
	attrdb_close(other);
}

Test(attrdb, a_reader_cannot_change_anything)
{
	struct attrdb *reader;

	cr_assert_eq(open_at(ATTRDB_READ, 0, &reader), 0);
	cr_assert_eq(attrdb_device_remove(reader, "dev0"), -EACCES);
	attrdb_close(reader);
}

Test(attrdb, who_may_not_write_is_told_at_once)
{
	struct attrdb *other = NULL;
	int error;

	attrdb_close(db);
	db = NULL;
	if (geteuid() == 0) {
		cr_assert_eq(chmod(dir, 0755), 0);
		cr_assert_eq(seteuid(12345), 0);
	} else {
		char path[96];

		snprintf(path, sizeof(path), "%s/attr.db", dir);
		cr_assert_eq(chmod(path, 0444), 0);
	}
	error = open_at(ATTRDB_WRITE, 0, &other);
	cr_assert_eq(open_at(ATTRDB_READ, 0, &db), 0);
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(error, -EACCES);
	cr_assert_null(other);
}

Test(attrdb, a_missing_database_is_made_only_on_demand)
{
	struct attrdb *other = NULL;
	char keep[64], path[96];
	struct stat st;
	mode_t mask = umask(077);

	strcpy(keep, dir);
	strcat(dir, "/new");
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), -ENOENT);
	cr_assert_eq(open_at(ATTRDB_WRITE, 0, &other), -ENOENT);
	cr_assert_null(other);
	cr_assert_eq(open_at(ATTRDB_CREATE, 0, &other), 0);
	attrdb_close(other);
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), -ENOENT,
		     "nothing was changed");
	cr_assert_eq(open_at(ATTRDB_CREATE, 0, &other), 0);
	cr_assert_eq(attrdb_begin(other), 0);
	cr_assert_eq(attrdb_commit(other), 0);
	attrdb_close(other);
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), 0);
	attrdb_close(other);
	snprintf(path, sizeof(path), "%s/attr.db", dir);
	cr_assert_eq(stat(path, &st), 0);
	if (geteuid() == 0)
		cr_assert_eq(st.st_mode & 0777, 0644,
			     "root's is for all to read");
	strcpy(dir, keep);
	umask(mask);
}

static void run_sql(const char *sql)
{
	sqlite3_close(start_sql(sql));
}

Test(attrdb, a_newer_schema_is_refused_by_everybody)
{
	struct attrdb *other;

	run_sql("PRAGMA user_version = 99");
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), -EPROTONOSUPPORT);
	cr_assert_eq(open_at(ATTRDB_WRITE, 0, &other), -EPROTONOSUPPORT);
	cr_assert_eq(open_at(ATTRDB_CREATE, 0, &other), -EPROTONOSUPPORT);
	run_sql("PRAGMA user_version = -1");
	cr_assert_eq(open_at(ATTRDB_CREATE, 0, &other), -EPROTONOSUPPORT);
}

Test(attrdb, what_is_no_database_is_left_alone)
{
	static const char words[] = "this file holds something else entirely, "
				    "and has done so for a very long time\n";
	char path[96], text[128] = "";
	struct attrdb *other;
	FILE *file;

	snprintf(path, sizeof(path), "%s/attr.db", dir);
	file = fopen(path, "w");
	for (int i = 0; i < 20; i++)
		fputs(words, file);
	fclose(file);
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), -EILSEQ);
	cr_assert_eq(open_at(ATTRDB_CREATE, 0, &other), -EILSEQ);
	file = fopen(path, "r");
	cr_assert_not_null(fgets(text, sizeof(text), file));
	fclose(file);
	cr_assert_str_eq(text, words);
}

Test(attrdb, an_empty_file_is_taken_for_a_new_database)
{
	struct attrdb *other;
	char path[96];

	attrdb_close(db);
	snprintf(path, sizeof(path), "%s/attr.db", dir);
	cr_assert_eq(truncate(path, 0), 0);
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), -ENOENT);
	cr_assert_eq(open_at(ATTRDB_CREATE, 0, &db), 0);
	cr_assert_eq(count_objects("CuDv", ""), 0);
}

Test(attrdb, a_writer_that_died_is_cleaned_up_behind)
{
	struct attrdb_device device;
	struct attrdb *other;
	char command[128];
	FILE *shell;

	/* A copy of the files in the middle of a commit is what a crash
	 * leaves: the pages are in the file already, the journal is there. */
	snprintf(command, sizeof(command), "cd %s && sqlite3 attr.db", dir);
	shell = popen(command, "w");
	cr_assert_not_null(shell);
	fputs("PRAGMA cache_size = 1; PRAGMA foreign_keys = OFF;"
	      "BEGIN IMMEDIATE; UPDATE CuDv SET name = 'gone';"
	      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
	      " SELECT i + 1 FROM n WHERE i < 2000)"
	      " INSERT INTO PdMsg SELECT 'x', 1, i, hex(zeroblob(50)) FROM n;\n"
	      ".shell mkdir crash; cp attr.db attr.db-journal crash/\n",
	      shell);
	cr_assert_eq(pclose(shell), 0);
	snprintf(command, sizeof(command), "test -s %s/crash/attr.db-journal",
		 dir);
	cr_assert_eq(system(command), 0, "no journal: nothing is tested");
	attrdb_close(db);
	strcat(dir, "/crash");
	cr_assert_eq(open_at(ATTRDB_READ, 0, &other), 0);
	cr_assert_eq(attrdb_device_get(other, "dev0", &device), 0);
	attrdb_close(other);
	dir[strlen(dir) - strlen("/crash")] = '\0';
	cr_assert_eq(open_at(ATTRDB_READ, 0, &db), 0);
}
