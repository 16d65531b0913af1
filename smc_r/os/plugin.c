/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* plugin: libraries that find the functions of libc before ours. */
#include "smc_r/os/plugin.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "smc_r/os/dynamic.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"

/* A library in memory. */
struct image_map {
	uintptr_t base;
	const ElfW(Phdr) * parts;
	size_t part_count;
	const ElfW(Dyn) * dynamic;
	struct dynamic own;
	const ElfW(Rela) * data; /* bound when it is loaded */
	size_t data_bytes;
	const ElfW(Rela) * calls; /* bound then, or at the first call */
	size_t calls_bytes;
	bool has_run_path;
	uintptr_t sealed_from; /* read-only once it is bound */
	uintptr_t sealed_to;
};

/* ---- reading ---- */

static void note(struct image_map *m, const ElfW(Dyn) * d)
{
	switch (d->d_tag) {
	case DT_RELA:
		m->data = (const void *)dynamic_address(m->base, d);
		break;
	case DT_RELASZ:
		m->data_bytes = d->d_un.d_val;
		break;
	case DT_JMPREL:
		m->calls = (const void *)dynamic_address(m->base, d);
		break;
	case DT_PLTRELSZ:
		m->calls_bytes = d->d_un.d_val;
		break;
	case DT_RPATH:
	case DT_RUNPATH:
		m->has_run_path = true;
		break;
	default:
		break;
	}
}

static void note_dynamic(struct image_map *m)
{
	for (const ElfW(Dyn) *d = m->dynamic; d->d_tag != DT_NULL; d++)
		note(m, d);
}

/* As ld.so does: whole pages, and what follows the last one stays open. */
static void note_sealed(struct image_map *m, const ElfW(Phdr) * part)
{
	uintptr_t page = getauxval(AT_PAGESZ);
	uintptr_t from = m->base + part->p_vaddr;

	m->sealed_from = from & ~(page - 1);
	m->sealed_to = (from + part->p_memsz) & ~(page - 1);
}

static bool read_map(struct image_map *m, const struct dl_phdr_info *info)
{
	memset(m, 0, sizeof(*m));
	m->base = info->dlpi_addr;
	m->parts = info->dlpi_phdr;
	m->part_count = info->dlpi_phnum;
	for (size_t i = 0; i < m->part_count; i++) {
		const ElfW(Phdr) *part = &m->parts[i];

		if (part->p_type == PT_DYNAMIC)
			m->dynamic = (const void *)(m->base + part->p_vaddr);
		if (part->p_type == PT_GNU_RELRO)
			note_sealed(m, part);
	}
	if (!m->dynamic)
		return false;
	note_dynamic(m);
	return dynamic_read(&m->own, m->base, m->dynamic);
}

/* In a part with all these rights? */
static bool is_inside(const struct image_map *m, uintptr_t where,
		      ElfW(Word) rights)
{
	for (size_t i = 0; i < m->part_count; i++) {
		const ElfW(Phdr) *part = &m->parts[i];

		if (part->p_type == PT_LOAD &&
		    (part->p_flags & rights) == rights &&
		    where - m->base - part->p_vaddr < part->p_memsz)
			return true;
	}
	return false;
}

/* ---- what was loaded since ---- */

struct adoption {
	unsigned first; /* of those to look at; before it were others */
	unsigned index;
	struct image_map us;
	struct image_map libc;
};

/* Neither libc, the loader, the kernel's page of functions, nor us. */
static bool is_other(const struct adoption *a, const struct dl_phdr_info *info)
{
	uintptr_t base = info->dlpi_addr;

	return base != a->us.base && base != a->libc.base &&
	       base != getauxval(AT_BASE) && base != getauxval(AT_SYSINFO_EHDR);
}

struct definer {
	const struct adoption *adoption;
	unsigned index;
	const char *name;
	uint32_t hash;
};

static int is_definer(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct definer *d = closure;
	const struct adoption *a = d->adoption;
	struct image_map m;

	(void)size;
	return d->index++ >= a->first && is_other(a, info) &&
	       read_map(&m, info) &&
	       (!m.own.hash || dynamic_find(&m.own, d->name, d->hash));
}

/* What it would find deep, were it to look now. */
static bool would_find_libc(const struct adoption *a, const char *name,
			    uint32_t h)
{
	struct definer d = {.adoption = a, .name = name, .hash = h};

	return real.dl_iterate_phdr(is_definer, &d) == 0;
}

