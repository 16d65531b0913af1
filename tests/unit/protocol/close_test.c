/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/cdc_wire.h"
#include "smc_r/protocol/close.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define D CDC_SENDING_DONE
#define C CDC_CLOSED
#define A CDC_ABORTED

/*
 * One row per state, with the flags that were sent (s) and received (r)
 * before. One cell per event: the flag that is sent, + when what was written
 * goes out first, and the state after it. "-" is nothing at all.
 */
enum column {
	SHUTDOWN,
	BOTH,
	RELEASE,
	RELEASE_UNREAD,
	PEER_D,
	PEER_C,
	PEER_A,
	ABORT,
	EXPIRE,
	COLUMN_COUNT
};

static const char *const column_name[] = {
    "shutdown", "shutdown both", "close",  "close with unread data",
    "peer D",   "peer C",        "peer A", "abort",
    "expire"};

struct row {
	enum close_state state;
	uint8_t sent;
	uint8_t received;
	const char *cell[COLUMN_COUNT];
};

#define PCW1 "PEERCLOSEWAIT1"
#define PCW2 "PEERCLOSEWAIT2"
#define ACW1 "APPCLOSEWAIT1"
#define ACW2 "APPCLOSEWAIT2"
#define AFCW "APPFINCLOSEWAIT"
#define PFCW "PEERFINCLOSEWAIT"
#define PAW  "PEERABORTWAIT"
#define PAB  "PROCESSABORT"
#define END  "CLOSED"

/* clang-format off */
static const struct row rows[] = {
	/*                                     shutdown   both       close      unread     peer D peer C peer A abort expire */
	{CLOSE_INIT, 0, 0,                    {"!",       END,       END,       END,       ACW1,  ACW1,  PAB,  END,  END}},
	{CLOSE_ACTIVE, 0, 0,                  {"D+" PCW1, "C+" PCW1, "C+" PCW1, "A" PCW1, ACW1,  ACW1,  PAB,  "A" PAW, END}},
	{CLOSE_APP_CLOSE_WAIT1, 0, D,         {"D+" ACW2, "C+" PFCW, "C+" PFCW, "A" PFCW, "-",   "-",   PAB,  "A" PAW, END}},
	{CLOSE_APP_CLOSE_WAIT1, 0, C,         {"D" ACW2,  "C" END,   "C" END,   "A" END,   "-",   "-",   PAB,  "A" END, END}},
	{CLOSE_APP_CLOSE_WAIT2, D, D,         {"-",       "C+" PFCW, "C+" PFCW, "A" PFCW, "-",   "-",   PAB,  "A" PAW, END}},
	{CLOSE_APP_CLOSE_WAIT2, D, D | C,     {"-",       "C" END,   "C" END,   "A" END,   "-",   "-",   PAB,  "A" END, END}},
	{CLOSE_PEER_CLOSE_WAIT1, D, 0,        {"-",       "C" PCW1,  "C" PCW1,  "A" PCW1,  PCW2,  AFCW,  PAB,  "A" PAW, END}},
	{CLOSE_PEER_CLOSE_WAIT1, C, 0,        {"-",       "-",       "-",       "-",       PCW2,  AFCW,  END,  "A" PAW, END}},
	{CLOSE_PEER_CLOSE_WAIT2, D, D,        {"-",       "C" PCW2,  "C" PCW2,  "A" PCW2,  "-",   AFCW,  PAB,  "A" PAW, END}},
	{CLOSE_PEER_CLOSE_WAIT2, D | C, D,    {"-",       "-",       "-",       "-",       "-",   AFCW,  END,  "A" PAW, END}},
	{CLOSE_APP_FIN_CLOSE_WAIT, D, C,      {"-",       "C" END,   "C" END,   "A" END,   "-",   "-",   PAB,  "A" END, END}},
	{CLOSE_APP_FIN_CLOSE_WAIT, C, C,      {"-",       END,       END,       END,       "-",   "-",   PAB,  "A" END, END}},
	{CLOSE_PEER_FIN_CLOSE_WAIT, C, D,     {"-",       "-",       "-",       "-",       "-",   END,   END,  "A" PAW, END}},
	{CLOSE_PROCESS_ABORT, 0, A,           {"-",       "A" END,   "A" END,   "A" END,   "-",   "-",   "-",  "A" END, END}},
	{CLOSE_PEER_ABORT_WAIT, A, 0,         {"-",       "-",       "-",       "-",       "-",   END,   END,  "-",  END}},
	{CLOSE_CLOSED, C, C,                  {"-",       "-",       "-",       "-",       "-",   "-",   "-",  "-",  "-"}},
};
/* clang-format on */

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static struct close_action apply(struct close *c, enum column column)
{
	struct close_action nothing = {0};

	switch (column) {
	case SHUTDOWN:
		return close_local(c, CLOSE_SHUTDOWN_WRITE, false);
	case BOTH:
		return close_local(c, CLOSE_SHUTDOWN_BOTH, false);
	case RELEASE:
		return close_local(c, CLOSE_RELEASE, false);
	case RELEASE_UNREAD:
		return close_local(c, CLOSE_RELEASE, true);
	case PEER_D:
		close_peer(c, D);
		break;
	case PEER_C:
		close_peer(c, C);
		break;
	case PEER_A:
		close_peer(c, A);
		break;
	case ABORT:
		return close_abort(c);
	case EXPIRE:
		close_expire(c);
		break;
	case COLUMN_COUNT:
		break;
	}
	return nothing;
}

