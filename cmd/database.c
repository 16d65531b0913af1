/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* database: opens the attribute database for a command. */
#include "database.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attrdb/device.h"
#include "conf/place.h"
#include "conf/predefined.h"
#include "conf/publish.h"
#include "conf/rundir.h"

#include "cure.h"

#define WAIT_MAX_S 3600
#define SILENCE_MS 1000 /* of waiting, before it is said */
#define WHY_SIZE   (PATH_MAX + 256)

static int lock_wait_ms(void)
{
	const char *text = secure_getenv(DATABASE_WAIT_VARIABLE);
	char *end;
	long seconds;

	if (!text || !*text)
		return DATABASE_WAIT_DEFAULT * 1000;
	seconds = strtol(text, &end, 10);
	if (*end || seconds < 0 || seconds > WAIT_MAX_S)
		return DATABASE_WAIT_DEFAULT * 1000;
	return (int)seconds * 1000;
}

/* The words name the file, those for 0514 numbers of their own do not. */
static int explain(const struct cmd *cmd, int error, const char *words,
		   const char *variable)
{
	char text[WHY_SIZE + 256];
	const char *cure = cure_of(error, variable);

	switch (error) {
	case -EBUSY:
		snprintf(text, sizeof(text), "%s/" ATTRDB_FILE, attrdb_dir());
		return message_command(cmd, MESSAGE_LOCKED, text);
	case -ENOSPC:
	case -EDQUOT:
		return message_command(cmd, MESSAGE_FULL, attrdb_dir());
	case -EILSEQ:
		cure = "Put a copy of the file back, or move it away and "
		       "configure anew.";
		break;
	/* These have what to do in their words. */
	case -EPROTONOSUPPORT:
	case -EUCLEAN:
	case -EEXIST:
		cure = "";
		break;
	}
	snprintf(text, sizeof(text), "%s%s%s", words, *cure ? ". " : "", cure);
	return message_command(cmd, MESSAGE_SYSTEM, text);
}

int database_error(const struct cmd *cmd, const struct attrdb *db, int error)
{
	return explain(cmd, error, attrdb_words(db), ATTRDB_DIR_VARIABLE);
}

int database_predefined_failed(const struct cmd *cmd, const struct attrdb *db,
			       int error, const char *why)
{
	return explain(cmd, error, why[0] ? why : attrdb_words(db),
		       PLACE_CONFDIR_VARIABLE);
}

/*
 * Opens the database, for a change with its lock. A second of waiting is
 * announced, with what is waited for.
 */
static int open_waiting(const struct cmd *cmd, struct attrdb **out,
			enum attrdb_mode mode, char why[WHY_SIZE])
{
	struct attrdb_place place = {attrdb_dir(), mode, lock_wait_ms()};
	int total_ms = place.lock_wait_ms;
	int error;

	if (total_ms > SILENCE_MS)
		place.lock_wait_ms = SILENCE_MS;
	for (;;) {
		error = attrdb_open(out, &place, why, WHY_SIZE);
		if (!error && mode != ATTRDB_READ) {
			error = attrdb_begin(*out);
			if (error) {
				snprintf(why, WHY_SIZE, "%s",
					 attrdb_words(*out));
				attrdb_close(*out);
			}
		}
		total_ms -= place.lock_wait_ms;
		if (error != -EBUSY || total_ms <= 0)
			return error;
		message_note(cmd,
			     "another command has locked %s/" ATTRDB_FILE
			     "; waiting for it, for %d seconds at most",
			     attrdb_dir(), total_ms / 1000);
		place.lock_wait_ms = total_ms;
	}
}

static int open_predefined(const struct cmd *cmd, struct attrdb **out)
{
	static const struct attrdb_place memory = {"", ATTRDB_CREATE, 0};
	struct attrdb *db;
	char why[WHY_SIZE];
	int error = attrdb_open(&db, &memory, why, sizeof(why));

	if (error)
		return explain(cmd, error, why, ATTRDB_DIR_VARIABLE);
	error = predefined_load(db, why, sizeof(why));
	if (error) {
		database_predefined_failed(cmd, db, error, why);
		attrdb_close(db);
		return EXIT_REFUSED;
	}
	*out = db;
	return EXIT_DONE;
}

int database_open_read(const struct cmd *cmd, struct attrdb **out)
{
	char why[WHY_SIZE];
	int error = open_waiting(cmd, out, ATTRDB_READ, why);

	if (error == -ENOENT)
		return open_predefined(cmd, out);
	return error ? explain(cmd, error, why, ATTRDB_DIR_VARIABLE)
		     : EXIT_DONE;
}

/* One line, so that the history stays readable. */
static void join(char *const *argv, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (; *argv && used < size; argv++) {
		bool has_blank = (*argv)[0] == '\0' || strpbrk(*argv, " \t\n");
		const char *quote = has_blank ? "'" : "";
		int n = snprintf(out + used, size - used, "%s%s%s%s",
				 used ? " " : "", quote, *argv, quote);

		used += n < 0 ? 0 : (size_t)n;
	}
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

static void set_author(struct attrdb *db, char *const *argv)
{
	const struct passwd *user = getpwuid(getuid());
	char command[ODM_VALUE_SIZE];
	const char *slash = strrchr(argv[0], '/');
	char number[24];

	join(argv, command, sizeof(command));
	snprintf(number, sizeof(number), "%lu", (unsigned long)getuid());
	attrdb_author_set(db, (int64_t)getuid(), user ? user->pw_name : number,
			  slash ? command + (slash + 1 - argv[0]) : command);
}

static void block_signals(sigset_t *old_signals)
{
	static const int waiting[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++)
		sigaddset(&set, waiting[i]);
	sigprocmask(SIG_BLOCK, &set, old_signals);
}

int database_begin(const struct cmd *cmd, bool creates, char *const *argv,
		   struct database_change *out)
{
	struct attrdb *db;
	char why[WHY_SIZE];
	int error;

	sigprocmask(SIG_SETMASK, NULL, &out->old_signals);
	out->db = NULL;
	/* Waiting for the lock may be interrupted; nothing has changed yet. */
	error =
	    open_waiting(cmd, &db, creates ? ATTRDB_CREATE : ATTRDB_WRITE, why);
	out->error = error;
	if (error == -ENOENT && !creates)
		return EXIT_DONE;
	if (error) {
		explain(cmd, error, why, ATTRDB_DIR_VARIABLE);
		if (!cmd->ends_anyway &&
		    publish_owner_is(rundir_path(), attrdb_dir()))
			message_note(cmd, "rmdev -l " RUNDIR_SNAPSHOT
					  " turns SMC-R off without it");
		return EXIT_REFUSED;
	}
	block_signals(&out->old_signals);
	set_author(db, argv);
	out->db = db;
	return EXIT_DONE;
}

int database_commit(const struct cmd *cmd, struct database_change *change)
{
	int error = attrdb_commit(change->db);

	return error ? database_error(cmd, change->db, error) : EXIT_DONE;
}

void database_end(struct database_change *change)
{
	if (change->db) {
		attrdb_rollback(change->db);
		attrdb_close(change->db);
		change->db = NULL;
	}
	sigprocmask(SIG_SETMASK, &change->old_signals, NULL);
}
