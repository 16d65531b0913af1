/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/ends.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

/* ---- what the words mean ---- */

struct row {
	struct ends_words w;
	enum ends_in in;
	enum ends_out out;
	enum ends_peer peer;
};

#define FIN PRODUCER_FIN

/* clang-format off */
static const struct row rows[] = {
	/* words                                         in           out        peer */
	{{0},                                            IN_RING,     OUT_RING,  PEER_OPEN},
	{{.peer = FIN},                                  IN_END,      OUT_RING,  PEER_HALF},
	{{.peer = FIN | PRODUCER_HALVED},                IN_END,      OUT_RING,  PEER_HALF_FIN},
	{{.peer = FIN, .rx = STREAM_FIN_SENT},           IN_END,      OUT_RING,  PEER_HALF_FIN},
	{{.peer = FIN | PRODUCER_SHUT},                  IN_END,      OUT_GONE,  PEER_SHUT},
	{{.peer = PRODUCER_SEALED},                      IN_DRAIN,    OUT_RING,  PEER_OPEN},
	{{.peer = PRODUCER_SEALED | FIN},                IN_DRAIN,    OUT_RING,  PEER_HALF},
	{{.peer = PRODUCER_CLOSED},                      IN_DRAIN,    OUT_GONE,  PEER_CLOSED},
	{{.peer = PRODUCER_CLOSED | FIN},                IN_END,      OUT_GONE,  PEER_CLOSED},
	{{.peer = PRODUCER_RECALLS},                     IN_RECALLED, OUT_RING,  PEER_OPEN},
	{{.peer = PRODUCER_RECALLS | PRODUCER_SEALED},   IN_RECALLED, OUT_RING,  PEER_OPEN},
	{{.asked = CONSUMER_DEMOTE},                     IN_RING,     OUT_ASKED, PEER_OPEN},
	{{.asked = CONSUMER_DEMOTE, .tx = STREAM_TCP},   IN_RING,     OUT_TCP,   PEER_OPEN},
	{{.tx = STREAM_TCP},                             IN_RING,     OUT_TCP,   PEER_OPEN},
	{{.rx = STREAM_TCP},                             IN_TCP,      OUT_RING,  PEER_OPEN},
	{{.rx = STREAM_TCP, .peer = FIN},                IN_TCP,      OUT_RING,  PEER_HALF},
	{{.rx = STREAM_FROZEN},                          IN_FROZEN,   OUT_RING,  PEER_OPEN},
	{{.rx = STREAM_FROZEN, .peer = FIN},             IN_FROZEN,   OUT_RING,  PEER_HALF},
	{{.rx = STREAM_FROZEN, .peer = PRODUCER_SEALED}, IN_DRAIN,    OUT_RING,  PEER_OPEN},
	{{.rx = STREAM_SHUT},                            IN_END,      OUT_RING,  PEER_OPEN},
	{{.tx = STREAM_SHUT},                            IN_RING,     OUT_SHUT,  PEER_OPEN},
	{{.tx = STREAM_SHUT | STREAM_TCP},               IN_RING,     OUT_SHUT,  PEER_OPEN},
	{{.rx = STREAM_SHUT, .tx = STREAM_SHUT, .own = FIN | PRODUCER_SHUT},
	                                                 IN_DRAIN,    OUT_SHUT,  PEER_OPEN},
	{{.tcp = ENDS_TCP_ENDED},                        IN_DRAIN,    OUT_GONE,  PEER_GONE},
	{{.tcp = ENDS_TCP_ENDED, .peer = FIN},           IN_END,      OUT_GONE,  PEER_GONE},
	{{.tcp = ENDS_TCP_ENDED, .rx = STREAM_RESET, .error = ECONNRESET},
	                                                 IN_RESET,    OUT_RESET, PEER_GONE},
	{{.tcp = ENDS_TCP_ENDED, .rx = STREAM_RESET, .error = EPIPE},
	                                                 IN_DRAIN,    OUT_RESET, PEER_GONE},
	{{.tcp = ENDS_TCP_ENDED, .rx = STREAM_RESET},    IN_RESET,    OUT_RESET, PEER_GONE},
	{{.tcp = ENDS_TCP_ENDED, .rx = STREAM_LEFT},     IN_DRAIN,    OUT_LEFT,  PEER_GONE},
	{{.tcp = ENDS_TCP_ENDED, .rx = STREAM_LEFT, .tx = STREAM_SHUT},
	                                                 IN_DRAIN,    OUT_SHUT,  PEER_GONE},
	{{.rx = STREAM_ERROR_PENDING, .error = EINVAL},  IN_RING,     OUT_RESET, PEER_OPEN},
	{{.rx = STREAM_ERROR_PENDING},                   IN_RING,     OUT_RING,  PEER_OPEN},
	{{.rx = STREAM_BROKEN},                          IN_BROKEN,   OUT_RING,  PEER_OPEN},
	{{.rx = STREAM_BROKEN | STREAM_TCP},             IN_BROKEN,   OUT_RING,  PEER_OPEN},
	/* A peer beside which TCP says nothing, whatever it did. */
	{{.tcp = ENDS_TCP_SILENT},                       IN_RING,     OUT_RING,  PEER_OPEN},
	{{.tcp = ENDS_TCP_SILENT, .peer = FIN},          IN_END,      OUT_RING,  PEER_HALF},
	{{.tcp = ENDS_TCP_SILENT, .peer = FIN | PRODUCER_CLOSED},
	                                                 IN_END,      OUT_RESET, PEER_CLOSED},
	{{.tcp = ENDS_TCP_SILENT, .peer = PRODUCER_CLOSED},
	                                                 IN_RESET,    OUT_RESET, PEER_CLOSED},
	{{.tcp = ENDS_TCP_SILENT, .peer = PRODUCER_ABORTED},
	                                                 IN_RESET,    OUT_RESET, PEER_CLOSED},
	{{.tcp = ENDS_TCP_SILENT, .rx = STREAM_SHUT},    IN_END,      OUT_RING,  PEER_OPEN},
};
/* clang-format on */

