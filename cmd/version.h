/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * version: what --version prints, the same for each command.
 */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#include <stdbool.h>

/*
 * Is --version the only argument? Then it has been answered, and *status is
 * what main() returns.
 */
bool version_answer(const char *command, int argc, char **argv, int *status);

#endif