/* The kernel tells, by a change of nothing. */
static bool is_writable(uintptr_t slot)
{
	static uint32_t word;

	return SYS_CALL6(SYS_futex, &word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG,
			 0, 0, slot,
			 FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}

static long protect(const struct image_map *m, int rights)
{
	return SYS_CALL3(SYS_mprotect, m->sealed_from,
			 m->sealed_to - m->sealed_from, rights);
}

/* What will be read-only but is not yet belongs to another thread, which is
 * about to load it: that looks at it then. */
static void lead(const struct image_map *m, uintptr_t slot, uintptr_t to)
{
	bool sealed = slot >= m->sealed_from && slot < m->sealed_to;

	if (sealed &&
	    (is_writable(slot) || protect(m, PROT_READ | PROT_WRITE) < 0))
		return;
	__atomic_store_n((uintptr_t *)slot, to, __ATOMIC_RELEASE);
	if (sealed)
		protect(m, PROT_READ);
}

static void look_at(struct adoption *a, const struct image_map *m,
		    const ElfW(Rela) * r, bool is_call)
{
	const ElfW(Sym) *symbol = &m->own.symbols[ELF64_R_SYM(r->r_info)];
	const ElfW(Sym) * ours;
	uintptr_t slot = m->base + r->r_offset;
	const char *name = m->own.names + symbol->st_name;
	uintptr_t value;
	uint32_t h;

	if (symbol->st_shndx != SHN_UNDEF || r->r_addend != 0 ||
	    slot % sizeof(slot) != 0 || !is_inside(m, slot, PF_W))
		return;
	h = dynamic_hash(name);
	ours = dynamic_find(&a->us.own, name, h);
	if (!ours)
		return;
	value = __atomic_load_n((uintptr_t *)slot, __ATOMIC_ACQUIRE);
	if (is_inside(&a->libc, value, PF_X) ||
	    (is_call && is_inside(m, value, PF_X) &&
	     would_find_libc(a, name, h)))
		lead(m, slot, a->us.base + ours->st_value);
}

static void look_through(struct adoption *a, const struct image_map *m,
			 const ElfW(Rela) * r, size_t bytes, bool is_call)
{
	const ElfW(Rela) *end = r + bytes / sizeof(*r);

	for (; r < end; r++)
		if (ELF64_R_SYM(r->r_info) != 0)
			look_at(a, m, r, is_call);
}

static bool has(const struct dl_phdr_info *info, uintptr_t where)
{
	struct image_map m = {.base = info->dlpi_addr,
			      .parts = info->dlpi_phdr,
			      .part_count = info->dlpi_phnum};

	return is_inside(&m, where, PF_R);
}

bool plugin_is_us(const struct dl_phdr_info *info)
{
	return has(info, (uintptr_t)plugin_after);
}

static int adopt(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct adoption *a = closure;
	struct image_map m;

	(void)size;
	if (has(info, (uintptr_t)gnu_get_libc_version)) {
		read_map(&a->libc, info);
	} else if (plugin_is_us(info)) {
		read_map(&a->us, info);
	} else if (a->index >= a->first && a->us.own.hash && a->libc.base &&
		   is_other(a, info) && read_map(&m, info)) {
		look_through(a, &m, m.data, m.data_bytes, false);
		look_through(a, &m, m.calls, m.calls_bytes, true);
	}
	a->index++;
	return 0;
}

/* ---- loads on their way ---- */

struct mark {
	unsigned libraries;
	unsigned long long unloaded;
};

/* Another thread may get a library before the one that loaded it has come to
 * look at it. So all look from where the first began that is on its way. The
 * lock of the list guards it. */
static unsigned loads;
static struct mark oldest;

static int count(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct mark *mark = closure;

	(void)size;
	mark->libraries++;
	mark->unloaded = info->dlpi_subs;
	return 0;
}

static struct mark what_is_there(void)
{
	struct mark mark = {0, 0};

	real.dl_iterate_phdr(count, &mark);
	return mark;
}

/* Stops at the first library: it is called for the lock. */
static int begin(struct dl_phdr_info *info, size_t size, void *closure)
{
	(void)info;
	(void)size;
	(void)closure;
	if (loads++ == 0)
		oldest = what_is_there();
	return 1;
}

/* New ones are last. Where others went meanwhile, some of those before them are
 * looked at, too. */
static int end(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct adoption a = {.first = oldest.libraries};
	unsigned long long went = what_is_there().unloaded - oldest.unloaded;

	(void)info;
	(void)size;
	(void)closure;
	a.first -= went < a.first ? (unsigned)went : a.first;
	real.dl_iterate_phdr(adopt, &a);
	loads--;
	return 1;
}

void plugin_before(void)
{
	real.dl_iterate_phdr(begin, NULL);
}

void plugin_after(void)
{
	real.dl_iterate_phdr(end, NULL);
}

/* ---- the library that asks ---- */

struct asker {
	uintptr_t caller;
	bool has_run_path;
};

static int is_asker(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct asker *a = closure;
	struct image_map m;

	(void)size;
	if (!has(info, a->caller))
		return 0;
	a->has_run_path = read_map(&m, info) && m.has_run_path;
	return 1;
}

bool plugin_needs_caller(const char *file, const void *caller)
{
	struct asker a = {.caller = (uintptr_t)caller};

	if (strchr(file, '$'))
		return true;
	return !strchr(file, '/') &&
	       (real.dl_iterate_phdr(is_asker, &a) == 0 || a.has_run_path);
}
