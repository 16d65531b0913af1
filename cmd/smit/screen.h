/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * screen: what smit shows, as the objects of the database describe it.
 *
 * A menu leads to other screens. A selector asks for one name, and then leads
 * on. A dialog has fields, from whose values a command line is made (entry.h,
 * command_line.h).
 *
 * Ownership: a screen owns its texts; screen_fini() frees them. Begins as
 *	      zeros.
 * Locking:   none.
 */
#ifndef CMD_SMIT_SCREEN_H
#define CMD_SMIT_SCREEN_H

#include <stdbool.h>

#include "attrdb/attrdb.h"
#include "attrdb/stanza.h"

#define SCREEN_ROOT    "top_menu"
#define SCREEN_ID_SIZE 65

enum screen_kind {
	SCREEN_NONE = 0,
	SCREEN_MENU = 'm',
	SCREEN_SELECTOR = 'n',
	SCREEN_DIALOG = 'd',
};

/* A line of a menu, or a field; the texts live in its object. */
struct screen_part {
	struct stanza object; /* of sm_menu_opt or sm_cmd_opt */
	char *help;           /* "" when there is none */
};

struct screen {
	enum screen_kind kind;
	char id[SCREEN_ID_SIZE];
	struct stanza head; /* of sm_menu_opt, sm_name_hdr or sm_cmd_hdr */
	struct screen_part *parts;
	unsigned count;
};

/*
 * Where a fast path leads: the kind of a screen, and its id in *id. The name of
 * a screen is one, and so is an alias. SCREEN_NONE: there is no such screen; or
 * the database failed, which *error tells.
 */
enum screen_kind screen_find(struct attrdb *db, const char *fast_path,
			     char id[SCREEN_ID_SIZE], int *error);

/* 0, -ENOENT, or another -errno of attrdb.h. */
int screen_load(struct attrdb *db, enum screen_kind kind, const char *id,
		struct screen *out);
void screen_fini(struct screen *s);

const char *screen_title(const struct screen *s);
/* A field of the head; "" when it is not there. */
const char *screen_word(const struct screen *s, const char *name);
/* A field of the i-th line or field of the screen. */
const char *screen_part_word(const struct screen *s, unsigned i,
			     const char *name);
/* Where the i-th line of a menu leads. */
enum screen_kind screen_next(const struct screen *s, unsigned i);
/* Where a selector leads. */
enum screen_kind screen_follows(const struct screen *s);

#endif
