/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pages: is there memory behind an address that a program gave us? The kernel
 * says EFAULT if not; a copy of ours would end in SIGSEGV, and a handler for
 * that is the program's.
 *
 * The kernel is asked once for a page, and what it said is remembered. So a
 * program that unmaps memory which a call has used before, and then gives it to
 * a call all the same, gets SIGSEGV.
 *
 * Locking: none needed. Safe in signal handlers; errno is not touched.
 */
#ifndef SMC_R_PAGES_H
#define SMC_R_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/os/relaxed.h"

#define PAGES_SHIFT 12 /* larger ones consist of such */
#define PAGES_KNOWN 4096u

/* Number of a page; PAGES_IS; may it be written? 0 for none. */
#define PAGES_IS 2u
extern _Atomic uint64_t pages_known[PAGES_KNOWN];

/* What pages.c does for all that pages_hold() does not know. A caller asks
 * about what it is about to touch: the pages are fetched. */
bool pages_ask(const void *p, size_t n, bool write);

static inline bool pages_has(uint64_t page, bool write)
{
	uint64_t known = relaxed_load(&pages_known[page % PAGES_KNOWN]);

	return (known | !write) == (page << 2 | PAGES_IS | 1);
}

/* Is it known that n bytes, one at least, can be read there, or written? */
static inline bool pages_know(const void *p, size_t n, bool write)
{
	uint64_t page = (uintptr_t)p >> PAGES_SHIFT;
	uint64_t last = ((uintptr_t)p + n - 1) >> PAGES_SHIFT;

	while (pages_has(page, write))
		if (page++ == last)
			return true;
	return false;
}

/* Can they be? Of nothing: yes. */
static inline bool pages_hold(const void *p, size_t n, bool write)
{
	return n == 0 || pages_know(p, n, write) || pages_ask(p, n, write);
}

#endif
