/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* options: the flags of a device command. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void options_init(struct options *o, const struct cmd *cmd, int argc,
		  char **argv, const char *letters)
{
	memset(o, 0, sizeof(*o));
	o->cmd = cmd;
	o->letters = letters;
	o->argc = argc;
	o->argv = argv;
	opterr = 0;
	optind = 1;
}

void options_fini(struct options *o)
{
	for (unsigned i = 0; i < o->file_count; i++) {
		free(o->file_words[i]);
		free((void *)o->vectors[i]);
	}
	o->file_count = 0;
}

static char *load_file(const struct options *o, const char *path)
{
	char *text = malloc(OPTIONS_FILE_BYTES_MAX);
	size_t length = 0;
	FILE *file = fopen(path, "re");

	if (text && file)
		length = fread(text, 1, OPTIONS_FILE_BYTES_MAX, file);
	if (!text || !file || ferror(file)) {
		message_usage(o->cmd, "%s: %s", path, strerror(errno));
	} else if (length == OPTIONS_FILE_BYTES_MAX) {
		message_usage(o->cmd, "%s: %s", path, strerror(EFBIG));
	} else if (memchr(text, '\0', length)) {
		message_usage(o->cmd, "%s: not a text file", path);
	} else {
		text[length] = '\0';
		fclose(file);
		return text;
	}
	if (file)
		fclose(file);
	free(text);
	return NULL;
}

/*
 * Takes the next word out of the text, in place: 1, 0 at the end, -EINVAL when
 * a quote is not closed.
 */
static int next_word(char **next, char **word)
{
	char *in = *next + strspn(*next, " \t\r\n");
	char *out = in;
	char quote = '\0';

	if (!*in)
		return 0;
	*word = in;
	for (; *in && (quote || !strchr(" \t\r\n", *in)); in++) {
		if (*in == quote) {
			quote = '\0';
		} else if (!quote && (*in == '\'' || *in == '"')) {
			quote = *in;
		} else {
			if (*in == '\\' && quote != '\'' && in[1])
				in++;
			*out++ = *in;
		}
	}
	if (quote)
		return -EINVAL;
	*next = *in ? in + 1 : in;
	*out = '\0';
	return 1;
}

/* Puts the words of the file where getopt reads next. */
static bool insert_file(struct options *o, const char *path)
{
	char *text, *next;
	char **vector;
	int count = optind;
	int found = 0;

	if (o->file_count == OPTIONS_FILES_MAX) {
		message_usage(o->cmd, "more than %d files of flags",
			      OPTIONS_FILES_MAX);
		return false;
	}
	text = load_file(o, path);
	if (!text)
		return false;
	/* No more words than bytes. */
	vector = calloc((size_t)o->argc + strlen(text) + 1, sizeof(*vector));
	if (!vector) {
		message_usage(o->cmd, "%s: %s", path, strerror(ENOMEM));
		free(text);
		return false;
	}
	o->file_words[o->file_count] = text;
	o->vectors[o->file_count++] = vector;
	memcpy((void *)vector, (void *)o->argv,
	       (size_t)optind * sizeof(*vector));
	next = text;
	while ((found = next_word(&next, &vector[count])) > 0)
		count++;
	if (found < 0) {
		message_usage(o->cmd, "%s: a quote is not closed", path);
		return false;
	}
	memcpy((void *)(vector + count), (void *)(o->argv + optind),
	       (size_t)(o->argc - optind) * sizeof(*vector));
	o->argc = count + o->argc - optind;
	o->argv = vector;
	return true;
}

int options_next(struct options *o, char **argument)
{
	bool takes_files = !strchr(o->letters, 'f');
	char letters[64];
	int c;

	snprintf(letters, sizeof(letters), "+:%sf:", o->letters);
	do {
		c = getopt(o->argc, o->argv, letters);
		if (c == 'f' && takes_files && !insert_file(o, optarg))
			return '?';
	} while (c == 'f' && takes_files);
	*argument = optarg;
	if (c == ':') {
		message_usage(o->cmd, "-%c needs an argument.", optopt);
		return '?';
	}
	if (c == '?') {
		char flag[3] = {'-', (char)optopt, '\0'};

		message_command(o->cmd, MESSAGE_BAD_PARAMETER, flag);
		message_usage(o->cmd, "no such flag.");
		return '?';
	}
	return c < 0 ? 0 : c;
}

bool options_are_all(const struct options *o)
{
	if (optind == o->argc)
		return true;
	message_command(o->cmd, MESSAGE_BAD_PARAMETER, o->argv[optind]);
	return false;
}
