/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * command: what every device command does around its own work.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "message.h"
#include "options.h"

struct command {
	struct cmd *cmd;
	const char *letters; /* as for getopt(3); h is added, and f if it is not
				there */
	/* Takes one flag; -h is taken already, and -q where it has no
	 * argument. */
	int (*take)(void *request, int flag, char *argument);
	/* Both return an exit status, the reason printed. */
	int (*run)(void *request, char *const *argv);
	/* Where run() finds the operands, ended by NULL; NULL: it has none. */
	char *const **operands;
};

/* Reads the flags, runs the command, returns what main() returns. */
int command_main(const struct command *command, void *request, int argc,
		 char **argv);

#endif
