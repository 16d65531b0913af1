/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dynamic: the names that a library in memory defines. */
#include "smc_r/os/dynamic.h"

#include <stddef.h>

#define VERSION_HIDDEN 0x8000u
#define WORD_BITS      (8 * sizeof(ElfW(Addr)))

bool dynamic_read(struct dynamic *out, uintptr_t base,
		  const ElfW(Dyn) * entries)
{
	const ElfW(Dyn) *soname = NULL;

	*out = (struct dynamic){.soname = ""};
	for (const ElfW(Dyn) *d = entries; d->d_tag != DT_NULL; d++) {
		const void *address = (const void *)dynamic_address(base, d);

		if (d->d_tag == DT_SYMTAB)
			out->symbols = address;
		else if (d->d_tag == DT_STRTAB)
			out->names = address;
		else if (d->d_tag == DT_GNU_HASH)
			out->hash = address;
		else if (d->d_tag == DT_VERSYM)
			out->version = address;
		else if (d->d_tag == DT_SONAME)
			soname = d;
	}
	if (soname && out->names)
		out->soname = out->names + soname->d_un.d_val;
	return out->symbols && out->names;
}

bool dynamic_is_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

uint32_t dynamic_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool is_it(const struct dynamic *d, uint32_t i, const char *name)
{
	const ElfW(Sym) *symbol = &d->symbols[i];

	return symbol->st_shndx != SHN_UNDEF &&
	       !(d->version && (d->version[i] & VERSION_HIDDEN)) &&
	       dynamic_is_same(d->names + symbol->st_name, name);
}

const ElfW(Sym) *
    dynamic_find(const struct dynamic *d, const char *name, uint32_t h)
{
	uint32_t buckets = d->hash[0];
	uint32_t first = d->hash[1];
	uint32_t words = d->hash[2];
	uint32_t shift = d->hash[3];
	const ElfW(Addr) *bloom = (const void *)&d->hash[4];
	const uint32_t *bucket = (const void *)&bloom[words];
	const uint32_t *chain = bucket + buckets;
	ElfW(Addr) word;
	uint32_t i;

	/* The table of a library that defines nothing may be empty. */
	if (buckets == 0 || words == 0)
		return NULL;
	word = bloom[h / WORD_BITS % words];
	if (!(word >> (h % WORD_BITS) & word >> ((h >> shift) % WORD_BITS) & 1))
		return NULL;
	i = bucket[h % buckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t other = chain[i - first];

		if ((other | 1) == (h | 1) && is_it(d, i, name))
			return &d->symbols[i];
		if (other & 1)
			return NULL;
	}
}
