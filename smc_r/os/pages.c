/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pages: is there memory behind an address that a program gave us? */
#include "smc_r/os/pages.h"

#include <errno.h>
#include <sys/mman.h>

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#ifndef MADV_POPULATE_READ /* since Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE_BYTES   ((uintptr_t)1 << PAGES_SHIFT)
#define ADDRESS_MOST ((uintptr_t)1 << 56)

_Alignas(64) _Atomic uint64_t pages_known[PAGES_KNOWN];

/* Reads a set of signals from there, and then refuses to do anything with it.
 */
static bool can_read(uintptr_t page)
{
	return SYS_CALL4(SYS_rt_sigprocmask, -1, page, NULL,
			 sizeof(uint64_t)) != -EFAULT;
}

/* Sets no bit in a word there; nobody waits for either word. */
static bool can_write(uintptr_t page)
{
	uint32_t word = 0;

	return SYS_CALL6(SYS_futex, &word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG,
			 0, 0, page,
			 FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) !=
	       -EFAULT;
}

/*
 * Makes the kernel look at the pages as a copy would, and nothing else. It may
 * not know the request, or memory of a device: then words tell, which are the
 * program's, and a tool that watches its memory (valgrind) would see them read.
 */
static bool ask(uintptr_t start, size_t bytes, bool write)
{
	if (SYS_CALL3(SYS_madvise, start, bytes,
		      write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return true;
	for (size_t i = 0; i < bytes; i += PAGE_BYTES)
		if (!(write ? can_write(start + i) : can_read(start + i)))
			return false;
	return true;
}

static void note(uint64_t page, bool write)
{
	relaxed_store(&pages_known[page % PAGES_KNOWN],
		      page << 2 | PAGES_IS | write);
}

/* All of it is about to be copied, so no page is touched in vain. */
bool pages_ask(const void *p, size_t n, bool write)
{
	uintptr_t start = (uintptr_t)p & ~(PAGE_BYTES - 1);
	uintptr_t last = ((uintptr_t)p + n - 1) & ~(PAGE_BYTES - 1);

	if (start == 0 || last < start || last >= ADDRESS_MOST)
		return false;
	/* Confined to few system calls: nothing of ours is left to do. */
	if (process.off)
		return true;
	if (!ask(start, last - start + PAGE_BYTES, write))
		return false;
	for (uintptr_t at = start; at <= last; at += PAGE_BYTES)
		note(at >> PAGES_SHIFT, write);
	return true;
}
