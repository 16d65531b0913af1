/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_import: a function that a loaded library calls by name is replaced.
 *
 * The loader has filled a table of the library with the functions of others
 * that it calls; the relocations say which place is whose.
 */
#include "ofed_core/dapl/dapl_import.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct tables {
	const ElfW(Rela) * entries;
	size_t count;
	const ElfW(Sym) * symbols;
	const char *names;
};

static void find_tables(const struct link_map *map, struct tables *out)
{
	*out = (struct tables){.count = 0};
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)d->d_un.d_ptr;

		if (d->d_tag == DT_JMPREL)
			out->entries = at;
		else if (d->d_tag == DT_PLTRELSZ)
			out->count = d->d_un.d_val / sizeof(ElfW(Rela));
		else if (d->d_tag == DT_SYMTAB)
			out->symbols = at;
		else if (d->d_tag == DT_STRTAB)
			out->names = at;
	}
}

/* The table may have been made read-only (relro); it is so again afterwards. */
static int put(void **place, void *function)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)place & ~(page - 1));

	if (mprotect(start, page, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	*place = function;
	return mprotect(start, page, PROT_READ) < 0 ? -errno : 0;
}

int dapl_import_replace(void *library, const char *name, void *function)
{
	struct link_map *map;
	struct tables t;

	if (dlinfo(library, RTLD_DI_LINKMAP, (void *)&map) < 0)
		return -ENOENT;
	find_tables(map, &t);
	if (!t.entries || !t.symbols || !t.names)
		return -ENOENT;
	for (size_t i = 0; i < t.count; i++) {
		const ElfW(Rela) *r = &t.entries[i];
		/* Machines that Debian has RDMA for have 64 bits. */
		const ElfW(Sym) *s = &t.symbols[ELF64_R_SYM(r->r_info)];

		if (strcmp(t.names + s->st_name, name) == 0)
			return put((void **)(map->l_addr + r->r_offset),
				   function);
	}
	return -ENOENT;
}
