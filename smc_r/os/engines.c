/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* engines: which of several engines in one program serves. */
#include "smc_r/os/engines.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/os/dynamic.h"

#define SONAME "libsmc_r.so" /* GNUmakefile links with it */

static bool is_engine(uintptr_t base, const ElfW(Dyn) * entries)
{
	struct dynamic d;

	return entries && dynamic_read(&d, base, entries) &&
	       dynamic_is_same(d.soname, SONAME);
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

/* What a library calls that leads to one of several, by the processor. */
static void *address_of(const struct link_map *m, const ElfW(Sym) * symbol)
{
	void *f = (void *)(m->l_addr + symbol->st_value);

	return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC
		   ? ((void *(*)(void))f)()
		   : f;
}

/* dlsym() would begin behind us, where another engine may come first. */
static void *find_behind(const struct link_map *m, const char *name)
{
	uint32_t hash = dynamic_hash(name);

	while ((m = m->l_next)) {
		const ElfW(Sym) * symbol;
		struct dynamic d;

		if (!m->l_ld || !dynamic_read(&d, m->l_addr, m->l_ld) ||
		    !d.hash || dynamic_is_same(d.soname, SONAME))
			continue;
		symbol = dynamic_find(&d, name, hash);
		if (symbol)
			return address_of(m, symbol);
	}
	return NULL;
}

void *engines_next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	const struct link_map *m;

	if (!found || is_alone())
		return found;
	m = entry_of((uintptr_t)found);
	return m && is_engine(m->l_addr, m->l_ld) ? find_behind(m, name)
						  : found;
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
