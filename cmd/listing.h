/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * listing: how lsattr shows attributes and operations.
 *
 * Each function returns an exit status and has printed the reason.
 *
 * Ownership: the listing owns its list; listing_fini() frees it. The database
 *	      and the request stay the caller's.
 */
#ifndef CMD_LISTING_H
#define CMD_LISTING_H

#include "attrdb/device.h"

#include "message.h"

#define LISTING_NAMES_MAX 32

struct listing_request {
	struct attrdb_kind kind;
	const char *name, *format;
	const char *attributes[LISTING_NAMES_MAX],
	    *operations[LISTING_NAMES_MAX];
	unsigned attribute_count, operation_count;
	char view;      /* E, D or P; 0 for none */
	char separator; /* -Z; 0 for a new line */
	bool lists_values, is_colons, has_header, has_two_views;
};

struct listing {
	const struct cmd *cmd;
	const struct listing_request *r;
	struct attrdb *db;
	char uniquetype[ODM_UNIQUE_SIZE];
	struct attrdb_attribute *list;
	int count;
};

/* Prints what the request asks for, of the device or kind that was found. */
int listing_print(struct listing *l);
void listing_fini(struct listing *l);

/* Says it, and returns EXIT_UNKNOWN. */
int listing_unknown(const struct cmd *cmd, enum message number,
		    const char *object);

#endif
