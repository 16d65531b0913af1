/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A place, and a clock in microseconds. Loads are played against it: each end
 * is one of SMC-R or of TCP, as the word said when it began. */
#include "smc_r/protocol/worth.h"

#include <criterion/criterion.h>
#include <stdbool.h>

#define SECOND 1000000ull

static struct worth place;
static __u64 now = 77 * SECOND;
static unsigned smc, tcp; /* connections of the last load */
static __u64 lost_us;     /* by those on SMC-R */
static __u64 turned;      /* the first change in it, since it began */

static bool is_on_tcp(void)
{
	return worth_tcp_us(place.word, now) > 0;
}

/* One connection, of which the next one is so far away. */
static void one(struct worth_ends e, __u64 apart_us)
{
	bool on_tcp = is_on_tcp();

	e.count = 1;
	if (on_tcp) {
		e.began = WORTH_ON_TCP;
		tcp++;
	} else {
		__s64 loss = worth_loss_us(&e);

		smc++;
		lost_us += loss > 0 ? (__u64)loss : 0;
	}
	now += apart_us;
	worth_note(&place, &e, now);
}

static void play(struct worth_ends e, unsigned rate, __u64 for_us)
{
	__u64 begun = now;
	bool before = is_on_tcp();

	smc = tcp = 0;
	turned = 0;
	lost_us = 0;
	while (now - begun < for_us) {
		one(e, SECOND / rate);
		if (!turned && is_on_tcp() != before)
			turned = now - begun;
	}
}

static const struct worth_ends brief = {
    .life_us = 100, .bytes = 128, .requests = 1, .began = WORTH_BY_KNOCK};
static const struct worth_ends first = {
    .life_us = 3000, .bytes = 400, .requests = 1, .began = WORTH_BY_CLC};
static const struct worth_ends talk = {.life_us = 900000,
				       .bytes = 50000,
				       .requests = 5000,
				       .began = WORTH_BY_KNOCK};
static const struct worth_ends load = {
    .life_us = 50000, .bytes = 64 << 20, .requests = 1, .began = WORTH_BY_CLC};

Test(worth, a_place_begins_on_smc)
{
	cr_assert_not(is_on_tcp());
	one(brief, 100);
	cr_assert_not(is_on_tcp());
}

Test(worth, short_ones_at_a_rate_are_on_tcp_within_a_hundred_or_so)
{
	play(brief, 5000, 10 * SECOND);
	cr_assert(is_on_tcp());
	cr_assert_leq(smc, 150);
	cr_assert_gt(tcp, 49000);
}

Test(worth, those_that_begin_dearly_are_there_sooner)
{
	play(first, 200, 10 * SECOND);
	cr_assert(is_on_tcp());
	cr_assert_leq(smc, 20);
}

Test(worth, short_ones_that_come_rarely_stay_on_smc)
{
	play(brief, 45, 20 * SECOND);
	cr_assert_eq(tcp, 0);
	play(first, 9, 20 * SECOND);
	cr_assert_eq(tcp, 0);
}

Test(worth, those_that_another_process_serves_are_on_tcp_sooner_yet)
{
	struct worth_ends e = brief;

	play(e, 30, 10 * SECOND);
	cr_assert_eq(tcp, 0);
	e.began = WORTH_FOR_ANOTHER;
	play(e, 30, 10 * SECOND);
	cr_assert_gt(tcp, 200);
}

Test(worth, long_ones_are_on_smc_whatever_their_rate)
{
	play(talk, 1000, 5 * SECOND);
	cr_assert_eq(tcp, 0);
	play(load, 1000, 5 * SECOND);
	cr_assert_eq(tcp, 0);
}

Test(worth, one_that_lived_costs_nothing_that_counts)
{
	struct worth_ends idle = {.life_us = 2 * SECOND, .bytes = 10};

	play(idle, 500, 5 * SECOND);
	cr_assert_eq(tcp, 0);
}

Test(worth, a_place_comes_back_when_nothing_ends_there)
{
	play(brief, 5000, 3 * SECOND);
	cr_assert(is_on_tcp());
	now += 650000;
	cr_assert_not(is_on_tcp());
}

