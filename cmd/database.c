/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* database: opens the attribute database for a command. */
#include "database.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attrdb/device.h"
#include "conf/predefined.h"

#define WAIT_MAX_S 3600

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

static int explain(const struct cmd *cmd, int error, const char *words)
{
	char text[512];

	switch (error) {
	case -EBUSY:
		return message_command(cmd, MESSAGE_LOCKED, NULL);
	case -ENOSPC:
		return message_command(cmd, MESSAGE_FULL, attrdb_dir());
	case -EACCES:
	case -EPERM:
	case -EROFS:
		/* SQLite's own do not name the file. */
		snprintf(text, sizeof(text),
			 "%s%s%s. Run the command as root, or set ODMDIR to a "
			 "directory of yours.",
			 words[0] == '/' ? "" : attrdb_dir(),
			 words[0] == '/' ? "" : "/" ATTRDB_FILE ": ", words);
		return message_command(cmd, MESSAGE_SYSTEM, text);
	case -EILSEQ:
		snprintf(text, sizeof(text),
			 "%s/" ATTRDB_FILE ": %s. Put a copy of the file back, "
			 "or move it away and configure anew.",
			 attrdb_dir(), words);
		return message_command(cmd, MESSAGE_SYSTEM, text);
	default:
		return message_command(cmd, MESSAGE_SYSTEM, words);
	}
}

int database_error(const struct cmd *cmd, const struct attrdb *db, int error)
{
	return explain(cmd, error, attrdb_words(db));
}

static int open_predefined(const struct cmd *cmd, struct attrdb **out)
{
	static const struct attrdb_place memory = {"", ATTRDB_CREATE, 0};
	struct attrdb *db;
	char why[512];
	int error = attrdb_open(&db, &memory, why, sizeof(why));

	if (error)
		return explain(cmd, error, why);
	error = predefined_load(db, why, sizeof(why));
	if (error) {
		message_command(cmd, MESSAGE_SYSTEM,
				why[0] ? why : attrdb_words(db));
		attrdb_close(db);
		return EXIT_REFUSED;
	}
	*out = db;
	return EXIT_DONE;
}

int database_open_read(const struct cmd *cmd, struct attrdb **out)
{
	struct attrdb_place place = {attrdb_dir(), ATTRDB_READ, lock_wait_ms()};
	char why[512];
	int error = attrdb_open(out, &place, why, sizeof(why));

	if (error == -ENOENT)
		return open_predefined(cmd, out);
	return error ? explain(cmd, error, why) : EXIT_DONE;
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
	struct attrdb_place place = {attrdb_dir(),
				     creates ? ATTRDB_CREATE : ATTRDB_WRITE,
				     lock_wait_ms()};
	struct attrdb *db;
	char why[512];
	int error = attrdb_open(&db, &place, why, sizeof(why));

	sigprocmask(SIG_SETMASK, NULL, &out->old_signals);
	out->db = NULL;
	if (error == -ENOENT && !creates)
		return EXIT_DONE;
	if (error)
		return explain(cmd, error, why);
	/* Waiting for the lock may be interrupted; nothing has changed yet. */
	error = attrdb_begin(db);
	if (error) {
		int status = database_error(cmd, db, error);

		attrdb_close(db);
		return status;
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
