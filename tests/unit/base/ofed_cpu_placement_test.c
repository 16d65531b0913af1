/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ofed_core/base/cpu_placement.h"

#define MS UINT64_C(1000000)
#define T0 (1000 * MS)

/* One that is told by us how long it has waited. */
static struct cpu_placement told(void)
{
	return (struct cpu_placement){
	    .is_open = true, .fd = memfd_create("schedstat", MFD_CLOEXEC)};
}

static void tell(const struct cpu_placement *s, const char *text)
{
	cr_assert_eq(ftruncate(s->fd, 0), 0);
	cr_assert_eq(pwrite(s->fd, text, strlen(text), 0),
		     (ssize_t)strlen(text));
}

Test(cpu_placement, asks_every_ten_milliseconds)
{
	struct cpu_placement s = told();

	tell(&s, "10 3000000 4\n");
	cpu_placement_look(&s, T0);
	cr_assert_eq(s.waited, 3 * MS);
	tell(&s, "10 4000000 4\n");
	cpu_placement_look(&s, T0 + 9 * MS);
	cr_assert_eq(s.waited, 3 * MS);
	cpu_placement_look(&s, T0 + 10 * MS);
	cr_assert_eq(s.waited, 4 * MS);
	close(s.fd);
}

/* One that has just waited for nine of ten milliseconds. */
static struct cpu_placement has_waited(cpu_set_t *before)
{
	struct cpu_placement s = told();

	cr_assert_eq(sched_getaffinity(0, sizeof(*before), before), 0);
	if (CPU_COUNT(before) < 2)
		cr_skip("there is one processor");
	tell(&s, "10 0 4\n");
	cpu_placement_look(&s, T0);
	tell(&s, "10 9000000 4\n");
	cpu_placement_look(&s, T0 + 10 * MS);
	return s;
}

static cpu_set_t allowed_now(void)
{
	cpu_set_t now;

	cr_assert_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	return now;
}

Test(cpu_placement, keeps_away_until_it_waits_there_as_well)
{
	cpu_set_t before;
	struct cpu_placement s = has_waited(&before);
	cpu_set_t now = allowed_now();

	cr_assert_eq(CPU_COUNT(&now), CPU_COUNT(&before) - 1);
	tell(&s, "10 10000000 4\n");
	cpu_placement_look(&s, T0 + 20 * MS);
	now = allowed_now();
	cr_assert_eq(CPU_COUNT(&now), CPU_COUNT(&before) - 1);
	tell(&s, "10 19000000 4\n");
	cpu_placement_look(&s, T0 + 30 * MS);
	now = allowed_now();
	cr_assert(CPU_EQUAL(&before, &now));
	close(s.fd);
}

Test(cpu_placement, may_go_anywhere_when_the_stream_is_over)
{
	cpu_set_t before;
	struct cpu_placement s = has_waited(&before);
	cpu_set_t now;

	cpu_placement_end(&s);
	now = allowed_now();
	cr_assert(CPU_EQUAL(&before, &now));
	cpu_placement_end(&s);
	close(s.fd);
}

Test(cpu_placement, leaves_alone_what_somebody_else_has_bound)
{
	cpu_set_t before;
	struct cpu_placement s = has_waited(&before);
	cpu_set_t one;
	cpu_set_t now;

	/* Back to where it was: no set of the thread's own. */
	one = before;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &s.others))
			CPU_CLR(i, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cpu_placement_end(&s);
	now = allowed_now();
	cr_assert(CPU_EQUAL(&one, &now));
	close(s.fd);
}

Test(cpu_placement, a_thread_bound_to_one_processor_stays)
{
	struct cpu_placement s = told();
	cpu_set_t one;
	cpu_set_t after;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	tell(&s, "10 0 4\n");
	cpu_placement_look(&s, T0);
	tell(&s, "10 9000000 4\n");
	cpu_placement_look(&s, T0 + 10 * MS);
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&one, &after));
	close(s.fd);
}

Test(cpu_placement, what_the_kernel_tells_of_this_thread_is_understood)
{
	struct cpu_placement s = {0};

	cpu_placement_look(&s, T0);
	cr_assert(s.is_open);
	if (s.fd < 0)
		cr_skip("this kernel has no schedstat");
	s.waited = UINT64_MAX;
	cpu_placement_look(&s, T0 + 1000 * MS);
	cr_assert_neq(s.waited, UINT64_MAX);
	close(s.fd);
}

Test(cpu_placement, a_kernel_that_tells_nothing_is_no_error)
{
	struct cpu_placement s = {.is_open = true, .fd = -1};

	cpu_placement_look(&s, T0);
	cpu_placement_look(&s, T0 + 10 * MS);
	cr_assert_eq(s.waited, 0);
}
