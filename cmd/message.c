/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* message: what a device command says. */
#include "message.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cure.h"

#define MESSAGE_TEXT_SIZE (PATH_MAX + 1024)
#define COMMAND_WIDTH     72 /* columns of a command's message */
#define METHOD_WIDTH      72
#define METHOD_INDENT     17 /* a tab, the number and a blank */

/* %s stands for the object. */
static const struct {
	enum message number;
	const char *text;
} catalogue[] = {
    {MESSAGE_SYSTEM, "System error: %s"},
    {MESSAGE_NO_ATTRIBUTE,
     "The device does not have the following attributes:"},
    {MESSAGE_BAD_VALUE,
     "The following attributes cannot have the given values:"},
    {MESSAGE_BAD_CONNECTION,
     "The specified connection is not valid for this device."},
    {MESSAGE_RELATIVE_STATE,
     "Cannot perform the requested function because a parent or a child of "
     "the device is not in the right state:"},
    {MESSAGE_EXISTS, "There can be only one device of this type. It exists:"},
    {MESSAGE_CANNOT_START, "The device could not be configured:"},
    {MESSAGE_CANNOT_STOP, "The device could not be unconfigured:"},
    {MESSAGE_BUSY, "Cannot perform the requested function because the "
		   "specified device is busy."},
    {MESSAGE_LOCKED,
     "The device configuration database %s is in use by another command, which "
     "did not end in time. Nothing was changed. Run the command again, or see "
     "with fuser who has the file open."},
    {MESSAGE_NO_DEVICE,
     "The customized device configuration database has no device \"%s\". lsdev "
     "shows those that it has; mkdev -c tcpip -t smc_r makes smc_r0."},
    {MESSAGE_NO_KIND,
     "The predefined device configuration database has no single kind of "
     "device with %s."},
    {MESSAGE_UNKNOWN_ATTRIBUTE,
     "The \"%s\" attribute does not exist in the predefined device "
     "configuration database."},
    {MESSAGE_BAD_PARAMETER, "Invalid parameter - %s."},
    {MESSAGE_FULL,
     "Cannot perform the requested function because the %s filesystem is full "
     "or is out of inodes. Make room in it (df, df -i)."},
};

static const char *text_of(enum message number)
{
	for (size_t i = 0; i < sizeof(catalogue) / sizeof(catalogue[0]); i++)
		if (catalogue[i].number == number)
			return catalogue[i].text;
	return "%s";
}

/* The text of the message with the object in its place. */
static void fill(enum message number, const char *object, char *out,
		 size_t size)
{
	const char *text = text_of(number);
	const char *place = strstr(text, "%s");

	if (!place)
		snprintf(out, size, "%s", text);
	else
		snprintf(out, size, "%.*s%s%s", (int)(place - text), text,
			 object ? object : "", place + 2);
}

/*
 * Prints words, broken between them at the width; used is the column where
 * the text begins, indent what a further line begins with.
 */
static void print_wrapped(const char *text, size_t used, size_t width,
			  const char *indent)
{
	/* A tab is eight columns wide, and stands first if at all. */
	size_t margin = strlen(indent) + (indent[0] == '\t' ? 7 : 0);
	size_t column = used;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > used && column + 1 + word > width) {
			fprintf(stderr, "\n%s", indent);
			used = column = margin;
		} else if (column > used) {
			putc(' ', stderr);
			column++;
		}
		fprintf(stderr, "%.*s", (int)word, text);
		column += word;
		text += word;
		text += *text == ' ';
	}
	putc('\n', stderr);
}

void details_add(struct details *d, const char *format, ...)
{
	size_t room = sizeof(d->text) - d->used;
	va_list arguments;
	int n;

	if (d->used && room > 1) {
		d->text[d->used++] = '\n';
		d->text[d->used] = '\0';
		room--;
	}
	va_start(arguments, format);
	n = vsnprintf(d->text + d->used, room, format, arguments);
	va_end(arguments);
	if (n > 0)
		d->used += (size_t)n < room ? (size_t)n : room - 1;
}

int message_command(const struct cmd *cmd, enum message number,
		    const char *object)
{
	char text[MESSAGE_TEXT_SIZE];

	if (cmd->is_quiet)
		return EXIT_REFUSED;
	fill(number, object, text, sizeof(text));
	print_wrapped(text,
		      (size_t)fprintf(stderr, "%s: 0514-%03u ", cmd->name,
				      (unsigned)number),
		      COMMAND_WIDTH, "\t");
	return EXIT_REFUSED;
}

int message_file(const struct cmd *cmd, const char *path, int error)
{
	char text[MESSAGE_TEXT_SIZE];

	/* That one was misspelt, as far as anybody can tell. */
	snprintf(text, sizeof(text), "%s: %s%s%s", path, strerror(error),
		 error == ENOENT ? "" : ". ",
		 error == ENOENT ? "" : cure_of(-error, NULL));
	return message_command(cmd, MESSAGE_SYSTEM, text);
}

int message_method(const struct cmd *cmd, const char *method,
		   enum message number, const struct details *d)
{
	char text[1024];

	if (cmd->is_quiet)
		return EXIT_REFUSED;
	fill(number, "", text, sizeof(text));
	fprintf(stderr, "Method error (%s):\n\t0514-%03u ", method,
		(unsigned)number);
	print_wrapped(text, METHOD_INDENT, METHOD_WIDTH, "\t         ");
	for (const char *line = d ? d->text : ""; *line;) {
		size_t length = strcspn(line, "\n");

		fprintf(stderr, "\t         %.*s\n", (int)length, line);
		line += length;
		line += *line == '\n';
	}
	return EXIT_REFUSED;
}

static void print_usage(const struct cmd *cmd, FILE *file)
{
	const char *line = cmd->usage;

	fputs("Usage:\n", file);
	while (*line) {
		size_t length = strcspn(line, "\n");

		fprintf(file, "\t%.*s\n", (int)length, line);
		line += length;
		line += *line == '\n';
	}
}

int message_usage(const struct cmd *cmd, const char *format, ...)
{
	va_list arguments;

	if (cmd->is_quiet)
		return EXIT_REFUSED;
	fprintf(stderr, "%s: 0514-%03d ", cmd->name, MESSAGE_USAGE);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	putc('\n', stderr);
	print_usage(cmd, stderr);
	return EXIT_REFUSED;
}

int message_help(const struct cmd *cmd)
{
	print_usage(cmd, stdout);
	return EXIT_DONE;
}

void message_note(const struct cmd *cmd, const char *format, ...)
{
	va_list arguments;

	if (cmd->is_quiet)
		return;
	fprintf(stderr, "%s: note: ", cmd->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	putc('\n', stderr);
}

void message_result(const struct cmd *cmd, const char *format, ...)
{
	va_list arguments;

	if (cmd->is_quiet)
		return;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

int message_end(const struct cmd *cmd, int status)
{
	int error = ferror(stdout) ? EIO : 0;

	if (fflush(stdout) != 0)
		error = errno;
	if (!error)
		return status;
	if (!cmd->is_quiet)
		fprintf(stderr,
			"%s: 0514-%03d System error: standard output: %s. %s\n",
			cmd->name, MESSAGE_SYSTEM, strerror(error),
			cure_of(-error, NULL));
	return status == EXIT_DONE ? EXIT_REFUSED : status;
}
