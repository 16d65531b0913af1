/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/os/raw_syscalls.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#ifdef __x86_64__
static uint8_t text[128];
static const uint8_t enter[] = {0x0f, 0x05};

static void put(size_t at, const uint8_t *bytes, size_t n)
{
	memcpy(text + at, bytes, n);
}

/* mov $number, %eax */
static void put_number(size_t at, uint32_t number)
{
	text[at] = 0xb8;
	memcpy(text + at + 1, &number, sizeof(number));
}

/* Nothing but nop. */
static void clear(void)
{
	memset(text, 0x90, sizeof(text));
}

static bool has(size_t at, uint32_t number, size_t call)
{
	clear();
	put_number(at, number);
	put(call, enter, sizeof(enter));
	return raw_syscalls_in(text, sizeof(text));
}

Test(raw_syscalls, what_concerns_a_connection)
{
	static const uint32_t numbers[] = {
	    SYS_poll,          SYS_ppoll,      SYS_select,
	    SYS_pselect6,      SYS_epoll_wait, SYS_epoll_pwait,
	    SYS_epoll_pwait2,  SYS_accept,     SYS_accept4,
	    SYS_recvfrom,      SYS_recvmsg,    SYS_recvmmsg,
	    SYS_sendto,        SYS_sendmsg,    SYS_sendmmsg,
	    SYS_io_uring_setup};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		cr_assert(has(40, numbers[i], 53), "%u", numbers[i]);
}

Test(raw_syscalls, other_numbers_are_no_concern_of_ours)
{
	static const uint32_t numbers[] = {SYS_read, SYS_futex, SYS_gettid,
					   SYS_exit_group,
					   SYS_epoll_pwait2 + 0x100};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		cr_assert(!has(40, numbers[i], 53), "%u", numbers[i]);
}

Test(raw_syscalls, wherever_they_stand)
{
	for (size_t at = 0; at + 7 <= sizeof(text); at++)
		cr_assert(has(at, SYS_epoll_wait, at + 5), "%zu", at);
}

Test(raw_syscalls, neither_of_them_alone)
{
	clear();
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
	put_number(40, SYS_epoll_wait);
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
	put(38, enter, sizeof(enter));
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
	cr_assert(!raw_syscalls_in(text, 0));
}

Test(raw_syscalls, a_call_far_behind_the_number_is_another)
{
	cr_assert(!has(10, SYS_epoll_wait, 80));
	put_number(90, SYS_epoll_wait);
	put(96, enter, sizeof(enter));
	cr_assert(raw_syscalls_in(text, sizeof(text)));
}

Test(raw_syscalls, the_middle_of_a_distance_is_no_call)
{
	cr_assert(has(40, SYS_epoll_wait, 53));
	text[55] = 0;
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
}

Test(raw_syscalls, bytes_that_end_within)
{
	clear();
	put_number(sizeof(text) - 5, SYS_epoll_wait);
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
	put_number(sizeof(text) - 6, SYS_epoll_wait);
	put(sizeof(text) - 1, enter, 1);
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
	/* The rest of the number, and the call, lie in front. */
	clear();
	put(0, enter, sizeof(enter));
	cr_assert(!raw_syscalls_in(text, sizeof(text)));
}
#endif

Test(raw_syscalls, these_tests_have_none)
{
	cr_assert(!raw_syscalls_were_found());
	cr_assert(!raw_syscalls_are_likely());
	cr_assert(!raw_syscalls_were_found());
}
