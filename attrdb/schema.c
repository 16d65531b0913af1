/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* schema: tables of the attribute database. */
#include "schema.h"

#include <stdio.h>

#include "sql.h"

/*
 * CuAt holds only what differs from the default (as on AIX). configured holds
 * what the running device was given: its value when it was last configured,
 * and the value it runs with, which chdev -T can move away from both others.
 */
static const char version_1[] =
    "CREATE TABLE PdDv ("
    " uniquetype TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL,"
    " class TEXT NOT NULL, subclass TEXT NOT NULL, prefix TEXT NOT NULL,"
    " devid TEXT, base INTEGER, has_vpd INTEGER, detectable INTEGER,"
    " chgstatus INTEGER, bus_ext INTEGER, inventory_only INTEGER,"
    " fru INTEGER, led INTEGER, setno INTEGER, msgno INTEGER, catalog TEXT,"
    " DvDr TEXT, Define TEXT, Configure TEXT, Change TEXT, Unconfigure TEXT,"
    " Undefine TEXT, Start TEXT, Stop TEXT) STRICT;"

    "CREATE TABLE PdAt ("
    " uniquetype TEXT NOT NULL, attribute TEXT NOT NULL,"
    " deflt TEXT NOT NULL, \"values\" TEXT NOT NULL, width TEXT,"
    " type TEXT NOT NULL, generic TEXT, rep TEXT, nls_index INTEGER,"
    " PRIMARY KEY (uniquetype, attribute)) STRICT;"

    "CREATE TABLE PdAtXtd ("
    " uniquetype TEXT NOT NULL, attribute TEXT NOT NULL DEFAULT '',"
    " operation TEXT NOT NULL DEFAULT '', classification TEXT, sequence TEXT,"
    " operation_value TEXT, description TEXT, list_cmd TEXT,"
    " list_values_cmd TEXT, change_cmd TEXT, help TEXT, nls_values TEXT,"
    " PRIMARY KEY (uniquetype, attribute, operation)) STRICT;"

    "CREATE TABLE PdMsg ("
    " catalog TEXT NOT NULL, setno INTEGER NOT NULL, msgno INTEGER NOT NULL,"
    " text TEXT NOT NULL, PRIMARY KEY (catalog, setno, msgno)) STRICT;"

    "CREATE TABLE CuDv ("
    " name TEXT NOT NULL PRIMARY KEY, status INTEGER NOT NULL,"
    " chgstatus INTEGER NOT NULL, ddins TEXT, location TEXT, parent TEXT,"
    " connwhere TEXT, PdDvLn TEXT NOT NULL REFERENCES PdDv (uniquetype),"
    " CHECK (status IN (0, 1, 2))) STRICT;"

    "CREATE TABLE CuAt ("
    " name TEXT NOT NULL REFERENCES CuDv (name) ON DELETE CASCADE,"
    " attribute TEXT NOT NULL, value TEXT NOT NULL, type TEXT NOT NULL,"
    " generic TEXT NOT NULL, rep TEXT NOT NULL, nls_index INTEGER,"
    " PRIMARY KEY (name, attribute)) STRICT;"

    "CREATE TABLE CuDep ("
    " name TEXT NOT NULL REFERENCES CuDv (name) ON DELETE CASCADE,"
    " dependency TEXT NOT NULL REFERENCES CuDv (name) ON DELETE CASCADE,"
    " PRIMARY KEY (name, dependency)) STRICT;"

    "CREATE TABLE configured ("
    " name TEXT NOT NULL REFERENCES CuDv (name) ON DELETE CASCADE,"
    " attribute TEXT NOT NULL, value TEXT NOT NULL, running TEXT NOT NULL,"
    " PRIMARY KEY (name, attribute)) STRICT;"

    "CREATE TABLE history ("
    " id INTEGER PRIMARY KEY, time INTEGER NOT NULL, uid INTEGER NOT NULL,"
    " user TEXT NOT NULL, command TEXT NOT NULL, device TEXT NOT NULL,"
    " attribute TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL) STRICT;"

    "CREATE VIEW effective AS SELECT d.name AS name, p.attribute AS attribute,"
    " coalesce(c.value, p.deflt) AS value FROM CuDv d"
    " JOIN PdAt p ON p.uniquetype = d.PdDvLn"
    " LEFT JOIN CuAt c ON c.name = d.name AND c.attribute = p.attribute;";

