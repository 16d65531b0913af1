/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* engines: which of several engines in one program serves. */
#include "engines.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "dynamic.h"

#define SONAME "libsmc_r.so" /* GNUmakefile links with it */

/* Not by strcmp(): a sanitizer's run-time library, which defines that, looks
 * through the list while it starts. */
static bool is_engine(uintptr_t base, const ElfW(Dyn) * dynamic)
{
	const char *name = dynamic_soname(base, dynamic);

	for (size_t i = 0; i < sizeof(SONAME); i++)
		if (name[i] != SONAME[i])
			return false;
	return true;
}

/* The loader's entry of the library that an address is in, or NULL. */
static const struct link_map *entry_of(uintptr_t address)
{
	void *entry = NULL;
	Dl_info info;

	return dladdr1((void *)address, &info, &entry, RTLD_DL_LINKMAP) ? entry
									: NULL;
}

static unsigned count_before(const struct link_map *m)
{
	unsigned n = 0;

	while (m && (m = m->l_prev))
		n += is_engine(m->l_addr, m->l_ld);
	return n;
}

static unsigned count_behind(const struct link_map *m)
{
	unsigned n = 0;

	while (m && (m = m->l_next))
		n += is_engine(m->l_addr, m->l_ld);
	return n;
}

bool engines_serves(void)
{
	return count_before(entry_of((uintptr_t)engines_serves)) == 0;
}

/* Those that the program was started with; one that is loaded later is behind
 * libc, and nobody's next. */
static bool is_alone(void)
{
	static enum {
		UNKNOWN,
		ALONE,
		SEVERAL
	} state;
	const struct link_map *us;

	if (state == UNKNOWN) {
		us = entry_of((uintptr_t)engines_serves);
		state =
		    count_before(us) + count_behind(us) == 0 ? ALONE : SEVERAL;
	}
	return state == ALONE;
}

static bool is_in_engine(const void *f)
{
	const struct link_map *m = entry_of((uintptr_t)f);

	return m && is_engine(m->l_addr, m->l_ld);
}

/* An engine that is older than the rule cannot be asked what follows it. Its
 * dlopen() hands on to libc's, which finds what is loaded by its name. */
static void *in_libc(const char *name)
{
	void *(*open)(const char *, int) =
	    (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	void *libc = open ? open(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	return libc ? dlsym(libc, name) : NULL;
}

void *engines_next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	void *(*next)(const char *);

	if (!found || is_alone() || !is_in_engine(found))
		return found;
	next = (void *(*)(const char *))dlsym(RTLD_NEXT, "smc_r_next");
	return next ? next(name) : in_libc(name);
}

__attribute__((visibility("default"))) void *smc_r_next(const char *name)
{
	return engines_next(name);
}

bool engines_is_other(const struct dl_phdr_info *info)
{
	if (is_alone())
		return false;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_DYNAMIC)
			return is_engine(
			    info->dlpi_addr,
			    (const void *)(info->dlpi_addr + part->p_vaddr));
	}
	return false;
}
