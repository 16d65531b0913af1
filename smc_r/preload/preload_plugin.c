/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_plugin: a library is loaded that will not find us by itself; a
 * program looks at what is loaded.
 */
#include "smc_r/preload/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

#include "smc_r/os/engines.h"
#include "smc_r/os/plugin.h"
#include "smc_r/os/process.h"

static void *load(void *(*next)(const char *, int), const char *file, int mode)
{
	void *handle;

	plugin_before();
	handle = next(file, mode);
	plugin_after();
	return handle;
}

/*
 * libc looks at its caller: where a library is looked for depends on that. So
 * it is called by a jump, as if we were not there, but where the answer does
 * not depend on it.
 */
PRELOAD void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int);

	real_need();
	next = real.dlopen;
	if ((mode & RTLD_DEEPBIND) && file && !process.off &&
	    !plugin_needs_caller(file, __builtin_return_address(0)))
		return load(next, file, mode);
	return next(file, mode);
}

/* ---- what is loaded ---- */

struct visit {
	int (*visitor)(struct dl_phdr_info *, size_t, void *);
	void *closure;
	bool ours; /* it is our turn, and that of other engines */
	int result;
};

static int visit(struct dl_phdr_info *info, size_t size, void *closure)
{
	const struct visit *v = closure;
	bool ours = plugin_is_us(info) || engines_is_other(info);

	return ours == v->ours ? v->visitor(info, size, v->closure) : 0;
}

/* Stops at the first library: it is called for the lock. */
static int visit_all(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct visit *v = closure;

	(void)info;
	(void)size;
	v->result = real.dl_iterate_phdr(visit, v);
	v->ours = true;
	if (v->result == 0)
		v->result = real.dl_iterate_phdr(visit, v);
	return 1;
}

/*
 * In the order in which they were loaded, but engines are last, and the library
 * that is first without them is: some insist on that (libasan), and end the
 * program.
 */
PRELOAD int dl_iterate_phdr(int (*visitor)(struct dl_phdr_info *, size_t,
					   void *),
			    void *closure)
{
	struct visit v = {.visitor = visitor, .closure = closure};

	real_need();
	real.dl_iterate_phdr(visit_all, &v);
	return v.result;
}
