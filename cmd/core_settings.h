/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_settings: the settings of the RDMA core: its configuration file, and
 * what it has now.
 *
 * Functions that return int return an exit status, and said why.
 */
#ifndef CMD_CORE_SETTINGS_H
#define CMD_CORE_SETTINGS_H

/* Checks the file before the core reads it. */
int core_check_file(void);
int core_reload(void);

/* NAME=VALUE, neither of them empty; it is taken apart. Where no core is
 * loaded, load(NULL) is to load one. */
int core_set_parameter(char *assignment, int (*load)(const char *program));

/* Shows whether it is loaded, with a program whether that one is; and its
 * settings. */
int core_show(const char *program);

/* For control_call() with "query": owner is a struct parameters. */
void core_take_value(void *owner, const char *text);

#endif
