/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/handshake_clock.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "smc_r/protocol/port_history.h"

#define MS    1000000ull
#define BEGUN (5000 * MS) /* all times of a row count from here */
#define LIMIT 200         /* milliseconds */

#define POLL      HANDSHAKE_POLL
#define WRITE     HANDSHAKE_WRITE
#define WRITE_NOW HANDSHAKE_WRITE_NOW
#define UNSURE    HANDSHAKE_KNOCK_UNSURE
#define SURE      HANDSHAKE_KNOCK_SURE
#define ALL       PORT_HISTORY_TIMEOUTS

/* One row: a connection, and what is said of it in which millisecond from
 * BEGUN on, until it is given up. A write asks 40 ms after BEGUN. */
struct row {
	struct handshake_clock k; /* asked, late and answered in ms from BEGUN,
				   * as the other times: 0 is never */
	const char *said;
};

/* clang-format off */
static const struct row rows[] = {
	/* Polls: alone, in a crowd, and what becomes of the crowd. */
	{{.asker = POLL},                                       "hide 5 tell 200 give up"},
	{{.asker = POLL, .timeouts = 2},                        "hide 5 tell 200 give up"},
	{{.asker = POLL, .timeouts = ALL},                      "tell 200 give up"},
	{{.asker = POLL, .told = true},                         "tell 200 give up"},
	{{.asker = POLL, .late_ns = 150},                       "hide 5 tell 200 give up"},
	{{.asker = POLL, .answered_ns = 80},                    "hide 5 tell 200 give up"},
	{{.asker = POLL, .crowd = true},                        "hide 100 tell 200 give up"},
	{{.asker = POLL, .crowd = true, .timeouts = 2},         "hide 100 tell 200 give up"},
	{{.asker = POLL, .crowd = true, .timeouts = ALL},       "tell 200 give up"},
	{{.asker = POLL, .crowd = true, .told = true},          "tell 200 give up"},
	{{.asker = POLL, .crowd = true, .late_ns = 101},        "hide 106 tell 200 give up"},
	{{.asker = POLL, .crowd = true, .late_ns = 400},        "hide 405 give up"},
	{{.asker = POLL, .crowd = true, .answered_ns = 80},     "hide 180 tell 200 give up"},
	{{.asker = POLL, .crowd = true, .answered_ns = 150},    "hide 250 give up"},
	{{.asker = POLL, .crowd = true, .answered_ns = 950},    "hide 1000 give up"},
	{{.asker = POLL, .crowd = true, .answered_ns = 150, .timeouts = ALL}, "tell 200 give up"},
	/* Only the thread that asks would accept it. */
	{{.asker = POLL, .own = true},                          "hide 200 give up"},
	{{.asker = POLL, .own = true, .timeouts = ALL},         "hide 200 give up"},
	{{.asker = POLL, .own = true, .told = true},            "tell 200 give up"},
	/* A knock that stays out. */
	{{.asker = POLL, .knock = UNSURE},                               "knock 2 hide 5 tell 200 give up"},
	{{.asker = POLL, .knock = SURE},                                 "knock 2 hide 5 tell 200 give up"},
	{{.asker = POLL, .knock = SURE, .told = true},                   "knock 2 tell 200 give up"},
	{{.asker = POLL, .knock = SURE, .timeouts = ALL},                "knock 2 tell 200 give up"},
	{{.asker = POLL, .knock = UNSURE, .crowd = true},                "knock 2 hide 100 tell 200 give up"},
	{{.asker = POLL, .knock = SURE, .crowd = true},                  "knock 100 tell 200 give up"},
	{{.asker = POLL, .knock = SURE, .crowd = true, .answered_ns = 150}, "knock 250 give up"},
	{{.asker = POLL, .knock = SURE, .crowd = true, .timeouts = ALL}, "knock 2 tell 200 give up"},
	{{.asker = POLL, .knock = UNSURE, .own = true},                  "knock 200 give up"},
	/* Writes. */
	{{.asker = WRITE},                                      "hide 240 give up"},
	{{.asker = WRITE, .told = true},                        "hide 240 give up"},
	{{.asker = WRITE, .timeouts = 1},                       "hide 90 give up"},
	{{.asker = WRITE, .timeouts = 2},                       "hide 90 give up"},
	{{.asker = WRITE, .timeouts = ALL},                     "give up"},
	{{.asker = WRITE, .answered_ns = 120},                  "hide 240 give up"},
	{{.asker = WRITE, .answered_ns = 220},                  "hide 320 give up"},
	{{.asker = WRITE, .answered_ns = 1020},                 "hide 1040 give up"},
	{{.asker = WRITE, .answered_ns = 20, .timeouts = ALL},  "hide 120 give up"},
	{{.asker = WRITE, .knock = UNSURE},            "knock 42 hide 240 give up"},
	{{.asker = WRITE, .knock = SURE},              "knock 50 hide 240 give up"},
	{{.asker = WRITE, .knock = SURE, .timeouts = ALL}, "knock 50 give up"},
	{{.asker = WRITE_NOW, .knock = SURE},          "hide 140 give up"},
	{{.asker = WRITE, .own = true},                         "hide 41 give up"},
	{{.asker = WRITE, .own = true, .answered_ns = 220},     "hide 41 give up"},
	{{.asker = WRITE, .own = true, .timeouts = ALL},        "give up"},
	{{.asker = WRITE_NOW},                                  "hide 140 give up"},
	{{.asker = WRITE_NOW, .told = true},                    "hide 100 give up"},
	{{.asker = WRITE_NOW, .timeouts = 1},                   "hide 65 give up"},
	{{.asker = WRITE_NOW, .told = true, .timeouts = 1},     "give up"},
	{{.asker = WRITE_NOW, .timeouts = ALL},                 "give up"},
	{{.asker = WRITE_NOW, .answered_ns = 220},              "hide 140 give up"},
	{{.asker = WRITE_NOW, .own = true},                     "hide 41 give up"},
};
/* clang-format on */

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define ASKED     40
#define LONGEST   1200

