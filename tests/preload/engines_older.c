/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engines_older: what takes the place of smc_r/os/engines.c in a library that
 * knows of no other engine, as those before that file did.
 */
#include "smc_r/os/engines.h"

#include <dlfcn.h>
#include <stddef.h>

bool engines_serves(void)
{
	return true;
}

void *engines_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

bool engines_is_other(const struct dl_phdr_info *info)
{
	(void)info;
	return false;
}
