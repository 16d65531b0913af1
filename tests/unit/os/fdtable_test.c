/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/os/fdtable.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>

Test(fdtable, before_it_is_made_nothing_is_known)
{
	cr_assert_null(fdtable_get(0));
	cr_assert_null(fdtable_get(5));
	cr_assert_null(fdtable_kind(5, FDENTRY_SOCKET));
	cr_assert_eq(fdtable_end(), 0);
}

Test(fdtable, making_it_twice_keeps_what_is_in_it)
{
	struct fdentry e = {.kind = FDENTRY_LISTENER};

	cr_assert_eq(fdtable_init(), 0);
	fdtable_set(3, &e);
	cr_assert_eq(fdtable_init(), 0);
	cr_assert_eq(fdtable_get(3), &e);
}

Test(fdtable, numbers_that_are_no_descriptors_have_no_entry)
{
	const int number[] = {-1,           INT_MIN,          INT_MAX,
			      FDTABLE_SIZE, FDTABLE_SIZE + 1, -FDTABLE_SIZE};
	size_t i;

	cr_assert_eq(fdtable_init(), 0);
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		cr_assert_null(fdtable_get(number[i]));
}

Test(fdtable, every_number_it_spans_can_be_used)
{
	struct fdentry e = {.kind = FDENTRY_SOCKET};
	struct fdentry *out;

	cr_assert_eq(fdtable_init(), 0);
	cr_assert_null(fdtable_get(FDTABLE_SIZE - 1));
	fdtable_set(FDTABLE_SIZE - 1, &e);
	cr_assert_eq(fdtable_get(FDTABLE_SIZE - 1), &e);
	cr_assert_null(fdtable_get(FDTABLE_SIZE - 2));
	cr_assert_eq(fdtable_end(), FDTABLE_SIZE);
	cr_assert(fdtable_clear(FDTABLE_SIZE - 1, &out));
	cr_assert_eq(out, &e);
}

Test(fdtable, what_is_hidden_is_not_the_programs)
{
	struct fdentry e = {.kind = FDENTRY_SOCKET};

	cr_assert_eq(fdtable_init(), 0);
	fdtable_set(7, &e);
	fdtable_reserve(500);
	cr_assert_eq(fdtable_program_end(), 8);
	cr_assert_eq(fdtable_end(), 501);
	fdtable_set(600, &e);
	cr_assert_eq(fdtable_program_end(), 601);
}

Test(fdtable, an_entry_is_found_by_its_own_kind_only)
{
	struct fdentry e = {.kind = FDENTRY_EPOLL};

	cr_assert_eq(fdtable_init(), 0);
	fdtable_set(7, &e);
	cr_assert_eq(fdtable_kind(7, FDENTRY_EPOLL), &e);
	cr_assert_null(fdtable_kind(7, FDENTRY_SOCKET));
	cr_assert_null(fdtable_kind(8, FDENTRY_EPOLL));
}

Test(fdtable, the_last_descriptor_of_an_entry_is_told)
{
	struct fdentry e = {.kind = FDENTRY_SOCKET};
	struct fdentry *out = NULL;

	cr_assert_eq(fdtable_init(), 0);
	fdtable_set(4, &e);
	fdtable_set(9, &e);
	fdtable_set(6, &e);
	cr_assert_eq(atomic_load(&e.references), 3);
	cr_assert(!fdtable_clear(9, &out));
	cr_assert_eq(out, &e);
	cr_assert(!fdtable_clear(4, &out));
	cr_assert(fdtable_clear(6, &out));
	cr_assert_eq(out, &e);
	cr_assert_null(fdtable_get(6));
	cr_assert(!fdtable_clear(6, &out));
	cr_assert_null(out);
	cr_assert_eq(fdtable_end(), 10);
}

