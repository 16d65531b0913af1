/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_inside: functions of libc that use a program's descriptors without
 * a name that we could define: by a process of their own, or below it.
 */
#include "smc_r/preload/preload.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/socket/successor.h"

/* ---- a shell that inherits ---- */

PRELOAD int system(const char *command)
{
	if (command)
		successor_shell();
	real_need();
	return real.system(command);
}

PRELOAD FILE *popen(const char *command, const char *mode)
{
	successor_shell();
	real_need();
	return real.popen(command, mode);
}

PRELOAD int wordexp(const char *restrict words, wordexp_t *restrict out,
		    int flags)
{
	if (!(flags & WRDE_NOCMD) &&
	    (strchr(words, '`') || strstr(words, "$(")))
		successor_shell();
	real_need();
	return real.wordexp(words, out, flags);
}

/* ---- a text that is written below write() ---- */

PRELOAD void backtrace_symbols_fd(void *const *where, int n, int fd)
{
	successor_descriptor(fd, REASON_DEMOTED_STDIO);
	real_need();
	real.backtrace_symbols_fd(where, n, fd);
}