static void describe(char *out, size_t room, const struct row *row,
		     const struct close *c, struct close_action a)
{
	uint8_t new = c->sent & ~row->sent;
	const char *flag = "";

	if (a.send)
		flag = new &D ? "D" : new &C ? "C" : new &A ? "A" : "?";
	snprintf(out, room, "%s%s%s", flag, a.flush ? "+" : "",
		 close_state_name(c->state));
	if (c->state == row->state && !a.send)
		snprintf(out, room, "-");
	if (a.error == -ENOTCONN)
		snprintf(out, room, "!");
}

Test(close, every_state_does_with_every_event_what_the_table_says)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		for (int k = 0; k < COLUMN_COUNT; k++) {
			const struct row *row = &rows[i];
			struct close_action a;
			struct close c = {.state = row->state,
					  .sent = row->sent,
					  .received = row->received};
			char got[64];

			a = apply(&c, k);
			describe(got, sizeof(got), row, &c, a);
			cr_expect_str_eq(got, row->cell[k],
					 "%s (row %zu), %s: %s, not %s",
					 close_state_name(row->state), i,
					 column_name[k], got, row->cell[k]);
		}
	}
}

Test(close, a_released_connection_ends_with_the_peers_close)
{
	struct close c;

	close_init(&c, CLOSE_ACTIVE);
	close_local(&c, CLOSE_RELEASE, false);
	cr_assert(!close_is_over(&c), "the peer may still write");
	close_peer(&c, C);
	cr_assert(close_is_over(&c));

	/* With the descriptor still there, the program has to close it. */
	close_init(&c, CLOSE_ACTIVE);
	close_local(&c, CLOSE_SHUTDOWN_BOTH, false);
	close_peer(&c, C);
	cr_assert_eq(c.state, CLOSE_APP_FIN_CLOSE_WAIT);
	cr_assert(!close_local(&c, CLOSE_RELEASE, false).send,
		  "it was told already");
	cr_assert(close_is_over(&c));
}

Test(close, done_and_closed_in_one_message_is_closed)
{
	struct close c;

	close_init(&c, CLOSE_ACTIVE);
	close_local(&c, CLOSE_SHUTDOWN_WRITE, false);
	close_peer(&c, D | C);
	cr_assert_eq(c.state, CLOSE_APP_FIN_CLOSE_WAIT);
	cr_assert(close_local(&c, CLOSE_RELEASE, false).send);
	cr_assert_eq(c.sent, D | C, "flags add up");
}

