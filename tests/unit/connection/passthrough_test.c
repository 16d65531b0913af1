/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* passthrough: what is kept of connections that stay TCP, and how it goes. */
#include "smc_r/connection/passthrough.h"

#include <pthread.h>
#include <sys/time.h>

#include "smc_r/connection/connection.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"
#include "tests/unit/children.h"
#include "tests/unit/place.h"

#define FD 7

static void begin(void)
{
	place_make();
	cr_assert_eq(fdtable_init(), 0);
}

TestSuite(passthrough, .init = begin, .fini = place_remove);

static const struct passthrough one = {.role = STATUS_SERVER,
				       .local_port = 80,
				       .peer_port = 4000,
				       .reason = REASON_PEER_NO_SMC};

/* Slots in use; *slot is one of them. */
static uint32_t listed(struct status_slot **slot)
{
	struct status_header *h = segment_header();
	uint32_t n = 0;

	for (uint32_t i = 0; h && i < atomic_load(&h->slot_count); i++) {
		struct status_slot *s =
		    (void *)((char *)h + STATUS_SLOTS_AT + i * sizeof(*s));

		if (atomic_load(&s->state) == STATUS_FREE)
			continue;
		if (slot)
			*slot = s;
		n++;
	}
	return n;
}

Test(passthrough, it_is_listed_and_counted_and_no_entry_of_the_table)
{
	struct status_slot *slot = NULL;
	struct status_counters *n;

	cr_assert(!passthrough_is(FD));
	passthrough_keep(FD, &one);
	cr_assert(passthrough_is(FD));
	cr_assert_null(fdtable_get(FD));
	cr_assert_eq(listed(&slot), 1);
	cr_assert_eq(atomic_load(&slot->state), STATUS_TCP);
	cr_assert_eq(slot->role, STATUS_SERVER);
	cr_assert_eq(slot->local_port, 80);
	cr_assert_eq(slot->peer_port, 4000);
	cr_assert_eq(slot->reason, REASON_PEER_NO_SMC);
	cr_assert_eq(slot->pid, getpid());
	n = &segment_header()->counters;
	cr_assert_eq(n->server_connections, 1);
	cr_assert_eq(n->client_connections, 0);
	cr_assert_eq(n->tcp_connections, 1);
	cr_assert_eq(n->fallbacks[reason_index(REASON_PEER_NO_SMC)], 1);
	passthrough_drop(FD);
	cr_assert(!passthrough_is(FD));
	cr_assert_eq(listed(NULL), 0);
	passthrough_drop(FD);
	cr_assert_eq(n->tcp_connections, 1);
}

Test(passthrough, a_number_that_was_closed_unseen_stands_for_the_next)
{
	struct status_slot *slot = NULL;
	struct passthrough next = one;

	next.peer_port = 4001;
	passthrough_keep(FD, &one);
	passthrough_keep(FD, &next);
	cr_assert_eq(listed(&slot), 1);
	cr_assert_eq(slot->peer_port, 4001);
}

Test(passthrough, what_is_something_else_to_the_engine_stays_that)
{
	struct fdentry e = {.kind = FDENTRY_LISTENER};

	fdtable_set(FD, &e);
	passthrough_keep(FD, &one);
	passthrough_keep(-1, &one);
	passthrough_keep(FDTABLE_SIZE, &one);
	cr_assert(!passthrough_is(FD));
	cr_assert(!passthrough_is(-1));
	cr_assert(!passthrough_is(FDTABLE_SIZE));
	cr_assert_eq(listed(NULL), 0);
}

Test(passthrough, a_second_descriptor_makes_it_an_ordinary_connection)
{
	struct connection *c;
	struct fdentry *e;

	passthrough_keep(FD, &one);
	passthrough_share(FD);
	passthrough_share(FD + 1);
	cr_assert(!passthrough_is(FD));
	c = connection_of(FD);
	cr_assert_not_null(c);
	cr_assert_eq(connection_phase(c), PHASE_NATIVE);
	cr_assert_null(fdtable_get(FD + 1));
	fdtable_set(FD + 1, &c->entry);
	cr_assert(!fdtable_clear(FD, &e));
	cr_assert_eq(listed(NULL), 1);
	cr_assert(fdtable_clear(FD + 1, &e));
	connection_release(c);
	cr_assert_eq(listed(NULL), 0);
}

