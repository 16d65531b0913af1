/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * no: shows and changes network tunables. There is one, roce_v2_mode, of type
 * Reboot: only its value for the next start can be changed.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "conf/tunables.h"

#include "cure.h"
#include "output.h"
#include "version.h"

#define REQUESTS_MAX 32
#define RULE                                                                   \
	"--------------------------------------------------------------------" \
	"------------\n"

static const char usage[] = "Usage: no [-p | -r] { -o Tunable[=NewValue] }\n"
			    "       no [-p | -r] { -d Tunable }\n"
			    "       no [-p | -r] { -D }\n"
			    "       no [-p | -r] [-F] -a\n"
			    "       no -h [Tunable]\n"
			    "       no [-F] -L [Tunable]\n"
			    "       no [-F] -x [Tunable]\n"
			    "       no -?\n";

/* One thing to do: a flag and what it is about. */
struct request {
	char flag; /* o, d, D, a, L, x, h */
	char *word;
};

struct options {
	bool permanent, reboot;
	struct request request[REQUESTS_MAX];
	int count;
};

struct values {
	long current, boot;
};

static int print_usage(void)
{
	fputs(usage, stderr);
	return 1;
}

/* ---- Values ------------------------------------------------------------- */

static int file_failed(const char *file, unsigned line, int error)
{
	char dir[PATH_MAX];

	if (tunables_dir(dir, sizeof(dir)) != 0)
		strcpy(dir, "?");
	if (line)
		fprintf(stderr,
			"no: %s/%s, line %u: %s; correct the line, or "
			"remove it\n",
			dir, file, line,
			error == -EILSEQ
			    ? "this is neither the head of a stanza nor an "
			      "attribute"
			    : "the value is neither DEFAULT nor a number in "
			      "range");
	else
		fprintf(stderr, "no: %s/%s: %s. %s\n", dir, file,
			strerror(-error), cure_of(error, TUNABLES_VARIABLE));
	return 1;
}

static int lock_failed(int error)
{
	char dir[PATH_MAX];

	if (tunables_dir(dir, sizeof(dir)) != 0)
		strcpy(dir, "?");
	fprintf(stderr, "no: %s/" TUNABLES_LOCK ": %s\n", dir,
		error == -ETIMEDOUT
		    ? "another command has held this lock for too long"
		    : "other users could hold this lock; remove the file");
	return 1;
}

static int get_values(const struct tunable *t, struct values *out)
{
	unsigned line;
	int error = tunables_get(TUNABLES_LASTBOOT, t, &out->current, &line);

	if (error)
		return file_failed(TUNABLES_LASTBOOT, line, error);
	error = tunables_get(TUNABLES_NEXTBOOT, t, &out->boot, &line);
	if (error)
		return file_failed(TUNABLES_NEXTBOOT, line, error);
	return 0;
}

static const struct tunable *find(const char *name)
{
	const struct tunable *t = tunables_find(name);

	if (!t)
		fprintf(stderr, "no: invalid tunable name %s\n", name);
	return t;
}

/* What -o and -a show; with -p only a value that will stay. */
static void value_text(const struct options *options, const struct values *v,
		       char *out, size_t size)
{
	if (options->permanent && v->current != v->boot)
		snprintf(out, size, "NONE");
	else
		snprintf(out, size, "%ld",
			 options->reboot ? v->boot : v->current);
}

/* ---- Showing ------------------------------------------------------------ */

static int show_one(const struct options *options, const struct tunable *t)
{
	struct values v;
	char text[32];

	if (get_values(t, &v) != 0)
		return 1;
	value_text(options, &v, text, sizeof(text));
	printf("%s = %s\n", t->name, text);
	return 0;
}

static int show_all(const struct options *options)
{
	struct values v;
	char text[32];
	size_t i;

	putchar('\n');
	for (i = 0; i < TUNABLES_COUNT; i++) {
		if (get_values(&tunables[i], &v) != 0)
			return 1;
		value_text(options, &v, text, sizeof(text));
		printf("%25s = %s\n", tunables[i].name, text);
	}
	return 0;
}