Test(ends, words_mean_one_value_for_each_direction)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		cr_expect_eq(ends_in(&r->w), r->in, "in, row %zu", i);
		cr_expect_eq(ends_out(&r->w), r->out, "out, row %zu", i);
		cr_expect_eq(ends_peer(&r->w), r->peer, "peer, row %zu", i);
	}
}

/* ---- what events change ---- */

/* Both ends of a connection: what the one says is what the other sees. */
static struct ends_words end[2];

static void apply(int side, enum ends_event e)
{
	struct ends_words *w = &end[side];
	struct ends_words *peer = &end[!side];
	struct ends_change c = ends_change(w, e);

	w->rx = (w->rx | c.rx) & ~c.rx_off;
	w->tx |= c.tx;
	w->own = (w->own | c.own) & ~c.own_off;
	w->asks |= c.asks;
	w->peer &= ~c.peer_off;
	if (c.sets_tcp)
		w->tcp = c.tcp;
	peer->own = w->peer;
	peer->peer = w->own;
	peer->asked = w->asks;
}

#define A(e)  ((int)(e) + 1)
#define B(e)  (-(int)(e)-1)
#define STEPS 6

struct walk {
	const char *name;
	int steps[STEPS];
	enum ends_in in[2];
	enum ends_out out[2];
};

/* clang-format off */
static const struct walk walks[] = {
	{"nothing", {0}, {IN_RING, IN_RING}, {OUT_RING, OUT_RING}},
	{"a half is shut", {A(ENDS_SHUTS_OUT)},
		{IN_RING, IN_END}, {OUT_SHUT, OUT_RING}},
	{"its FIN goes out", {A(ENDS_SHUTS_OUT), A(ENDS_FIN_IS_DUE), A(ENDS_FIN_IS_SENT)},
		{IN_RING, IN_END}, {OUT_SHUT, OUT_RING}},
	{"both halves, one after the other", {A(ENDS_SHUTS_OUT), B(ENDS_SHUTS_OUT)},
		{IN_END, IN_END}, {OUT_SHUT, OUT_SHUT}},
	{"one end shuts both", {A(ENDS_SHUTS_OUT), A(ENDS_SHUTS_IN), A(ENDS_SHUTS_BOTH)},
		{IN_DRAIN, IN_END}, {OUT_SHUT, OUT_GONE}},
	{"a close", {A(ENDS_CLOSES)}, {IN_RING, IN_DRAIN}, {OUT_RING, OUT_GONE}},
	{"a close without a Confirm", {A(ENDS_CLOSES_UNHEARD)},
		{IN_RING, IN_END}, {OUT_RING, OUT_GONE}},
	{"a close that TCP tells of", {B(ENDS_PEER_ENDS)},
		{IN_RING, IN_DRAIN}, {OUT_RING, OUT_GONE}},
	{"a seal is asked for", {A(ENDS_ASKS_SEAL)},
		{IN_RING, IN_RING}, {OUT_RING, OUT_ASKED}},
	{"a seal", {A(ENDS_ASKS_SEAL), B(ENDS_SEALS)},
		{IN_DRAIN, IN_RING}, {OUT_RING, OUT_TCP}},
	{"a drained seal", {A(ENDS_ASKS_SEAL), B(ENDS_SEALS), A(ENDS_READS_TCP)},
		{IN_TCP, IN_RING}, {OUT_RING, OUT_TCP}},
	{"both directions on TCP", {A(ENDS_SEALS), B(ENDS_SEALS), A(ENDS_READS_TCP), B(ENDS_READS_TCP)},
		{IN_TCP, IN_TCP}, {OUT_TCP, OUT_TCP}},
	{"a half behind a seal is TCP's", {A(ENDS_SEALS), A(ENDS_SHUTS_OUT)},
		{IN_RING, IN_DRAIN}, {OUT_SHUT, OUT_RING}},
	{"a seal behind a half", {A(ENDS_SHUTS_OUT), A(ENDS_SEALS)},
		{IN_RING, IN_DRAIN}, {OUT_SHUT, OUT_RING}},
	{"a successor", {A(ENDS_FREEZES), A(ENDS_ASKS_REST), A(ENDS_ASKS_SEAL), B(ENDS_SEALS)},
		{IN_DRAIN, IN_RING}, {OUT_RING, OUT_TCP}},
	{"a successor whose rest stays", {A(ENDS_FREEZES), A(ENDS_THAWS)},
		{IN_RING, IN_RING}, {OUT_RING, OUT_RING}},
	{"a recall", {A(ENDS_RECALLS), A(ENDS_SEALS)},
		{IN_RING, IN_RECALLED}, {OUT_TCP, OUT_RING}},
	{"a recall that fails", {A(ENDS_RECALLS), A(ENDS_RECALLS_NOT)},
		{IN_RING, IN_RING}, {OUT_RING, OUT_RING}},
	{"a recall over which the writer dies", {A(ENDS_RECALLS), B(ENDS_PEER_RECALLS_NOT), B(ENDS_PEER_ENDS)},
		{IN_RING, IN_DRAIN}, {OUT_RING, OUT_GONE}},
	{"a death with bytes unread", {B(ENDS_PEER_RESETS), B(ENDS_PEER_ENDS)},
		{IN_RING, IN_RESET}, {OUT_RING, OUT_RESET}},
	{"a peer that left", {B(ENDS_PEER_LEAVES), B(ENDS_PEER_ENDS)},
		{IN_RING, IN_DRAIN}, {OUT_RING, OUT_LEFT}},
	{"... was written to", {B(ENDS_PEER_LEAVES), B(ENDS_PEER_ENDS), B(ENDS_LEFT_IS_OVER)},
		{IN_RING, IN_DRAIN}, {OUT_RING, OUT_GONE}},
	{"a cursor that cannot be", {B(ENDS_PEER_BREAKS)},
		{IN_RING, IN_BROKEN}, {OUT_RING, OUT_RING}},
	{"an end of the handshake's TCP", {A(ENDS_PEER_ENDS), A(ENDS_BEGINS)},
		{IN_RING, IN_RING}, {OUT_RING, OUT_RING}},
};
/* clang-format on */

