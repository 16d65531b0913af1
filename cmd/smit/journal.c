/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* journal: smit.log and smit.script. */
#include "cmd/smit/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
	int log, script;
	char log_path[PATH_MAX], script_path[PATH_MAX];
	bool traces;
} journal = {.log = -1, .script = -1};

static const char *home(void)
{
	const char *dir = secure_getenv("HOME");
	const struct passwd *user;

	if (dir && dir[0])
		return dir;
	user = getpwuid(getuid());
	return user ? user->pw_dir : "/";
}

static const char *judge(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (S_ISCHR(st.st_mode))
		return NULL;
	if (!S_ISREG(st.st_mode))
		return "it is no regular file";
	if (st.st_nlink > 1)
		return "it has a second name";
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return "it belongs to another user";
	return NULL;
}

/* A descriptor, or -errno with why. */
static int open_one(const char *path, char letter, char *why, size_t size)
{
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY |
			  O_NONBLOCK | O_CLOEXEC,
		      0600);
	const char *words = NULL;
	int error = EACCES;

	if (fd < 0) {
		error = errno;
		words = error == ELOOP ? "it is a link" : strerror(error);
	} else {
		words = judge(fd);
	}
	if (!words)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(why, size, "%s: %s. Name another file with -%c.", path, words,
		 letter);
	return -error;
}

static int place(const char *path, const char *name, char out[PATH_MAX])
{
	int n = path ? snprintf(out, PATH_MAX, "%s", path)
		     : snprintf(out, PATH_MAX, "%s/%s", home(), name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* For the commands of screens; AIX's names. */
static void tell_children(void)
{
	setenv("_SMIT_LOG_FILE", journal.log_path, 1);
	setenv("_SMIT_SCRIPT_FILE", journal.script_path, 1);
	setenv("_SMIT_TRACE_FLAG", journal.traces ? "1" : "0", 1);
	setenv("_SMIT_VERBOSE_FLAG", "0", 1);
	setenv("_SMIT_DEBUG_FLAG", "0", 1);
}

int journal_open(const struct journal_places *places, char *why, size_t size)
{
	struct stat st;

	journal.traces = places->traces;
	if (place(places->log, JOURNAL_LOG, journal.log_path) < 0 ||
	    place(places->script, JOURNAL_SCRIPT, journal.script_path) < 0) {
		snprintf(why, size,
			 "the name of the log or of the script is "
			 "too long. Use -l and -s.");
		return -ENAMETOOLONG;
	}
	journal.log = open_one(journal.log_path, 'l', why, size);
	if (journal.log < 0)
		return journal.log;
	journal.script = open_one(journal.script_path, 's', why, size);
	if (journal.script < 0)
		return journal.script;
	if (fstat(journal.script, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size == 0 && write(journal.script, "#!/bin/sh\n", 10) < 0) {
		snprintf(why, size, "%s: %s. Name another file with -s.",
			 journal.script_path, strerror(errno));
		return -errno;
	}
	tell_children();
	return 0;
}

void journal_close(void)
{
	if (journal.log >= 0)
		close(journal.log);
	if (journal.script >= 0)
		close(journal.script);
	journal.log = journal.script = -1;
}

const char *journal_log_path(void)
{
	return journal.log_path;
}

/* A log that cannot be written must not keep anybody from his work. */
static void put(int fd, const char *text, size_t length)
{
	while (fd >= 0 && length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

static void now(char *out, size_t size)
{
	time_t seconds = time(NULL);
	struct tm parts;

	out[0] = '\0';
	if (localtime_r(&seconds, &parts))
		strftime(out, size, "[%b %d %Y, %H:%M:%S]", &parts);
}

__attribute__((format(printf, 1, 0))) static void note(const char *format,
						       va_list arguments)
{
	char *words = NULL, *line = NULL, date[64];
	int n;

	if (vasprintf(&words, format, arguments) < 0)
		return;
	now(date, sizeof(date));
	n = asprintf(&line, "%s\n%s\n", date, words);
	free(words);
	if (n < 0)
		return;
	put(journal.log, line, (size_t)n);
	free(line);
}

void journal_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	note(format, arguments);
	va_end(arguments);
}

void journal_trace(const char *format, ...)
{
	va_list arguments;

	if (!journal.traces)
		return;
	va_start(arguments, format);
	note(format, arguments);
	va_end(arguments);
}

void journal_text(const char *text, size_t length)
{
	put(journal.log, text, length);
}

void journal_command(const char *command)
{
	char *block, date[64];
	int n;

	now(date, sizeof(date));
	n = asprintf(&block, "#\n# %s\n#\n%s\n", date, command);
	if (n < 0)
		return;
	put(journal.script, block, (size_t)n);
	free(block);
}
