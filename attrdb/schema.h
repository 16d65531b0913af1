/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * schema: tables of the attribute database, and the steps to this version.
 *
 * For the files of this room only.
 */
#ifndef ATTRDB_SCHEMA_H
#define ATTRDB_SCHEMA_H

struct attrdb;

/* The version of the open file; 0 for an empty one. */
int schema_version(struct attrdb *db, int *out);
/* The version that this program knows. */
int schema_current(void);
/* Brings it to the current version; within a change. */
int schema_migrate(struct attrdb *db);

#endif
