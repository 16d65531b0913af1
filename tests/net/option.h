/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* option: the parts of the test program "option"; each is one command. */
#ifndef TESTS_NET_OPTION_H
#define TESTS_NET_OPTION_H

#include <stdint.h>

/* Ends the program when error < 0, or with errno. */
void option_check(int error, const char *what);
void option_die(const char *what) __attribute__((noreturn));

/* Exit statuses. argv: KEY=VALUE words up to a NULL. */
int option_pair(const char *rundir, char **argv);
int option_plain_program(void);
int option_cost(const char *rundir);
/* Listens at 127.0.0.1, and the port. */
int option_left(const char *rundir, uint16_t port);

#endif