Test(worth, short_ones_that_come_again_lose_less)
{
	play(first, 200, SECOND);
	cr_assert_geq(smc, 8);
	now += SECOND;
	play(first, 200, SECOND);
	cr_assert_leq(smc, 5);
	now += SECOND;
	play(brief, 5000, SECOND);
	cr_assert_leq(smc, 30);
	/* Until one has gained. */
	now += SECOND;
	one(talk, 1000);
	now += SECOND;
	play(first, 200, SECOND);
	cr_assert_geq(smc, 8);
}

/* It must not come back with a debt that sends it away at once. */
Test(worth, a_wary_place_comes_back_for_those_that_follow_at_once)
{
	const struct {
		struct worth_ends ends;
		unsigned rate;
	} loads[] = {{brief, 40}, {first, 9}};

	for (int i = 0; i < 2; i++) {
		play(brief, 5000, 3 * SECOND);
		smc = tcp = 0;
		for (unsigned k = 0; k < 20 * loads[i].rate; k++) {
			now += SECOND / loads[i].rate - 1;
			one(loads[i].ends, 1);
		}
		cr_assert_gt(smc, 5 * tcp);
	}
}

Test(worth, a_wary_place_serves_those_that_come_rarely)
{
	play(first, 200, SECOND);
	now += SECOND;
	play(first, 9, 20 * SECOND);
	cr_assert_eq(tcp, 0);
	play(brief, 45, 20 * SECOND);
	cr_assert_eq(tcp, 0);
}

Test(worth, long_ends_on_tcp_bring_it_back_sooner)
{
	play(brief, 5000, 3 * SECOND);
	play(load, 50, SECOND);
	cr_assert_lt(turned, 200000);
	cr_assert_gt(turned, 0);
}

Test(worth, it_follows_a_load_that_alternates)
{
	for (int i = 0; i < 10; i++) {
		play(brief, 5000, 3 * SECOND);
		cr_assert_lt(turned, 100000);
		cr_assert_gt(turned, 0);
		play(talk, 20, 3 * SECOND);
		cr_assert_lt(turned, 700000);
		cr_assert_gt(turned, 0);
	}
}

Test(worth, among_short_ones_a_few_long_ones_pay_for_no_more_than_they_gain)
{
	/* One is long among 1,000 in a second. */
	for (int i = 0; i < 5000; i++)
		one(i % 1000 ? brief : load, 1000);
	cr_assert(is_on_tcp());
	/* A third are. */
	smc = tcp = 0;
	now += SECOND;
	for (int i = 0; i < 5000; i++)
		one(i % 3 ? brief : talk, 1000);
	cr_assert_eq(tcp, 0);
}

/* Whatever comes, in bursts as well, no more is lost than that. */
Test(worth, looking_again_costs_less_than_a_hundredth)
{
	for (__u64 pause = 100000; pause < 3 * SECOND; pause += 130000) {
		__u64 begun = now, lost = 0;

		for (int i = 0; i < 50; i++) {
			play(i % 2 ? brief : first, 4000, 50000);
			lost += lost_us;
			now += pause;
		}
		cr_assert_lt(lost, (now - begun) / 100 + WORTH_MOST_US);
	}
}

Test(worth, a_pause_lasts_whatever_ends_in_it)
{
	place.word = worth_paused(place.word, SECOND, now);
	cr_assert_eq(worth_tcp_us(place.word, now), SECOND);
	play(brief, 1000, SECOND / 2);
	cr_assert_eq(smc, 0);
	now += SECOND / 2;
	place.word = worth_paused(0, SECOND, now);
	now += SECOND - 1;
	cr_assert(is_on_tcp());
	now += 1;
	cr_assert_not(is_on_tcp());
}

Test(worth, averages_tell_what_ended_lately)
{
	play(brief, 1000, 2 * SECOND);
	cr_assert_geq(place.apart_us, 990);
	cr_assert_leq(place.apart_us, 1000);
	cr_assert_geq(place.life_us, 90);
	cr_assert_leq(place.life_us, 100);
	cr_assert_geq(place.bytes, 120);
	cr_assert_leq(place.bytes, 128);
}

Test(worth, one_end_may_stand_for_several)
{
	struct worth_ends e = brief;

	e.began = WORTH_ON_TCP;
	e.count = 50;
	worth_note(&place, &e, now);
	cr_assert_not(is_on_tcp());
	e.count = 3;
	worth_note(&place, &e, now);
	cr_assert(is_on_tcp());
}
