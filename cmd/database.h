/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * database: opens the attribute database for a command, and says in AIX's
 * words what went wrong.
 *
 * Each function that returns an exit status has printed the reason already.
 *
 * Ownership: the caller closes what was opened, with attrdb_close().
 */
#ifndef CMD_DATABASE_H
#define CMD_DATABASE_H

#include <signal.h>

#include "attrdb/attrdb.h"
#include "message.h"

/* Seconds to wait for another command; 0 to 3600. */
#define DATABASE_WAIT_VARIABLE "SMC_R_LOCK_WAIT"
#define DATABASE_WAIT_DEFAULT  30

/*
 * For looking: EXIT_DONE or EXIT_REFUSED. Without a database there is one in
 * memory that knows the predefined devices and no customized one, as on a host
 * where nothing was configured yet.
 */
int database_open_read(const struct cmd *cmd, struct attrdb **out);

/* For a change, by the author of this process. argv goes into the history. */
struct database_change {
	struct attrdb *db;
	int error; /* why there is none, where database_begin() said so */
	sigset_t old_signals;
};

/*
 * Begins a change. From here to the end SIGINT, SIGTERM, SIGHUP and SIGQUIT
 * wait. creates: the database is made when there is none; else a missing one
 * is an empty one, and *out->db is NULL (EXIT_DONE).
 */
int database_begin(const struct cmd *cmd, bool creates, char *const *argv,
		   struct database_change *out);
/* Keeps the change: EXIT_DONE or EXIT_REFUSED. */
int database_commit(const struct cmd *cmd, struct database_change *change);
/* Gives up what is not committed, closes, lets signals through again. */
void database_end(struct database_change *change);

/* Says what an error of predefined_load() means, why its words; EXIT_REFUSED.
 */
int database_predefined_failed(const struct cmd *cmd, const struct attrdb *db,
			       int error, const char *why);
/* Says what an error of attrdb means; EXIT_REFUSED. */
int database_error(const struct cmd *cmd, const struct attrdb *db, int error);

#endif
