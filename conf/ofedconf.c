/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofedconf: reads the configuration file of the RDMA core.
 *
 * libconfig parses; what it parsed is compared with what stands in the line,
 * because libconfig 1.5 reads 4294967296 as 0 and says nothing.
 */
#include "ofedconf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libconfig.h>

static const char blanks[] = " \t\r";

static int refuse(struct ofedconf_error *error, unsigned line,
		  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct ofedconf_error *error, unsigned line,
		  const char *format, ...)
{
	va_list arguments;

	error->line = line;
	va_start(arguments, format);
	vsnprintf(error->why, sizeof(error->why), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- One line ----------------------------------------------------------- */

struct line {
	char name[OFEDCONF_NAME_SIZE]; /* "" when there is no setting */
	char text[32];                 /* the number */
};

static bool is_end(const char *at)
{
	return *at == '\n' || *at == '\0' || *at == '#';
}

static int split_number(const char *at, unsigned number, struct line *out,
			struct ofedconf_error *error)
{
	const char *begin = at;
	size_t n;

	if (*at == '-')
		at++;
	at += strspn(at, "0123456789");
	n = (size_t)(at - begin);
	if (at[-1] == '-' || n == 0)
		return refuse(error, number,
			      "%s: a decimal number must follow '='",
			      out->name);
	if (n >= sizeof(out->text))
		return refuse(error, number, "%s: the number is too big",
			      out->name);
	memcpy(out->text, begin, n);
	at += strspn(at, blanks);
	if (!is_end(at))
		return refuse(error, number,
			      "%s: nothing but a comment (#) may follow the "
			      "decimal number",
			      out->name);
	return 0;
}

static int split_line(const char *at, unsigned number, struct line *out,
		      struct ofedconf_error *error)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n;

	memset(out, 0, sizeof(*out));
	if (strcspn(at, "\n") > OFEDCONF_LINE_MAX)
		return refuse(error, number, "the line is longer than %d bytes",
			      OFEDCONF_LINE_MAX);
	at += strspn(at, blanks);
	if (is_end(at))
		return 0;
	n = strspn(at, letters);
	if (n == 0 || n >= sizeof(out->name) || (*at >= '0' && *at <= '9'))
		return refuse(error, number,
			      "the line is neither name=number nor a comment "
			      "(#)");
	memcpy(out->name, at, n);
	at += n;
	at += strspn(at, blanks);
	if (*at != '=')
		return refuse(error, number, "%s: '=' is missing", out->name);
	at++;
	at += strspn(at, blanks);
	return split_number(at, number, out, error);
}

/* ---- The whole ---------------------------------------------------------- */

/* What libconfig made of the setting must be what the line says. */
static int take_line(const config_t *config, const struct line *line,
		     struct ofedconf_setting *s, struct ofedconf_error *error)
{
	const config_setting_t *found =
	    config_setting_get_member(config_root_setting(config), line->name);
	long long value;

	errno = 0;
	value = strtoll(line->text, NULL, 10);
	if (!found || config_setting_type(found) != CONFIG_TYPE_INT ||
	    config_setting_source_line(found) != s->line || errno ||
	    config_setting_get_int(found) != value)
		return refuse(error, s->line,
			      "%s: %s does not fit into 32 bits", line->name,
			      line->text);
	s->name = line->name;
	s->text = line->text;
	s->value = (long)value;
	return 0;
}

static int take_lines(const config_t *config, const char *text,
		      const struct ofedconf_taker *taker,
		      struct ofedconf_error *error)
{
	struct ofedconf_setting s = {.line = 0};
	struct line line;
	int result = 0;

	while (*text && !result) {
		s.line++;
		result = split_line(text, s.line, &line, error);
		if (!result && *line.name) {
			result = take_line(config, &line, &s, error);
			if (!result) {
				error->line = s.line;
				result =
				    taker->take(taker->owner, &s, error->why);
			}
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return result;
}

/* So that a wrong line is named as we see it; libconfig may be one late. */
static int check_lines(const char *text, struct ofedconf_error *error)
{
	unsigned number = 0;
	struct line line;
	int result = 0;

	while (*text && !result) {
		result = split_line(text, ++number, &line, error);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return result;
}

int ofedconf_parse(const char *text, size_t length,
		   const struct ofedconf_taker *taker,
		   struct ofedconf_error *error)
{
	config_t config;
	char *ended;
	int result;

	memset(error, 0, sizeof(*error));
	if (length > OFEDCONF_BYTES_MAX) {
		refuse(error, 0, "the file is larger than %d bytes",
		       OFEDCONF_BYTES_MAX);
		return -EFBIG;
	}
	if (strlen(text) != length)
		return refuse(error, 0, "the file holds a NUL byte");
	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		return refuse(error, 1,
			      "the file begins with a byte order mark; save "
			      "it without");
	result = check_lines(text, error);
	if (result)
		return result;
	/* libconfig 1.5 takes a comment that ends without a newline for a
	 * syntax error. */
	if (asprintf(&ended, "%s\n", text) < 0)
		return -ENOMEM;
	config_init(&config);
	if (config_read_string(&config, ended) == CONFIG_TRUE)
		result = take_lines(&config, text, taker, error);
	else
		result = refuse(error, (unsigned)config_error_line(&config),
				"%s", config_error_text(&config));
	config_destroy(&config);
	free(ended);
	return result;
}

/* ---- The file ----------------------------------------------------------- */

static int check_owner(int fd, struct ofedconf_error *error)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		refuse(error, 0, "it is not a regular file");
		return -EPERM;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		refuse(error, 0, "it belongs to user %u; give it to root",
		       (unsigned)st.st_uid);
		return -EPERM;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		refuse(error, 0, "others may write it; chmod go-w it");
		return -EPERM;
	}
	return 0;
}

/* One byte more than may be, to notice a file that is too large. */
static ssize_t read_all(int fd, char *text)
{
	size_t length = 0;

	while (length < OFEDCONF_BYTES_MAX + 1) {
		ssize_t n =
		    read(fd, text + length, OFEDCONF_BYTES_MAX + 1 - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
	return (ssize_t)length;
}

int ofedconf_read(const char *path, const struct ofedconf_taker *taker,
		  struct ofedconf_error *error)
{
	char *text = NULL;
	ssize_t length = 0;
	int result, fd;

	memset(error, 0, sizeof(*error));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		result = -errno;
		goto fail;
	}
	result = check_owner(fd, error);
	if (result)
		goto fail;
	text = malloc(OFEDCONF_BYTES_MAX + 2);
	length = text ? read_all(fd, text) : -ENOMEM;
	if (length < 0) {
		result = (int)length;
		goto fail;
	}
	result = ofedconf_parse(text, (size_t)length, taker, error);
fail:
	if (result && !*error->why)
		snprintf(error->why, sizeof(error->why), "%s",
			 strerror(-result));
	free(text);
	if (fd >= 0)
		close(fd);
	return result;
}
