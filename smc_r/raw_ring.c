/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* raw_ring: does the program set up io_uring past libc? */
#include "raw_ring.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

enum answer {
	NOT_ASKED,
	NO,
	YES
};

#ifdef __x86_64__
/* mov $SYS_io_uring_setup, %eax; and soon after it: syscall */
static const uint8_t number[] = {0xb8, 0xa9, 0x01, 0x00, 0x00};
static const uint8_t enter[] = {0x0f, 0x05};
#define SOON 32

static bool enters_soon(const uint8_t *at, const uint8_t *end)
{
	size_t rest = (size_t)(end - at);

	return memmem(at, rest < SOON ? rest : SOON, enter, sizeof(enter));
}

/* By the byte of the number that is rare. */
bool raw_ring_in(const void *text, size_t bytes)
{
	const uint8_t *begin = text;
	const uint8_t *end = begin + bytes;
	const uint8_t *at = begin;

	while ((at = memchr(at, number[1], (size_t)(end - at)))) {
		if (at > begin && end - at >= (long)sizeof(number) - 1 &&
		    memcmp(at - 1, number, sizeof(number)) == 0 &&
		    enters_soon(at + sizeof(number) - 1, end))
			return true;
		at++;
	}
	return false;
}
#else
bool raw_ring_in(const void *text, size_t bytes)
{
	(void)text;
	(void)bytes;
	return false;
}
#endif

/* Where the program lies, from where its headers do. */
static uintptr_t base_of(const ElfW(Phdr) * headers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			return (uintptr_t)headers - headers[i].p_vaddr;
	return 0;
}

static bool look(void)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM);
	uintptr_t base;

	if (!headers)
		return false;
	base = base_of(headers, count);
	for (size_t i = 0; base && i < count; i++) {
		const ElfW(Phdr) *h = &headers[i];

		if (h->p_type == PT_LOAD && h->p_flags == (PF_R | PF_X) &&
		    h->p_filesz <= RAW_RING_TEXT_MAX &&
		    raw_ring_in((const void *)(base + h->p_vaddr), h->p_filesz))
			return true;
	}
	return false;
}

bool raw_ring_is_likely(void)
{
	static _Atomic int answer;

	if (atomic_load_explicit(&answer, memory_order_relaxed) == NOT_ASKED)
		atomic_store(&answer, look() ? YES : NO);
	return atomic_load_explicit(&answer, memory_order_relaxed) == YES;
}