Test(passthrough, more_than_the_segment_has_room_for_make_it_grow)
{
	for (int fd = 10; fd < 310; fd++)
		passthrough_keep(fd, &one);
	cr_assert_eq(listed(NULL), 300);
	passthrough_drop_range(10, 19);
	passthrough_drop_range(300, ~0u);
	cr_assert_eq(listed(NULL), 280);
	passthrough_drop_all();
	cr_assert_eq(listed(NULL), 0);
	cr_assert(!passthrough_is(50));
}

Test(passthrough, one_after_the_other_takes_one_slot)
{
	struct status_slot *first = NULL;
	struct status_slot *slot = NULL;

	passthrough_keep(FD, &one);
	listed(&first);
	for (int i = 0; i < 1000; i++) {
		passthrough_drop(FD);
		passthrough_keep(FD, &one);
		cr_assert_eq(listed(&slot), 1);
		cr_assert_eq(slot, first);
	}
}

/* ---- fork ---- */

struct family {
	_Atomic int step;
};

static void child_drops(int number, void *argument)
{
	struct family *f = argument;

	(void)number;
	process_forked();
	segment_after_fork(true);
	children_must(passthrough_is(FD));
	children_wait_for(&f->step, 1);
	passthrough_drop(FD);
	children_must(!passthrough_is(FD));
	/* Its own ones are in a segment of its own. */
	passthrough_keep(FD, &one);
	children_must(listed(NULL) == 1);
	segment_close();
}

Test(passthrough, parent_and_child_hold_it_and_the_last_one_frees_it)
{
	struct family *f = children_share(sizeof(*f));
	struct status_slot *slot = NULL;
	pid_t pid;

	passthrough_keep(FD, &one);
	listed(&slot);
	segment_before_fork();
	pid = children_start(child_drops, 0, f);
	segment_after_fork(false);
	passthrough_drop(FD);
	cr_assert(!passthrough_is(FD));
	cr_assert_eq(atomic_load(&slot->state), STATUS_TCP);
	atomic_store(&f->step, 1);
	cr_assert_eq(children_wait(pid), 0);
	cr_assert_eq(atomic_load(&slot->state), STATUS_FREE);
}

/* ---- threads and handlers ---- */

#define THREADS 4
#define ROUNDS  20000

static void *keep_and_drop(void *argument)
{
	int fd = 20 + *(int *)argument * 3;

	for (int i = 0; i < ROUNDS; i++) {
		passthrough_keep(fd, &one);
		passthrough_keep(fd + 1, &one);
		passthrough_drop(fd);
		if (i % 64 == 0)
			passthrough_share(fd + 1);
		if (passthrough_is(fd + 1)) {
			passthrough_drop(fd + 1);
		} else {
			struct connection *c = connection_of(fd + 1);
			struct fdentry *e;

			engine_lock();
			if (fdtable_clear(fd + 1, &e))
				connection_release(c);
			engine_unlock();
		}
	}
	return NULL;
}

Test(passthrough, threads_get_slots_of_their_own)
{
	pthread_t thread[THREADS];
	int number[THREADS];

	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		cr_assert_eq(
		    pthread_create(&thread[i], NULL, keep_and_drop, &number[i]),
		    0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	cr_assert_eq(listed(NULL), 0);
	cr_assert_eq(segment_header()->counters.tcp_connections,
		     2 * THREADS * ROUNDS);
	cr_assert_leq(atomic_load(&segment_header()->slot_count), 32);
}

static _Atomic int interrupted;

static void on_alarm(int number)
{
	(void)number;
	passthrough_keep(FD, &one);
	passthrough_drop(FD);
	atomic_fetch_add(&interrupted, 1);
}

Test(passthrough, a_handler_may_come_at_any_time)
{
	const struct itimerval often = {{0, 100}, {0, 100}};
	const struct itimerval never = {{0, 0}, {0, 0}};

	passthrough_keep(FD + 1, &one);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (atomic_load(&interrupted) < 200) {
		passthrough_drop(FD + 1);
		passthrough_keep(FD + 1, &one);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	cr_assert_eq(listed(NULL), 1);
	cr_assert_leq(atomic_load(&segment_header()->slot_count), 32);
}
