/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ofed_core/spread.h"

#define MS UINT64_C(1000000)
#define T0 (1000 * MS)

/* One that is told by us how long it has waited. */
static struct spread told(void)
{
	return (struct spread){.is_open = true,
			       .fd = memfd_create("schedstat", MFD_CLOEXEC)};
}

static void tell(const struct spread *s, const char *text)
{
	cr_assert_eq(ftruncate(s->fd, 0), 0);
	cr_assert_eq(pwrite(s->fd, text, strlen(text), 0),
		     (ssize_t)strlen(text));
}

Test(spread, asks_every_ten_milliseconds)
{
	struct spread s = told();

	tell(&s, "10 3000000 4\n");
	spread_look(&s, T0);
	cr_assert_eq(s.waited, 3 * MS);
	tell(&s, "10 4000000 4\n");
	spread_look(&s, T0 + 9 * MS);
	cr_assert_eq(s.waited, 3 * MS);
	spread_look(&s, T0 + 10 * MS);
	cr_assert_eq(s.waited, 4 * MS);
	close(s.fd);
}

Test(spread, leaves_the_thread_all_its_processors)
{
	struct spread s = told();
	cpu_set_t before;
	cpu_set_t after;

	cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	tell(&s, "10 0 4\n");
	spread_look(&s, T0);
	tell(&s, "10 9000000 4\n");
	spread_look(&s, T0 + 10 * MS);
	cr_assert_eq(s.waited, 9 * MS);
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&before, &after));
	close(s.fd);
}

Test(spread, a_thread_bound_to_one_processor_stays)
{
	struct spread s = told();
	cpu_set_t one;
	cpu_set_t after;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	tell(&s, "10 0 4\n");
	spread_look(&s, T0);
	tell(&s, "10 9000000 4\n");
	spread_look(&s, T0 + 10 * MS);
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&one, &after));
	close(s.fd);
}

Test(spread, what_the_kernel_tells_of_this_thread_is_understood)
{
	struct spread s = {0};

	spread_look(&s, T0);
	cr_assert(s.is_open);
	if (s.fd < 0)
		cr_skip("this kernel has no schedstat");
	s.waited = UINT64_MAX;
	spread_look(&s, T0 + 1000 * MS);
	cr_assert_neq(s.waited, UINT64_MAX);
	close(s.fd);
}

Test(spread, a_kernel_that_tells_nothing_is_no_error)
{
	struct spread s = {.is_open = true, .fd = -1};

	spread_look(&s, T0);
	spread_look(&s, T0 + 10 * MS);
	cr_assert_eq(s.waited, 0);
}
