/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dynamic: what a library in memory says of itself.
 */
#ifndef SMC_R_DYNAMIC_H
#define SMC_R_DYNAMIC_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* Most linkers' memory has addresses there, some has what the file says. */
static inline uintptr_t dynamic_address(uintptr_t base, const ElfW(Dyn) * d)
{
	return d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
}

/* DT_SONAME, or "". */
static inline const char *dynamic_soname(uintptr_t base, const ElfW(Dyn) * d)
{
	const char *names = NULL;
	const ElfW(Dyn) *soname = NULL;

	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			names = (const void *)dynamic_address(base, d);
		if (d->d_tag == DT_SONAME)
			soname = d;
	}
	return names && soname ? names + soname->d_un.d_val : "";
}

#endif
