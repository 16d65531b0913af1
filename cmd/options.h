/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options: the flags of a device command, from its arguments and from files
 * that -f names.
 *
 * A file holds flags as they would stand on the command line; its words take
 * the place of "-f file". Quotes and backslash keep blanks together. Flags end
 * at the first operand: nothing is reordered.
 *
 * Ownership: options_fini() frees what files contained; arguments that were
 *	      handed out stay valid until then.
 * Locking:   one in a process: getopt(3) below keeps its place in globals.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "message.h"

#define OPTIONS_FILE_BYTES_MAX 65536
#define OPTIONS_FILES_MAX      8

struct options {
	const struct cmd *cmd;
	/* getopt(3) takes them; 'f:' is added, unless -f has another meaning.
	 */
	const char *letters;
	int argc;
	char **argv;
	char *file_words[OPTIONS_FILES_MAX];
	char **vectors[OPTIONS_FILES_MAX];
	unsigned file_count;
};

void options_init(struct options *o, const struct cmd *cmd, int argc,
		  char **argv, const char *letters);
void options_fini(struct options *o);

/*
 * The next flag, with its argument in *argument; 0 behind the last one; '?'
 * when it was wrong, which has been said.
 */
int options_next(struct options *o, char **argument);

/* True when no operand is left; else says which one is too much. */
bool options_are_all(const struct options *o);

#endif