Test(close, flags_that_are_repeated_or_unknown_change_nothing)
{
	struct close c;

	close_init(&c, CLOSE_ACTIVE);
	close_peer(&c, 0);
	close_peer(&c, 0x1f);
	cr_assert_eq(c.state, CLOSE_ACTIVE);
	close_peer(&c, A);
	close_peer(&c, A | D);
	cr_assert_eq(c.state, CLOSE_PROCESS_ABORT);
}

Test(close, what_a_program_that_sends_gets)
{
	struct close c;

	close_init(&c, CLOSE_INIT);
	cr_assert_eq(close_send_error(&c), -ENOTCONN);
	close_activate(&c);
	cr_assert_eq(c.state, CLOSE_ACTIVE);
	cr_assert_eq(close_send_error(&c), 0);
	close_peer(&c, D);
	cr_assert_eq(close_send_error(&c), 0, "the peer still reads");
	cr_assert(close_is_at_end(&c));
	close_peer(&c, C);
	cr_assert_eq(close_send_error(&c), -ECONNRESET);

	close_init(&c, CLOSE_ACTIVE);
	cr_assert(!close_is_at_end(&c));
	close_local(&c, CLOSE_SHUTDOWN_WRITE, false);
	cr_assert_eq(close_send_error(&c), -EPIPE);
	cr_assert(!close_is_at_end(&c), "a half-closed connection reads on");

	close_init(&c, CLOSE_ACTIVE);
	close_abort(&c);
	cr_assert_eq(close_send_error(&c), -ECONNRESET);
	close_activate(&c);
	cr_assert_eq(c.state, CLOSE_PEER_ABORT_WAIT, "only from the start");
}

Test(close, states_have_the_names_and_numbers_of_linux)
{
	cr_assert_eq(CLOSE_APP_CLOSE_WAIT1, 22);
	cr_assert_str_eq(close_state_name(1), "ACTIVE");
	cr_assert_str_eq(close_state_name(27), "PROCESSABORT");
	cr_assert_str_eq(close_state_name(10), "UNKNOWN");
}

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 16) % n;
}

struct end {
	struct close c;
	uint8_t wire[16]; /* state flags of messages on their way to us */
	int messages;
};

static void send(struct end *from, struct end *to, struct close_action a)
{
	if (!a.send || close_is_over(&to->c))
		return;
	cr_assert_lt(to->messages, 16, "seed %u", random_state);
	to->wire[to->messages++] = from->c.sent;
}

static void receive(struct end *e)
{
	if (e->messages == 0)
		return;
	close_peer(&e->c, e->wire[0]);
	e->messages--;
	memmove(e->wire, e->wire + 1, (size_t)e->messages);
}

/* Messages are not lost, but late; nothing else is needed to come to an end. */
Test(close, two_ends_always_come_to_an_end_once_both_are_released)
{
	for (uint32_t seed = 1; seed <= 20000; seed++) {
		struct end ends[2];

		random_state = seed;
		for (int i = 0; i < 2; i++) {
			ends[i].messages = 0;
			close_init(&ends[i].c, CLOSE_ACTIVE);
		}
		for (int step = 0; step < 30; step++) {
			struct end *e = &ends[random_below(2)];
			struct end *peer = &ends[e == &ends[0]];

			switch (random_below(6)) {
			case 0:
				send(e, peer,
				     close_local(
					 &e->c,
					 (enum close_local)random_below(2),
					 random_below(2)));
				break;
			case 1:
				if (step > 10)
					send(e, peer,
					     close_local(&e->c, CLOSE_RELEASE,
							 random_below(2)));
				break;
			case 2:
				if (random_below(8) == 0)
					send(e, peer, close_abort(&e->c));
				break;
			default:
				receive(e);
			}
		}
		for (int i = 0; i < 2; i++)
			send(&ends[i], &ends[!i],
			     close_local(&ends[i].c, CLOSE_RELEASE, false));
		while (ends[0].messages + ends[1].messages > 0) {
			receive(&ends[0]);
			receive(&ends[1]);
		}
		for (int i = 0; i < 2; i++)
			cr_assert(close_is_over(&ends[i].c),
				  "seed %u: end %d in %s, the other in %s",
				  seed, i, close_state_name(ends[i].c.state),
				  close_state_name(ends[!i].c.state));
	}
}
