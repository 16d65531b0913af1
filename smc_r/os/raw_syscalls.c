/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* raw_syscalls: does the program enter the kernel past libc? */
#include "smc_r/os/raw_syscalls.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "smc_r/os/relaxed.h"

enum answer {
	NOT_ASKED,
	NO,
	YES
};

static _Atomic int answer;

/* ---- instructions ---- */

#ifdef __x86_64__
/* mov $number, %eax; and soon after it: syscall */
#define MOVE_EAX  0xb8
#define MOVE_SIZE 5
#define ENTER_0   0x0f
#define ENTER_1   0x05
#define SOON      48 /* bytes from behind the number to the call */

/* read and write are not among them: handlers of crashes have those, too. */
static bool is_of_concern(uint32_t number)
{
	switch (number) {
	case SYS_poll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_ppoll:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_io_uring_setup:
		return true;
	default:
		return false;
	}
}

/* Does one of those numbers stand before the call? */
static bool has_number(const uint8_t *begin, const uint8_t *call)
{
	size_t before = (size_t)(call - begin);
	const uint8_t *at;
	uint32_t number;

	if (before < MOVE_SIZE)
		return false;
	at = before > SOON + MOVE_SIZE ? call - SOON - MOVE_SIZE : begin;
	for (; at <= call - MOVE_SIZE; at++) {
		if (*at != MOVE_EAX)
			continue;
		memcpy(&number, at + 1, sizeof(number));
		if (is_of_concern(number))
			return true;
	}
	return false;
}

/* Behind a call no compiler adds %al to what %rax points to; but two bytes and
 * a zero are the middle of many a distance. */
static bool is_call(const uint8_t *begin, const uint8_t *at, const uint8_t *end)
{
	return (end - at == 2 || at[2] != 0) && has_number(begin, at);
}

/* Which of 16 bytes a call may begin at, by a bit each. The one behind them is
 * read as well. */
static unsigned calls_in(const uint8_t *at)
{
	__m128i first = _mm_loadu_si128((const void *)at);
	__m128i second = _mm_loadu_si128((const void *)(at + 1));

	first = _mm_cmpeq_epi8(first, _mm_set1_epi8(ENTER_0));
	second = _mm_cmpeq_epi8(second, _mm_set1_epi8(ENTER_1));
	return (unsigned)_mm_movemask_epi8(_mm_and_si128(first, second));
}

/* Looks for the calls first, as programs have hardly any of them. */
bool raw_syscalls_in(const void *text, size_t bytes)
{
	const uint8_t *begin = text;
	const uint8_t *end = begin + bytes;
	const uint8_t *at = begin;

	for (; end - at > 16; at += 16)
		for (unsigned found = calls_in(at); found; found &= found - 1)
			if (is_call(begin, at + __builtin_ctz(found), end))
				return true;
	for (; end - at >= 2; at++)
		if (at[0] == ENTER_0 && at[1] == ENTER_1 &&
		    is_call(begin, at, end))
			return true;
	return false;
}
#else
bool raw_syscalls_in(const void *text, size_t bytes)
{
	(void)text;
	(void)bytes;
	return false;
}
#endif

/* ---- the program ---- */

/* Where the program lies, from where its headers do. By the auxiliary vector,
 * as the engine lock is held: dl_iterate_phdr() would wait for another one. */
static bool find_base(const ElfW(Phdr) * headers, size_t count, uintptr_t *base)
{
	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_PHDR) {
			*base = (uintptr_t)headers - headers[i].p_vaddr;
			return true;
		}
	return false;
}

static bool look(void)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM);
	uintptr_t base;

	if (!headers || !find_base(headers, count, &base))
		return false;
	for (size_t i = 0; i < count; i++) {
		const ElfW(Phdr) *h = &headers[i];

		/* What cannot be read, or may change, is left alone. */
		if (h->p_type == PT_LOAD && h->p_flags == (PF_R | PF_X) &&
		    raw_syscalls_in((const void *)(base + h->p_vaddr),
				    h->p_filesz))
			return true;
	}
	return false;
}

bool raw_syscalls_are_likely(void)
{
	if (relaxed_load(&answer) == NOT_ASKED)
		atomic_store(&answer, look() ? YES : NO);
	return raw_syscalls_were_found();
}

bool raw_syscalls_were_found(void)
{
	return relaxed_load(&answer) == YES;
}
