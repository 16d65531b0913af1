/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload_plugin: a library is loaded that will not find us by itself. */
#include "preload.h"

#include <dlfcn.h>

#include "plugin.h"
#include "process.h"

static void *load(void *(*next)(const char *, int), const char *file, int mode)
{
	void *handle;

	plugin_before();
	handle = next(file, mode);
	plugin_after();
	return handle;
}

/*
 * libc looks at who called it: where a library is looked for depends on that.
 * So it is called by a jump, as if we were not there, but where the answer does
 * not depend on it.
 */
PRELOAD void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int) = real.dlopen;

	/* Constructors of others may run before ours. */
	if (!next)
		next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	if ((mode & RTLD_DEEPBIND) && file && !process.off &&
	    !plugin_needs_caller(file, __builtin_return_address(0)))
		return load(next, file, mode);
	return next(file, mode);
}
