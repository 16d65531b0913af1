/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/peer/settings.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "smc_r/os/raw_syscalls.h"
#include "smc_r/protocol/reason.h"
#include "tests/unit/place.h"

/* This program has the engine in it, which enters the kernel by itself. */
bool raw_syscalls_are_likely(void)
{
	return false;
}

bool raw_syscalls_were_found(void)
{
	return false;
}

TestSuite(settings, .init = place_make, .fini = place_remove);

static struct in6_addr address(const char *text)
{
	struct in6_addr a;

	cr_assert_eq(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

static void remove_file(const char *name)
{
	cr_assert_eq(unlink(place_path(name)), 0);
}

Test(settings, without_a_device_there_is_a_reason)
{
	uint32_t reason = 0;

	cr_assert_null(settings_now(&reason));
	cr_assert_eq(reason, REASON_UNAVAILABLE);
}

/* Programs outlive devices: one that comes later is found by a process that
 * has looked in vain, though not at each of its calls. */
Test(settings, a_device_that_comes_later_is_found)
{
	const struct timespec pause = {0, 10000000};
	struct snapshot s = place_settings();
	const struct snapshot *now;
	uint32_t reason;

	cr_assert_null(settings_now(&reason));
	place_publish(&s);
	for (int i = 0; i < 500; i++) {
		now = settings_now(&reason);
		if (now)
			break;
		nanosleep(&pause, NULL);
	}
	cr_assert_not_null(now);
	cr_assert_eq(reason, REASON_NONE);
	cr_assert_eq(now->generation, 1);
	cr_assert_eq(now->max_memory_bytes, s.max_memory_bytes);
}

Test(settings, a_change_is_seen_at_the_next_look)
{
	struct snapshot s = place_settings();
	const struct snapshot *now;
	uint32_t reason;

	place_publish(&s);
	now = settings_now(&reason);
	cr_assert_not_null(now);
	cr_assert(snapshot_has_port(now, 7000));
	for (uint64_t generation = 2; generation < 50; generation++) {
		s.generation = generation;
		s.max_memory_bytes = generation << 20;
		s.enabled = generation & 1;
		s.ranges[0].low = (uint16_t)(7000 + generation);
		place_publish(&s);
		now = settings_now(&reason);
		cr_assert_not_null(now);
		cr_assert_eq(now->generation, generation);
		cr_assert_eq(now->max_memory_bytes, generation << 20);
		cr_assert_eq(now->enabled, generation & 1);
		cr_assert(!snapshot_has_port(now, 7000));
	}
}

/* ---- threads that connect while the first of them reads the file ---- */

#define THREADS 6

static _Atomic unsigned waiting;
static _Atomic bool missed;

static void *connects(void *unused)
{
	uint32_t reason;

	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&waiting) < THREADS)
		;
	for (int i = 0; i < 200; i++)
		if (!settings_may_match(7000))
			atomic_store(&missed, true);
	engine_lock();
	settings_now(&reason);
	engine_unlock();
	for (int i = 0; i < 200; i++)
		if (!settings_may_match(7000))
			atomic_store(&missed, true);
	return unused;
}

static bool first_threads_all_match(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, connects, NULL))
			return false;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return !missed;
}

/* The first look happens once in a process. */
Test(settings, no_thread_sees_a_listed_port_missing)
{
	struct snapshot s = place_settings();
	int status;

	place_publish(&s);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(first_threads_all_match() ? 0 : 1);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert_eq(status, 0, "process %d", i);
	}
}

Test(settings, the_bits_of_ports_are_those_of_the_ranges)
{
	static const struct snapshot_range ranges[] = {
	    {1, 1},     {63, 63},   {64, 64},       {100, 300},
	    {320, 383}, {384, 384}, {65535, 65535},
	};
	struct snapshot s = place_settings();
	uint32_t reason;

	s.range_count = sizeof(ranges) / sizeof(ranges[0]);
	memcpy(s.ranges, ranges, sizeof(ranges));
	place_publish(&s);
	cr_assert_not_null(settings_now(&reason));
	for (unsigned port = 1; port < 65536; port++)
		cr_assert_eq(settings_may_match((uint16_t)port),
			     snapshot_has_port(&s, (uint16_t)port), "%u", port);
}