/* The screens of smit; only the fields without which there is no screen are
 * needed. */
static const char version_2[] =
    "CREATE TABLE sm_menu_opt ("
    " id TEXT NOT NULL, id_seq_num TEXT NOT NULL, next_id TEXT,"
    " text TEXT NOT NULL, text_msg_file TEXT, text_msg_set INTEGER,"
    " text_msg_id INTEGER, next_type TEXT, alias TEXT,"
    " help_msg_id TEXT, help_msg_loc TEXT, help_msg_base TEXT,"
    " help_msg_book TEXT, PRIMARY KEY (id, id_seq_num)) STRICT;"

    "CREATE TABLE sm_name_hdr ("
    " id TEXT NOT NULL, next_id TEXT NOT NULL,"
    " option_id TEXT NOT NULL, has_name_select TEXT,"
    " name TEXT NOT NULL, name_msg_file TEXT, name_msg_set INTEGER,"
    " name_msg_id INTEGER, type TEXT, ghost TEXT,"
    " cmd_to_classify TEXT, cmd_to_classify_postfix TEXT,"
    " raw_field_name TEXT, cooked_field_name TEXT,"
    " next_type TEXT NOT NULL, help_msg_id TEXT, help_msg_loc TEXT,"
    " help_msg_base TEXT, help_msg_book TEXT,"
    " PRIMARY KEY (id)) STRICT;"

    "CREATE TABLE sm_cmd_hdr ("
    " id TEXT NOT NULL, option_id TEXT NOT NULL,"
    " has_name_select TEXT, name TEXT NOT NULL, name_msg_file TEXT,"
    " name_msg_set INTEGER, name_msg_id INTEGER,"
    " cmd_to_exec TEXT NOT NULL, ask TEXT, exec_mode TEXT,"
    " ghost TEXT, cmd_to_discover TEXT, cmd_to_discover_postfix TEXT,"
    " name_size INTEGER, value_size INTEGER, help_msg_id TEXT,"
    " help_msg_loc TEXT, help_msg_base TEXT, help_msg_book TEXT,"
    " PRIMARY KEY (id)) STRICT;"

    "CREATE TABLE sm_cmd_opt ("
    " id TEXT NOT NULL, id_seq_num TEXT NOT NULL,"
    " disc_field_name TEXT, name TEXT NOT NULL, name_msg_file TEXT,"
    " name_msg_set INTEGER, name_msg_id INTEGER, op_type TEXT,"
    " entry_type TEXT, entry_size INTEGER, required TEXT,"
    " prefix TEXT, cmd_to_list_mode TEXT, cmd_to_list TEXT,"
    " cmd_to_list_postfix TEXT, multi_select TEXT,"
    " value_index INTEGER, disp_values TEXT, values_msg_file TEXT,"
    " values_msg_set INTEGER, values_msg_id INTEGER, aix_values TEXT,"
    " help_msg_id TEXT, help_msg_loc TEXT, help_msg_base TEXT,"
    " help_msg_book TEXT, PRIMARY KEY (id, id_seq_num)) STRICT;";

/* steps[i] leads from version i to i + 1. */
static const char *const steps[] = {version_1, version_2};

int schema_current(void)
{
	return (int)(sizeof(steps) / sizeof(steps[0]));
}

int schema_version(struct attrdb *db, int *out)
{
	sqlite3_stmt *statement;
	int error = sql_start(db, &statement, "PRAGMA user_version", "");

	if (error)
		return error;
	error = sql_step(db, statement);
	if (error == 1)
		*out = sqlite3_column_int(statement, 0);
	sql_end(statement);
	return error < 0 ? error : 0;
}

int schema_migrate(struct attrdb *db)
{
	char set_version[48];
	int version = 0;
	int error = schema_version(db, &version);

	/* Somebody else may have done it while we waited for the lock. */
	while (!error && version >= 0 && version < schema_current())
		error = sql_script(db, steps[version++]);
	if (error)
		return error;
	snprintf(set_version, sizeof(set_version), "PRAGMA user_version = %d",
		 version);
	return sql_script(db, set_version);
}