static int list_row(const struct tunable *t)
{
	struct values v;

	if (get_values(t, &v) != 0)
		return 1;
	printf("%-25s %-6ld %-6ld %-6ld %-6ld %-6ld %-17s %c\n" RULE, t->name,
	       v.current, t->initial, v.boot, t->min, t->max, t->unit, t->type);
	return 0;
}

static int sheet_row(const struct tunable *t)
{
	struct values v;

	if (get_values(t, &v) != 0)
		return 1;
	printf("%s,%ld,%ld,%ld,%ld,%ld,%s,%c,\n", t->name, v.current,
	       t->initial, v.boot, t->min, t->max, t->unit, t->type);
	return 0;
}

static void list_head(void)
{
	fputs("NAME                      CUR    DEF    BOOT   MIN    MAX    "
	      "UNIT           TYPE\n"
	      "     DEPENDENCIES\n" RULE,
	      stdout);
}

static int help_text(const struct tunable *t)
{
	printf("%s:\n%s\n\n", t->name, t->help);
	list_head();
	return list_row(t);
}

/* Once for the named tunable, or for each. */
static int for_each(const char *word, int (*show)(const struct tunable *t))
{
	const struct tunable *t;
	int result = 0;
	size_t i;

	if (word) {
		t = find(word);
		return t ? show(t) : 1;
	}
	for (i = 0; i < TUNABLES_COUNT && !result; i++)
		result = show(&tunables[i]);
	return result;
}

/* ---- Changing ----------------------------------------------------------- */

static int put_boot(const struct tunable *t, long value)
{
	unsigned line;
	long before;
	int error = tunables_get(TUNABLES_NEXTBOOT, t, &before, &line);

	/* The file would stay one that nothing reads; a wrong value goes. */
	if (error == -EILSEQ)
		return file_failed(TUNABLES_NEXTBOOT, line, error);
	error = tunables_put(TUNABLES_NEXTBOOT, t, value);
	if (error == -ETIMEDOUT || error == -EUCLEAN)
		return lock_failed(error);
	if (error)
		return file_failed(TUNABLES_NEXTBOOT, 0, error);
	printf("Setting %s to %ld in nextboot file\n", t->name, value);
	syslog(LOG_NOTICE, "%s set to %ld in nextboot file by user %u", t->name,
	       value, (unsigned)getuid());
	return 0;
}

static int change(const struct options *options, const struct tunable *t,
		  long value)
{
	struct values v;

	if (value < t->min || value > t->max) {
		if (get_values(t, &v) != 0)
			return 1;
		fprintf(stderr,
			"no: %s could not be set to %ld, which is out of "
			"range, and was left to its current value (%ld) "
			"instead; valid are %ld to %ld\n",
			t->name, value, v.boot, t->min, t->max);
		return 1;
	}
	if (options->reboot)
		return put_boot(t, value);
	fprintf(stderr,
		"no: %s is a Reboot tunable and cannot be changed while the "
		"system runs; use no -r -o %s=%ld\n",
		t->name, t->name, value);
	return 1;
}

/* What is the default already needs no change, so that -D always works then. */
static int reset(const struct options *options, const struct tunable *t)
{
	struct values v;

	if (get_values(t, &v) != 0)
		return 1;
	if (!options->reboot && v.current == t->initial &&
	    (!options->permanent || v.boot == t->initial))
		return 0;
	return change(options, t, t->initial);
}