/* Also when one has gone from the list. */
Test(settings, the_addresses_are_those_of_the_device)
{
	struct in6_addr one = address("::ffff:192.0.2.1");
	struct in6_addr two = address("2001:db8::2");
	struct snapshot s = place_settings();
	uint32_t reason;

	s.address_count = 2;
	s.addresses[0] = one;
	s.addresses[1] = two;
	place_publish(&s);
	settings_now(&reason);
	cr_expect(settings_has_address(&one));
	cr_expect(settings_has_address(&two));
	one.s6_addr[15]++;
	cr_expect_not(settings_has_address(&one));
	s.generation++;
	s.address_count = 1;
	place_publish(&s);
	settings_now(&reason);
	cr_expect_not(settings_has_address(&two));
}

Test(settings, nothing_is_read_while_the_word_stands_still)
{
	struct snapshot s = place_settings();
	const struct snapshot *now;
	uint32_t reason;

	place_publish(&s);
	cr_assert_not_null(settings_now(&reason));
	remove_file(RUNDIR_SNAPSHOT);
	now = settings_now(&reason);
	cr_assert_not_null(now);
	cr_assert_eq(now->max_memory_bytes, s.max_memory_bytes);
}

Test(settings, a_device_that_was_taken_away_is_gone)
{
	struct snapshot s = place_settings();
	uint32_t reason;

	place_publish(&s);
	cr_assert_not_null(settings_now(&reason));
	s.generation = 2;
	place_publish(&s);
	remove_file(RUNDIR_SNAPSHOT);
	cr_assert_null(settings_now(&reason));
	cr_assert_eq(reason, REASON_UNAVAILABLE);
	/* And comes back. */
	s.generation = 3;
	place_publish(&s);
	cr_assert_not_null(settings_now(&reason));
}

Test(settings, a_file_that_says_nonsense_is_no_device)
{
	struct snapshot s = place_settings();
	uint32_t reason;

	place_publish(&s);
	cr_assert_not_null(settings_now(&reason));
	s.generation = 2;
	place_publish(&s);
	place_write(RUNDIR_SNAPSHOT, "enabled 1\n", 10);
	cr_assert_null(settings_now(&reason));
	cr_assert_eq(reason, REASON_UNAVAILABLE);
}

Test(settings, a_program_can_be_left_out_by_its_name)
{
	struct snapshot s = place_settings();
	uint32_t reason;

	s.exclude_count = 2;
	strcpy(s.excludes[0], "another");
	strcpy(s.excludes[1], process.program);
	place_publish(&s);
	cr_assert_null(settings_now(&reason));
	cr_assert_eq(reason, REASON_PROGRAM);
	s.generation = 2;
	s.exclude_count = 1;
	place_publish(&s);
	cr_assert_not_null(settings_now(&reason));
}

Test(settings, what_the_environment_switches_off_stays_off)
{
	struct snapshot s = place_settings();
	uint32_t reason;

	place_publish(&s);
	setenv("SMC_R", "0", 1);
	process_init();
	cr_assert_null(settings_now(&reason));
	cr_assert_eq(reason, REASON_ENVIRONMENT);
}

Test(settings, every_rule_that_forbids_has_its_reason)
{
	struct snapshot s = place_settings();
	struct in6_addr v4 = address("::ffff:127.0.0.1");
	struct in6_addr other4 = address("::ffff:127.0.0.2");
	struct in6_addr v6 = address("::1");
	struct in6_addr other6 = address("fe80::1");

	s.ranges[0].low = 7000;
	s.ranges[0].high = 7010;
	cr_assert_eq(settings_match(&s, &v4, 7000), REASON_NONE);
	cr_assert_eq(settings_match(&s, &v6, 7010), REASON_NONE);
	cr_assert_eq(settings_match(&s, &v4, 6999), REASON_PORT);
	cr_assert_eq(settings_match(&s, &v6, 7011), REASON_PORT);
	cr_assert_eq(settings_match(&s, &v4, 0), REASON_PORT);
	cr_assert_eq(settings_match(&s, &other4, 7005), REASON_ADDRESS);
	cr_assert_eq(settings_match(&s, &other6, 7005), REASON_ADDRESS);
	/* An address that is not known yet rules nothing out; a port does. */
	cr_assert_eq(settings_match(&s, NULL, 7005), REASON_NONE);
	cr_assert_eq(settings_match(&s, NULL, 80), REASON_PORT);
	s.enabled = false;
	cr_assert_eq(settings_match(&s, &v4, 7005), REASON_DISABLED);
	cr_assert_eq(settings_match(&s, NULL, 7005), REASON_DISABLED);
}
