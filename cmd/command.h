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
	const char *letters; /* as for getopt(3); f and h are added */
	/* Takes one flag; -q and -h are taken already. */
	int (*take)(void *request, int flag, char *argument);
	/* Both return an exit status, the reason printed. */
	int (*run)(void *request, char *const *argv);
};

/* Reads the flags, runs the command, returns what main() returns. */
int command_main(const struct command *command, void *request, int argc,
		 char **argv);

#endif
