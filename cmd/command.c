/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* command: what every device command does around its own work. */
#include "command.h"

#include <stdio.h>
#include <unistd.h>

#include "version.h"

int command_main(const struct command *command, void *request, int argc,
		 char **argv)
{
	int flag, status = EXIT_DONE;
	bool wants_help = false;
	struct options o;
	char letters[48];
	char *argument;

	if (version_answer(command->cmd->name, argc, argv, &status))
		return status;
	snprintf(letters, sizeof(letters), "h%s", command->letters);
	options_init(&o, command->cmd, argc, argv, letters);
	while (status == EXIT_DONE &&
	       (flag = options_next(&o, &argument)) != 0) {
		if (flag == '?')
			status = EXIT_REFUSED;
		else if (flag == 'h')
			wants_help = true;
		else if (flag == 'q' && !argument)
			command->cmd->is_quiet = true;
		else
			status = command->take(request, flag, argument);
	}
	if (status == EXIT_DONE && wants_help) {
		status = message_help(command->cmd);
	} else if (status == EXIT_DONE && !command->operands &&
		   !options_are_all(&o)) {
		status = EXIT_REFUSED;
	} else if (status == EXIT_DONE) {
		if (command->operands)
			*command->operands = o.argv + optind;
		status = command->run(request, argv);
	}
	options_fini(&o);
	return message_end(command->cmd, status);
}