Test(ends, events_lead_from_value_to_value)
{
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		const struct walk *k = &walks[i];

		end[0] = end[1] = (struct ends_words){0};
		for (int s = 0; s < STEPS && k->steps[s]; s++)
			apply(k->steps[s] < 0,
			      (enum ends_event)(abs(k->steps[s]) - 1));
		for (int side = 0; side < 2; side++) {
			cr_expect_eq(ends_in(&end[side]), k->in[side],
				     "%s: in of %d", k->name, side);
			cr_expect_eq(ends_out(&end[side]), k->out[side],
				     "%s: out of %d", k->name, side);
		}
	}
}

Test(ends, the_order_of_halves_is_remembered)
{
	end[0] = end[1] = (struct ends_words){0};
	apply(0, ENDS_SHUTS_OUT);
	apply(1, ENDS_SHUTS_OUT);
	apply(0, ENDS_SHUTS_OUT);
	cr_expect(!ends_peer_was_first(&end[0]));
	cr_expect(ends_peer_was_first(&end[1]));
}

/* TCP's word changes nothing where the peer alone tells of its end. */
Test(ends, a_silent_tcp_stays_silent)
{
	struct ends_words w = {.tcp = ENDS_TCP_SILENT};

	cr_expect(!ends_change(&w, ENDS_PEER_ENDS).sets_tcp);
	cr_expect(!ends_change(&w, ENDS_BEGINS).sets_tcp);
}

/* Whatever the words are: an event is the same done twice, and nothing but
 * taking a word back brings a peer back that has ended. */
Test(ends, events_repeat_and_ends_stay)
{
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		enum ends_event e =
		    (enum ends_event)(random() % (int)ENDS_EVENTS);
		struct ends_words once;
		enum ends_peer before;

		end[0] = (struct ends_words){.rx = (uint32_t)random() & 1023,
					     .tx = (uint32_t)random() & 1023,
					     .own = (uint32_t)random() & 127,
					     .peer = (uint32_t)random() & 127,
					     .asked = (uint32_t)random() & 3,
					     .tcp = (uint32_t)random() % 3};
		end[1] = (struct ends_words){.tcp = end[0].tcp};
		before = ends_peer(&end[0]);
		apply(0, e);
		once = end[0];
		if (e != ENDS_BEGINS)
			cr_assert_geq(ends_peer(&once), before);
		apply(0, e);
		/* The order of halves is of the first time alone. */
		cr_assert_eq(once.rx, end[0].rx);
		cr_assert_eq(once.tx, end[0].tx);
		cr_assert_eq(once.own, end[0].own);
		cr_assert_eq(once.tcp, end[0].tcp);
	}
}