static int set_or_show(const struct options *options, char *word, bool *set)
{
	char *equals = strchr(word, '=');
	const struct tunable *t;
	char *end;
	long value;

	if (!equals) {
		t = find(word);
		return t ? show_one(options, t) : 1;
	}
	*equals = '\0';
	t = find(word);
	if (!t)
		return 1;
	errno = 0;
	value = strtol(equals + 1, &end, 10);
	if (end == equals + 1 || *end || errno) {
		fprintf(stderr,
			"no: %s: \"%s\" is not a number; valid are %ld to "
			"%ld\n",
			t->name, equals + 1, t->min, t->max);
		return 1;
	}
	*set = true;
	return change(options, t, value);
}

static int reset_all(const struct options *options)
{
	int result = 0;
	size_t i;

	for (i = 0; i < TUNABLES_COUNT; i++)
		result |= reset(options, &tunables[i]);
	return result;
}

/* ---- Requests ----------------------------------------------------------- */

static int obey(const struct options *options, const struct request *r,
		bool *set)
{
	const struct tunable *t;

	switch (r->flag) {
	case 'o':
		return set_or_show(options, r->word, set);
	case 'd':
		t = find(r->word);
		*set = true;
		return t ? reset(options, t) : 1;
	case 'D':
		*set = true;
		return reset_all(options);
	case 'a':
		return show_all(options);
	case 'L':
		if (r->word && !find(r->word))
			return 1;
		list_head();
		return for_each(r->word, list_row);
	case 'x':
		return for_each(r->word, sheet_row);
	}
	if (!r->word)
		fputs(usage, stdout);
	return r->word ? for_each(r->word, help_text) : 0;
}

static int obey_all(const struct options *options)
{
	bool set = false;
	int i, result = 0;

	for (i = 0; i < options->count; i++)
		result |= obey(options, &options->request[i], &set);
	if (set && options->reboot && !result)
		puts("Warning: changes will take effect only at next reboot");
	return result;
}

/* -o, -d, -L and -x may be repeated and mixed with their like; -a, -D and -h
 * stand alone; -p and -r go with what has a value. */
static bool is_consistent(const struct options *options)
{
	int i;

	if (options->count == 0 || (options->permanent && options->reboot))
		return false;
	for (i = 0; i < options->count; i++) {
		char flag = options->request[i].flag;

		if (strchr("aDh", flag) && options->count > 1)
			return false;
		if (strchr("Lxh", flag) &&
		    (options->permanent || options->reboot))
			return false;
	}
	return true;
}

static bool add(struct options *options, int flag, char *word)
{
	if (options->count == REQUESTS_MAX)
		return false;
	options->request[options->count].flag = (char)flag;
	options->request[options->count++].word = word;
	return true;
}

/* A word without a flag belongs to the -L, -x or -h before it. */
static bool attach(struct options *options, char *word)
{
	struct request *last;

	if (!options->count)
		return false;
	last = &options->request[options->count - 1];
	if (last->word || !strchr("Lxh", last->flag))
		return false;
	last->word = word;
	return true;
}

static bool parse(int argc, char **argv, struct options *options)
{
	int flag;
	bool good = true;

	while (good && (flag = getopt(argc, argv, "-prFo:d:DahLx")) != -1) {
		switch (flag) {
		case 'p':
			options->permanent = true;
			break;
		case 'r':
			options->reboot = true;
			break;
		case 'F': /* there are no restricted tunables to include */
			break;
		case 1:
			good = attach(options, optarg);
			break;
		case '?':
			good = false;
			break;
		default:
			good = add(options, flag, optarg);
		}
	}
	return good && optind == argc && is_consistent(options);
}

int main(int argc, char **argv)
{
	struct options options = {.count = 0};
	int status;

	if (version_answer("no", argc, argv, &status))
		return status;
	/* -? is asked for, so it is no error. */
	if (argc == 2 && strcmp(argv[1], "-?") == 0) {
		fputs(usage, stdout);
		return output_end("no", 0, 1);
	}
	if (!parse(argc, argv, &options))
		return print_usage();
	openlog("no", LOG_PID, LOG_USER);
	return output_end("no", obey_all(&options), 1);
}
