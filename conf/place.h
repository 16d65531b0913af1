/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * place: where the predefined stanzas are that came with this program.
 *
 * A program in a build tree uses the tree's own, so that nothing needs to be
 * installed; an installed one looks in ../share/smc_r beside its directory.
 * $SMC_R_CONFDIR overrides this, except for programs that gained privileges.
 */
#ifndef CONF_PLACE_H
#define CONF_PLACE_H

#include <stddef.h>

#define PLACE_CONFDIR_VARIABLE "SMC_R_CONFDIR"

/* 0, -ENAMETOOLONG, or -ENOENT where it is not beside the program. A file in
 * the directory of the variable need not exist. */
int place_stanza(const char *name, char *out, size_t size);

#endif
