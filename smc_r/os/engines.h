/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engines: which of several engines in one program serves.
 *
 * The loader drops a second copy of the library only where it is the same file;
 * a host may have one in /etc/ld.so.preload, and a program be started with that
 * of another installation, of another revision. The rule is the same for all of
 * them: the first in the loader's list serves. That is also the order in which
 * the loader looks for names, so the program's calls come to that one whatever
 * the others do, and no engine has to tell another one anything; in particular
 * not one that is older than the rule. The others leave everything to what
 * follows them, and the one that serves passes them by.
 *
 * The library's name for the linker (DT_SONAME) tells an engine, as every
 * revision has the same one. Nothing here makes a system call.
 *
 * Locking: the loader's.
 *
 * A program that looks through the list (dl_iterate_phdr) finds engines last,
 * as ASan's run-time library ends a program where it is not the first. smc_run
 * names no second library where the host has one in every program.
 */
#ifndef SMC_R_ENGINES_H
#define SMC_R_ENGINES_H

#include <stdbool.h>

struct dl_phdr_info;

/* Is this engine the one that serves? Known once the libraries are bound, which
 * is before the first constructor; so it does not depend on their order. */
bool engines_serves(void);

/* The definition of a name that follows those of all engines, or NULL. */
void *engines_next(const char *name);

/* Is this library another engine? */
bool engines_is_other(const struct dl_phdr_info *info);

#endif