static const char *const words[] = {"knock", "hide", "tell", "give up"};

static struct handshake_clock clock_of(const struct row *row)
{
	struct handshake_clock k = row->k;

	k.limit_ns = LIMIT * MS;
	k.begun_ns = BEGUN;
	k.asked_ns = BEGUN + ASKED * MS;
	if (k.late_ns)
		k.late_ns = BEGUN + k.late_ns * MS;
	if (k.answered_ns)
		k.answered_ns = BEGUN + k.answered_ns * MS;
	return k;
}

/* The turns that follow each other, each with the time at which it ends. */
static void say(const struct handshake_clock *k, char *out, size_t room)
{
	uint64_t ms = k->asker == HANDSHAKE_POLL ? 0 : ASKED;
	struct handshake_verdict v = handshake_judge(k, BEGUN + ms * MS);
	size_t n = 0;

	while (v.turn != HANDSHAKE_GIVE_UP) {
		enum handshake_turn turn = v.turn;
		uint64_t until = v.until_ns;

		for (; v.turn == turn && ms < LONGEST; ms++) {
			cr_assert_eq(v.until_ns, until);
			v = handshake_judge(k, BEGUN + (ms + 1) * MS);
		}
		cr_assert_eq(until, BEGUN + ms * MS, "it told when it ends");
		n += (size_t)snprintf(out + n, room - n, "%s %llu ",
				      words[turn], (unsigned long long)ms);
	}
	cr_assert_leq(v.until_ns, BEGUN + ms * MS);
	snprintf(out + n, room - n, "%s", words[HANDSHAKE_GIVE_UP]);
}

Test(handshake_clock, each_row_of_the_table)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct handshake_clock k = clock_of(&rows[i]);
		char said[128];

		say(&k, said, sizeof(said));
		if (strcmp(said, rows[i].said) == 0)
			continue;
		printf("row %zu: %s; expected: %s\n", i, said, rows[i].said);
		wrong++;
	}
	cr_assert_eq(wrong, 0);
}

/* What is known more, and what time it is, never takes a verdict back but for
 * an answer of the port, or the first late look. */
Test(handshake_clock, it_goes_on_in_one_direction)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct handshake_clock k = clock_of(&rows[i]);
		enum handshake_turn last = HANDSHAKE_KNOCK;

		for (uint64_t ms = 0; ms < LONGEST; ms++) {
			struct handshake_verdict v =
			    handshake_judge(&k, BEGUN + ms * MS);

			cr_assert_geq(v.turn, last);
			last = v.turn;
		}
		cr_assert_eq(last, HANDSHAKE_GIVE_UP);
	}
}
