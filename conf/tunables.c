/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tunables: reads and changes the stanza files of the no command.
 */
#include "tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attrdb/lock_file.h"
#include "attrdb/whole_file.h"

#define STANZA       "no:"
#define BYTES_MAX    65536
#define LOCK_WAIT_MS 5000

const struct tunable tunables[TUNABLES_COUNT] = {
    {"roce_v2_mode", 0, 0, 1, "boolean", 'R',
     "Specifies the version of RoCE (RDMA over Converged Ethernet) that the\n"
     "RDMA core speaks. 0: version 1, Ethernet type 0x8915, within one\n"
     "broadcast domain. 1: version 2, UDP port 4791, across routers, over\n"
     "IPv4. Both ends of a connection must use the same version. The value\n"
     "takes effect when the RDMA core is started the next time (ofedctrl\n"
     "-u, ofedctrl -l)."},
};

const struct tunable *tunables_find(const char *name)
{
	size_t i;

	for (i = 0; i < TUNABLES_COUNT; i++) {
		if (strcmp(tunables[i].name, name) == 0)
			return &tunables[i];
	}
	return NULL;
}

int tunables_dir(char *out, size_t size)
{
	const char *named = getenv(TUNABLES_VARIABLE);
	const char *conf = getenv("OFED_CONF");
	const char *slash = conf ? strrchr(conf, '/') : NULL;
	int n;

	if (named && *named)
		n = snprintf(out, size, "%s", named);
	else if (conf && *conf)
		n = snprintf(out, size, "%.*s/tunables",
			     slash ? (int)(slash - conf) : 1,
			     slash ? conf : ".");
	else
		n = snprintf(out, size, "%s", TUNABLES_DIR);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- Lines -------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* Is this line the head of the stanza? Of another one? */
static bool is_head(const char *line, const char *stanza)
{
	size_t n = strlen(stanza);

	return strncmp(line, stanza, n) == 0 &&
	       strchr("\r\n", *skip_blanks(line + n));
}

static bool begins_stanza(const char *line)
{
	return !strchr(" \t\r\n#*", *line);
}

/* What follows "name =" when the line is that name's; else NULL. */
static const char *value_of(const char *line, const char *name)
{
	size_t n = strlen(name);
	const char *at = skip_blanks(line);

	if (at == line || strncmp(at, name, n) != 0)
		return NULL;
	at = skip_blanks(at + n);
	return *at == '=' ? skip_blanks(at + 1) : NULL;
}

/* Is it what a stanza file may hold: a head, a comment, nothing, name = ...? */
static bool is_line(const char *line)
{
	const char *at = skip_blanks(line);

	if (strchr("\r\n#*", *at))
		return true;
	at += strcspn(at, at == line ? " \t:\r\n" : " \t=\r\n");
	at = skip_blanks(at);
	if (*at != (begins_stanza(line) ? ':' : '='))
		return false;
	return !begins_stanza(line) || strchr("\r\n", *skip_blanks(at + 1));
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

struct place {
	const char *head;  /* the line of the stanza, or NULL */
	const char *line;  /* the first line of the tunable, or NULL */
	const char *value; /* behind its '=' */
	unsigned number;   /* of that line, from 1 */
};

static void find(const char *text, const char *name, struct place *out)
{
	const char *line;
	bool inside = false;
	unsigned number = 0;

	memset(out, 0, sizeof(*out));
	for (line = text; *line; line = next_line(line)) {
		number++;
		if (begins_stanza(line)) {
			inside = is_head(line, STANZA);
			if (inside && !out->head)
				out->head = line;
		} else if (inside) {
			out->value = value_of(line, name);
		}
		if (out->value) {
			out->line = line;
			out->number = number;
			return;
		}
	}
}

/* `"1"`, `1` or `"DEFAULT"`, and nothing behind. */
static int decode_value(const char *at, const struct tunable *t, long *out)
{
	bool quoted = *at == '"';
	char *end;
	long value;

	at += quoted;
	if (strncmp(at, "DEFAULT", 7) == 0) {
		value = t->initial;
		end = strchr(at, 'T') + 1;
	} else {
		errno = 0;
		value = strtol(at, &end, 10);
		if (end == at || errno)
			return -EINVAL;
	}
	if (quoted && *end++ != '"')
		return -EINVAL;
	if (!strchr("\r\n", *skip_blanks(end)) || value < t->min ||
	    value > t->max)
		return -EINVAL;
	*out = value;
	return 0;
}

/* ---- Files -------------------------------------------------------------- */

/* The text of the file, from malloc; "" when it is missing. */
static int read_text(int dir, const char *file, char **out)
{
	ssize_t length = 0;
	char *text;
	int error = 0;
	int fd =
	    openat(dir, file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno != ENOENT)
		return -errno;
	text = calloc(1, BYTES_MAX + 2);
	if (!text)
		error = -ENOMEM;
	else if (fd >= 0)
		length = read(fd, text, BYTES_MAX + 1);
	if (length < 0)
		error = -errno;
	else if (length > BYTES_MAX)
		error = -EFBIG;
	else if (text && strlen(text) != (size_t)length)
		error = -EINVAL; /* a change would lose what follows a NUL */
	if (fd >= 0)
		close(fd);
	if (error)
		free(text);
	else
		*out = text;
	return error;
}

static int open_dir(bool make)
{
	char path[PATH_MAX];
	int dir, error = tunables_dir(path, sizeof(path));

	if (error)
		return error;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT && make) {
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return dir < 0 ? -errno : dir;
}

int tunables_decode(const char *text, const struct tunable *t, long *value,
		    unsigned *line)
{
	struct place place;

	*line = 0;
	for (const char *at = text; *at; at = next_line(at)) {
		++*line;
		if (!is_line(at))
			return -EILSEQ;
	}
	find(text, t->name, &place);
	*line = place.number;
	if (place.line)
		return decode_value(place.value, t, value);
	*value = t->initial;
	return 0;
}

int tunables_get(const char *file, const struct tunable *t, long *value,
		 unsigned *line)
{
	char *text = NULL;
	int error, dir = open_dir(false);

	*line = 0;
	if (dir == -ENOENT) {
		*value = t->initial;
		return 0;
	}
	if (dir < 0)
		return dir;
	error = read_text(dir, file, &text);
	close(dir);
	if (error)
		return error;
	error = tunables_decode(text, t, value, line);
	free(text);
	return error;
}

char *tunables_edit(const char *text, const struct tunable *t, long value)
{
	struct place place;
	const char *rest;
	char *out = NULL;
	int n;

	find(text, t->name, &place);
	if (place.line) {
		rest = next_line(place.line);
		n = asprintf(&out, "%.*s\t%s = \"%ld\"\n%s",
			     (int)(place.line - text), text, t->name, value,
			     rest);
	} else if (place.head) {
		rest = next_line(place.head);
		n = asprintf(
		    &out, "%.*s%s\t%s = \"%ld\"\n%s", (int)(rest - text), text,
		    rest[-1] == '\n' ? "" : "\n", t->name, value, rest);
	} else {
		size_t length = strlen(text);

		n = asprintf(&out, "%s%s" STANZA "\n\t%s = \"%ld\"\n", text,
			     length && text[length - 1] != '\n' ? "\n" : "",
			     t->name, value);
	}
	return n < 0 ? NULL : out;
}

static int replace(int dir, const char *file, const char *text)
{
	char name[64];
	int error, fd;

	snprintf(name, sizeof(name), ".%s.%d", file, (int)getpid());
	unlinkat(dir, name, 0);
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	error = fchmod(fd, 0644) != 0
		    ? -errno
		    : whole_file_write(fd, text, strlen(text));
	if (close(fd) != 0 && !error)
		error = -errno;
	if (!error && renameat(dir, name, dir, file) != 0)
		error = -errno;
	if (error)
		unlinkat(dir, name, 0);
	else
		fsync(dir);
	return error;
}

int tunables_put(const char *file, const struct tunable *t, long value)
{
	char *text = NULL, *edited = NULL;
	int error, lock, dir = open_dir(true);

	if (dir < 0)
		return dir;
	lock = lock_file_take(dir, TUNABLES_LOCK, LOCK_WAIT_MS);
	if (lock == -EBUSY)
		lock = -ETIMEDOUT;
	error = lock < 0 ? lock : read_text(dir, file, &text);
	if (text) {
		edited = tunables_edit(text, t, value);
		error = edited ? replace(dir, file, edited) : -ENOMEM;
	}
	free(text);
	free(edited);
	if (lock >= 0)
		close(lock);
	close(dir);
	return error;
}
