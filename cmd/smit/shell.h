/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shell: runs a command by /bin/sh and keeps what it prints.
 *
 * The command has no input. ^C ends the command, not this program: until it has
 * ended, SIGINT and SIGQUIT are ignored here.
 *
 * Ownership: shell_fini() frees the result. Begins as zeros.
 * Locking:   none; for a program with one thread.
 */
#ifndef CMD_SMIT_SHELL_H
#define CMD_SMIT_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#define SHELL_BYTES_MAX (1U << 20) /* of a stream; the rest is dropped */

struct shell_text {
	char *bytes; /* ends with a NUL that does not count */
	size_t length;
	bool is_cut;
};

struct shell_result {
	struct shell_text out, err, both; /* both: in the order of arrival */
	int status;                       /* as from waitpid(2) */
};

/*
 * 0, or -errno when nothing was run. progress is called whenever there is more
 * in r->both, and may be NULL.
 */
int shell_run(const char *command, struct shell_result *r,
	      void (*progress)(void *owner), void *owner);
void shell_fini(struct shell_result *r);
bool shell_is_done(const struct shell_result *r);

/* Puts the directories of our own commands ahead of PATH. */
void shell_find_commands(void);

#endif