Test(fdtable, a_number_of_ours_stays_ours_when_the_program_closes_it)
{
	struct fdentry *out = NULL;

	cr_assert_eq(fdtable_init(), 0);
	fdtable_reserve(12);
	fdtable_reserve(13);
	cr_assert_not_null(fdtable_kind(12, FDENTRY_PRIVATE));
	cr_assert(!fdtable_clear(12, &out));
	cr_assert_not_null(out);
	cr_assert_not_null(fdtable_kind(12, FDENTRY_PRIVATE));
	fdtable_release(12);
	cr_assert_null(fdtable_get(12));
	cr_assert_not_null(fdtable_kind(13, FDENTRY_PRIVATE));
	cr_assert_eq(fdtable_end(), 14);
}

/* ---- one changes, others look ---- */

#define ROUNDS 20000

struct race {
	struct {
		struct fdentry entry;
		uint64_t content;
	} item[2];
	_Atomic int over;
	_Atomic int wrong;
};

static void *look(void *argument)
{
	struct race *r = argument;

	while (!atomic_load(&r->over)) {
		struct fdentry *e = fdtable_kind(20, FDENTRY_SOCKET);

		/* What stands behind an entry was stored before it. */
		if (e && ((const uint64_t *)(void *)(e + 1))[0] != 42)
			atomic_store(&r->wrong, 1);
		sched_yield();
	}
	return NULL;
}

Test(fdtable, whoever_sees_an_entry_sees_all_of_it)
{
	static struct race r;
	struct fdentry *out;
	pthread_t reader[2];

	cr_assert_eq(fdtable_init(), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&reader[i], NULL, look, &r), 0);
	for (int i = 0; i < ROUNDS; i++) {
		if (i < 2) {
			r.item[i].entry.kind = FDENTRY_SOCKET;
			r.item[i].content = 42;
		}
		fdtable_set(20, &r.item[i & 1].entry);
		cr_assert(fdtable_clear(20, &out));
		cr_assert_eq(out, &r.item[i & 1].entry);
	}
	atomic_store(&r.over, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	cr_assert_eq(atomic_load(&r.wrong), 0);
}

Test(fdtable, an_entry_that_was_left_is_not_seen_and_not_written_to)
{
	struct fdentry e = {.kind = FDENTRY_LISTENER};
	struct fdentry other = {.kind = FDENTRY_LISTENER};
	struct fdentry *_Atomic *slot;

	cr_assert_eq(fdtable_init(), 0);
	fdtable_set(4, &e);
	fdtable_set(5, &other);
	slot = &fdtable[4];
	cr_assert(!fdtable_leave(4, &other));
	cr_assert(!fdtable_leave(6, &e));
	fdtable_set(7, &e);
	cr_assert(!fdtable_leave(4, &e));
	cr_assert(!fdtable_drop(7, &e));
	cr_assert(fdtable_leave(4, &e));
	cr_assert_null(fdtable_get(4));
	cr_assert_eq(fdtable_get(5), &other);
	cr_assert_null(fdtable_get(FDTABLE_SIZE));
	cr_assert_null(fdtable_get(-1));
	cr_assert_eq(*slot, &e);
	cr_assert_eq(atomic_load(&e.references), 1);
	cr_assert_eq(fdtable_listeners(), 1);
	/* Another number of an entry is dropped, and so is a second entry. */
	cr_assert(!fdtable_leave(5, &other));
	cr_assert_eq(fdtable_init(), 0);
	cr_assert_null(fdtable_get(4));
}

Test(fdtable, what_was_left_is_gone_when_something_is_written)
{
	struct fdentry e = {.kind = FDENTRY_LISTENER};
	struct fdentry next = {.kind = FDENTRY_SOCKET};

	cr_assert_eq(fdtable_init(), 0);
	fdtable_set(4, &e);
	cr_assert(fdtable_leave(4, &e));
	fdtable_set(4, &next);
	cr_assert_eq(fdtable_get(4), &next);
	cr_assert(fdtable_drop(4, &next));
	fdtable_reserve(700);
	cr_assert_null(fdtable_get(4));
	cr_assert_eq(fdtable_get(700)->kind, FDENTRY_PRIVATE);
	fdtable_release(700);
	cr_assert_null(fdtable_get(700));
	cr_assert_eq(fdtable_listeners(), 0);
	fdtable_end_tracking();
	cr_assert_null(fdtable_get(4));
}
