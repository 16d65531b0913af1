/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dynamic: the names that a library in memory defines.
 *
 * Calls nothing: not even of libc, as the library that defines it may not have
 * been initialized.
 *
 * Ownership: all of it points into the library.
 */
#ifndef SMC_R_DYNAMIC_H
#define SMC_R_DYNAMIC_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct dynamic {
	const ElfW(Sym) * symbols;
	const char *names;
	const char *soname;           /* "": it has none */
	const uint32_t *hash;         /* DT_GNU_HASH, or NULL */
	const ElfW(Versym) * version; /* of each symbol, or NULL */
};

/* Most linkers' memory has addresses there, some has what the file says. */
static inline uintptr_t dynamic_address(uintptr_t base, const ElfW(Dyn) * d)
{
	return d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
}

/* False: it has no names. */
bool dynamic_read(struct dynamic *out, uintptr_t base,
		  const ElfW(Dyn) * entries);

bool dynamic_is_same(const char *a, const char *b);

uint32_t dynamic_hash(const char *name);

/* The library's definition of a name, of several versions the one that is meant
 * by default, or NULL; the library has a hash. */
const ElfW(Sym) *
    dynamic_find(const struct dynamic *d, const char *name, uint32_t hash);

#endif
