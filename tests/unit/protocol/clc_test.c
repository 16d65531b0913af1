/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/clc.h"
#include "smc_r/protocol/reason.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/*
 * One row per state, one cell per event: what is sent (P A C D), the state
 * after it, and * when the message was taken from the stream. "-" is nothing
 * at all. Lower-case words name the state after: tcp smc fail, and so on.
 */
enum column {
	GOT_PROPOSAL,
	GOT_ACCEPT,
	GOT_CONFIRM,
	GOT_DECLINE,
	GOT_FOREIGN,
	GOT_GARBLED,
	GOT_PARTIAL,
	CLOSED,
	TIME,
	ABORT,
	COMMIT,
	COLUMN_COUNT
};

static const char *const column_name[] = {
    "Proposal", "Accept", "Confirm", "Decline", "foreign bytes", "garbled",
    "partial",  "closed", "time",    "abort",   "commit"};

enum {
	OURS = 1,
	LINK = 2,
	WROTE = 4,
	REASON = 8
};

struct row {
	enum clc_state state;
	bool server;
	int with; /* OURS LINK WROTE REASON */
	const char *cell[COLUMN_COUNT];
};

#define GARBAGE "fail", "fail"

/* clang-format off */
static const struct row rows[] = {
	/*                             Proposal Accept  Confirm  Decline  foreign garbled partial closed time abort commit */
	{CLC_START, false, 0,          {"fail", "fail", "fail", "fail", "tcp", "fail", "-", "tcp", "-", "D tcp", "-"}},
	{CLC_START, false, OURS,       {"fail", "fail", "fail", "fail", "tcp", "fail", "-", "tcp", "-", "D tcp", "-"}},
	{CLC_AWAIT_ACCEPT, false, 0,   {"fail", "prepare confirm*", "fail", "tcp*", GARBAGE, "-", "tcp", "D skip answer", "-", "-"}},
	{CLC_AWAIT_ACCEPT, false, OURS,
		{"fail", "prepare confirm*", "fail", "tcp*", "tcp", "fail", "-", "tcp", "D skip answer", "D skip answer", "-"}},
	{CLC_AWAIT_ACCEPT, false, REASON,
		{"fail", "D tcp*", "fail", "tcp*", GARBAGE, "-", "tcp", "D skip answer", "-", "-"}},
	{CLC_PREPARE_CONFIRM, false, 0, {"fail", "fail", "fail", "tcp*", GARBAGE, "-", "tcp", "-", "D tcp", "C smc"}},
	{CLC_PREPARE_CONFIRM, false, LINK,
		{"fail", "fail", "fail", "tcp*", GARBAGE, "-", "tcp", "-", "D tcp", "C await link"}},
	{CLC_AWAIT_PROPOSAL, true, 0,
		{"prepare accept*", "fail", "fail", "tcp*", "tcp", "fail", "-", "tcp", "late", "-", "-"}},
	{CLC_AWAIT_PROPOSAL, true, OURS,
		{"prepare accept*", "fail", "fail", "tcp*", "tcp", "fail", "-", "tcp", "late", "-", "-"}},
	{CLC_AWAIT_PROPOSAL, true, REASON,
		{"D look*", "fail", "fail", "tcp*", "tcp", "fail", "-", "tcp", "late", "-", "-"}},
	{CLC_PREPARE_ACCEPT, true, 0,
		{"fail", "fail", "fail", "D tcp*", GARBAGE, "-", "tcp", "-", "D look", "A await confirm"}},
	{CLC_AWAIT_CONFIRM, true, 0,   {"fail", "fail", "smc*", "tcp*", GARBAGE, "-", "tcp", "fail", "-", "-"}},
	{CLC_AWAIT_CONFIRM, true, REASON,
		{"fail", "fail", "smc*", "tcp*", GARBAGE, "-", "tcp", "fail", "-", "-"}},
	{CLC_AWAIT_CONFIRM, true, LINK,
		{"fail", "fail", "await link*", "tcp*", GARBAGE, "-", "tcp", "fail", "-", "-"}},
	{CLC_AWAIT_CONFIRM, true, LINK | REASON,
		{"fail", "fail", "D look*", "tcp*", GARBAGE, "-", "tcp", "fail", "-", "-"}},
	{CLC_AWAIT_LINK, false, LINK,  {"fail", "fail", "fail", "tcp*", GARBAGE, "-", "tcp", "D look", "D look", "smc"}},
	{CLC_AWAIT_LINK, true, LINK,   {"fail", "fail", "fail", "tcp*", GARBAGE, "-", "tcp", "D look", "D look", "smc"}},
	{CLC_SKIP_ANSWER, false, 0,    {"fail", "tcp*", "fail", "tcp*", "tcp", "fail", "-", "tcp", "-", "-", "-"}},
	{CLC_LATE, true, 0,            {"D look*", "tcp", "tcp", "tcp*", "tcp", "tcp", "-", "tcp", "tcp", "-", "-"}},
	{CLC_LATE, true, WROTE | OURS, {"look*", "tcp", "tcp", "tcp*", "tcp", "tcp", "-", "tcp", "tcp", "-", "-"}},
	{CLC_LATE, true, WROTE,        {"fail", "tcp", "tcp", "tcp*", "tcp", "tcp", "-", "tcp", "tcp", "-", "-"}},
	{CLC_LOOK, false, 0,           {"tcp", "tcp", "tcp", "tcp*", "tcp", "tcp", "-", "tcp", "tcp", "-", "-"}},
	{CLC_LOOK, true, 0,            {"tcp", "tcp", "tcp", "tcp*", "tcp", "tcp", "-", "tcp", "tcp", "-", "-"}},
	{CLC_ON_SMC, false, 0,         {"fail", "fail", "fail", "fail", GARBAGE, "fail", "-", "-", "-", "-"}},
	{CLC_ON_SMC, true, 0,          {"fail", "fail", "fail", "fail", GARBAGE, "fail", "-", "-", "-", "-"}},
	{CLC_ON_TCP, false, 0,         {"-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"}},
	{CLC_FAILED, false, 0,         {"-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"}},
};
/* clang-format on */

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define DEADLINE  5000

static const uint8_t peer_id[CLC_PEER_ID_BYTES] = {9, 8, 7, 6, 5, 4, 3, 2};

static const struct clc_proposal our_proposal = {
    .version = 1,
    .path_v1 = CLC_PATH_SMCR,
    .path_v2 = CLC_PATH_NONE,
    .peer_id = {9, 8, 7, 6, 5, 4, 3, 2},
    .subnet = 0x7f000000,
    .subnet_bits = 8,
};

static struct clc_accept_confirm accept_confirm(int type)
{
	struct clc_accept_confirm m = {.type = (uint8_t)type,
				       .version = 1,
				       .path = CLC_PATH_SMCR,
				       .index = 1,
				       .token = 77,
				       .mtu = 3};

	memcpy(m.peer_id, peer_id, sizeof(peer_id));
	return m;
}

/* Bytes of a well-formed message, as the peer sends it. */
static size_t message_bytes(int type, uint8_t *out)
{
	struct clc_accept_confirm m = accept_confirm(type);
	struct clc_decline decline = {.version = 1, .reason = REASON_PORT};
	int n = 0;

	memcpy(decline.peer_id, peer_id, sizeof(peer_id));
	switch (type) {
	case CLC_PROPOSAL:
		n = clc_encode_proposal(&our_proposal, out, CLC_BYTES_MAX);
		break;
	case CLC_ACCEPT:
	case CLC_CONFIRM:
		n = clc_encode_accept_confirm(&m, out, CLC_BYTES_MAX);
		break;
	case CLC_DECLINE:
		n = clc_encode_decline(&decline, out, CLC_BYTES_MAX);
		break;
	}
	cr_assert_gt(n, 0);
	return (size_t)n;
}

static void set_up(struct clc *c, enum clc_state state, bool server, int with)
{
	struct clc_config config = {.server = server,
				    .peer_is_ours = with & OURS,
				    .answer_ms = CLC_ANSWER_MS,
				    .confirm_ms = CLC_CONFIRM_MS,
				    .link_ms = CLC_LINK_CLIENT_MS};

	clc_init(c, &config, 0);
	c->state = state;
	c->version = 1;
	c->offers_v1 = true;
	c->wants_link = with & LINK;
	c->wrote = with & WROTE;
	c->reason = with & REASON ? REASON_FORK : REASON_NONE;
	c->deadline_ms = state == CLC_START || state == CLC_PREPARE_ACCEPT ||
				 state == CLC_PREPARE_CONFIRM ||
				 state == CLC_SKIP_ANSWER
			     ? 0
			     : DEADLINE;
	memcpy(c->peer_id, peer_id, sizeof(peer_id));
}

static struct clc_action feed(struct clc *c, const void *bytes, size_t n)
{
	struct clc_message m;

	return clc_feed(c, bytes, n, &m, 100);
}

static struct clc_action apply(struct clc *c, enum column column)
{
	uint8_t bytes[CLC_BYTES_MAX];
	size_t n = 0;

	switch (column) {
	case GOT_PROPOSAL:
		n = message_bytes(CLC_PROPOSAL, bytes);
		break;
	case GOT_ACCEPT:
		n = message_bytes(CLC_ACCEPT, bytes);
		break;
	case GOT_CONFIRM:
		n = message_bytes(CLC_CONFIRM, bytes);
		break;
	case GOT_DECLINE:
		n = message_bytes(CLC_DECLINE, bytes);
		break;
	case GOT_FOREIGN:
		return feed(c, "GET / HTTP/1.0\r\n", 16);
	case GOT_GARBLED:
		n = message_bytes(CLC_PROPOSAL, bytes);
		bytes[n - 1] = 0;
		break;
	case GOT_PARTIAL:
		n = message_bytes(CLC_DECLINE, bytes) - 1;
		break;
	case CLOSED:
		return clc_closed(c);
	case TIME:
		return clc_time(c, DEADLINE);
	case ABORT:
		return clc_abort(c, REASON_FORK, 100);
	case COMMIT:
		return clc_commit(c, 100);
	case COLUMN_COUNT:
		break;
	}
	return feed(c, bytes, n);
}

static enum clc_next next_of(enum clc_state state)
{
	switch (state) {
	case CLC_ON_SMC:
		return CLC_USE_SMC;
	case CLC_ON_TCP:
		return CLC_USE_TCP;
	case CLC_FAILED:
		return CLC_FAIL;
	default:
		return CLC_WAIT;
	}
}

static const char *short_name(enum clc_state state)
{
	switch (state) {
	case CLC_ON_SMC:
		return "smc";
	case CLC_ON_TCP:
		return "tcp";
	case CLC_FAILED:
		return "fail";
	default:
		return clc_state_name(state);
	}
}

/* What happened, in the words of the table. */
static void describe(char *out, size_t room, enum clc_state before,
		     const struct clc *c, struct clc_action a)
{
	static const char *const sent[] = {"", "P ", "A ", "C ", "D "};

	snprintf(out, room, "%s%s%s", sent[a.send], short_name(c->state),
		 a.take ? "*" : "");
	if (c->state == before && !a.send && !a.take)
		snprintf(out, room, "-");
}

Test(clc, every_state_does_with_every_event_what_the_table_says)
{
	bool seen[CLC_STATE_COUNT] = {false};

	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *row = &rows[i];

		seen[row->state] = true;
		for (int k = 0; k < COLUMN_COUNT; k++) {
			struct clc_action a;
			struct clc c;
			char got[64];

			set_up(&c, row->state, row->server, row->with);
			a = apply(&c, k);
			describe(got, sizeof(got), row->state, &c, a);
			cr_expect_str_eq(got, row->cell[k],
					 "%s (row %zu), %s: %s, not %s",
					 clc_state_name(row->state), i,
					 column_name[k], got, row->cell[k]);
			if (c.state == row->state || clc_is_over(&c))
				cr_expect_eq(a.next, next_of(c.state));
			if (clc_is_over(&c) && c.state != CLC_ON_SMC &&
			    !clc_is_over(&(struct clc){.state = row->state}) &&
			    row->state != CLC_LOOK && row->state != CLC_LATE &&
			    row->state != CLC_SKIP_ANSWER)
				cr_expect_neq(
				    c.reason, REASON_NONE, "%s, %s: no reason",
				    clc_state_name(row->state), column_name[k]);
		}
	}
	for (int i = 0; i < CLC_STATE_COUNT; i++)
		cr_assert(seen[i], "no row for %s", clc_state_name(i));
}

Test(clc, a_server_that_must_write_waits_no_longer_for_a_proposal)
{
	struct clc_action a;
	struct clc c;

	set_up(&c, CLC_AWAIT_PROPOSAL, true, OURS);
	a = clc_abort(&c, REASON_TIMEOUT, 0);
	cr_assert_eq(a.send, CLC_SEND_NOTHING);
	cr_assert_eq(c.state, CLC_LATE);
	cr_assert(clc_can_write(&c));
}

Test(clc, what_is_taken_is_one_message_exactly)
{
	uint8_t bytes[2 * CLC_BYTES_MAX];
	struct clc_message m;
	struct clc_action a;
	struct clc c;
	size_t n = message_bytes(CLC_ACCEPT, bytes);

	memset(bytes + n, 'x', 100);
	set_up(&c, CLC_AWAIT_ACCEPT, false, 0);
	a = clc_feed(&c, bytes, n + 100, &m, 0);
	cr_assert_eq(a.take, n);
	cr_assert_eq(a.next, CLC_PREPARE);
	cr_assert_eq(m.type, CLC_ACCEPT);
	cr_assert_eq(m.accept_confirm.token, 77);
}

Test(clc, a_handshake_from_end_to_end)
{
	struct clc_config config = {.answer_ms = 10};
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc client;
	struct clc server;
	struct clc_action a;

	clc_init(&client, &config, 1000);
	config.server = true;
	clc_init(&server, &config, 1000);
	cr_assert_eq(client.deadline_ms, 0);
	cr_assert_eq(server.deadline_ms, 1010);

	a = clc_start(&client, &our_proposal, 1000);
	cr_assert_eq(a.send, CLC_SEND_PROPOSAL);
	cr_assert_eq(a.next, CLC_WAIT);
	cr_assert_eq(client.deadline_ms, 1010);

	a = feed(&server, bytes, message_bytes(CLC_PROPOSAL, bytes));
	cr_assert_eq(a.next, CLC_PREPARE);
	cr_assert_eq(server.deadline_ms, 0);
	a = clc_commit(&server, 1001);
	cr_assert_eq(a.send, CLC_SEND_ACCEPT);
	cr_assert_eq(server.deadline_ms, 0, "no limit was set for this wait");

	a = feed(&client, bytes, message_bytes(CLC_ACCEPT, bytes));
	cr_assert_eq(a.next, CLC_PREPARE);
	a = clc_commit(&client, 1002);
	cr_assert_eq(a.send, CLC_SEND_CONFIRM);
	cr_assert_eq(a.next, CLC_USE_SMC);

	a = feed(&server, bytes, message_bytes(CLC_CONFIRM, bytes));
	cr_assert_eq(a.next, CLC_USE_SMC);
	cr_assert_eq(client.reason, REASON_NONE);
	cr_assert_eq(server.reason, REASON_NONE);
}

Test(clc, a_link_is_confirmed_before_smc_is_used)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_action a;
	struct clc c;

	set_up(&c, CLC_PREPARE_CONFIRM, false, 0);
	clc_want_link(&c);
	a = clc_commit(&c, 100);
	cr_assert_eq(a.send, CLC_SEND_CONFIRM);
	cr_assert_eq(a.next, CLC_PREPARE);
	cr_assert_eq(c.deadline_ms, 100 + CLC_LINK_CLIENT_MS);
	cr_assert_eq(clc_commit(&c, 101).next, CLC_USE_SMC);

	set_up(&c, CLC_AWAIT_CONFIRM, true, LINK);
	a = feed(&c, bytes, message_bytes(CLC_CONFIRM, bytes));
	cr_assert_eq(a.next, CLC_PREPARE);
	a = clc_time(&c, c.deadline_ms);
	cr_assert_eq(a.send, CLC_SEND_DECLINE);
	cr_assert_eq(c.reason, REASON_TIMEOUT_CONFIRM_LINK);
}

Test(clc, nothing_happens_before_the_deadline)
{
	struct clc c;

	set_up(&c, CLC_AWAIT_ACCEPT, false, 0);
	cr_assert_eq(clc_time(&c, DEADLINE - 1).next, CLC_WAIT);
	cr_assert_eq(c.state, CLC_AWAIT_ACCEPT);
	clc_time(&c, DEADLINE);
	cr_assert_eq(c.state, CLC_SKIP_ANSWER);
	cr_assert_eq(c.reason, REASON_TIMEOUT);
	cr_assert_eq(c.deadline_ms, 0);

	set_up(&c, CLC_AWAIT_ACCEPT, false, 0);
	c.deadline_ms = 0;
	cr_assert_eq(clc_time(&c, UINT64_MAX).next, CLC_WAIT,
		     "no deadline never passes");
}

Test(clc, the_first_reason_counts_and_the_peers_code_is_kept)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc c;

	set_up(&c, CLC_AWAIT_ACCEPT, false, 0);
	clc_abort(&c, REASON_FORK, 0);
	clc_abort(&c, REASON_MEMORY, 0);
	feed(&c, bytes, message_bytes(CLC_DECLINE, bytes));
	cr_assert_eq(c.reason, REASON_FORK);
	cr_assert_eq(c.peer_reason, REASON_PORT);

	set_up(&c, CLC_AWAIT_ACCEPT, false, 0);
	feed(&c, bytes, message_bytes(CLC_DECLINE, bytes));
	cr_assert_eq(c.reason, REASON_PEER_DECLINED);
	cr_assert_eq(c.peer_reason, REASON_PORT);
}

/* An Accept that is well-formed but of no use is declined, not fatal. */
Test(clc, an_accept_that_was_not_offered_is_declined)
{
	static const struct {
		uint8_t version;
		uint8_t index;
		uint32_t token;
		uint32_t reason;
	} cases[] = {
	    {2, 1, 77, REASON_MODE_UNSUPPORTED},
	    {1, 0, 77, REASON_MESSAGE},
	    {1, 1, 0, REASON_MESSAGE},
	    {1, 1, 77, REASON_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clc_accept_confirm m = accept_confirm(CLC_ACCEPT);
		struct clc_decline decline;
		uint8_t bytes[CLC_BYTES_MAX];
		struct clc_action a;
		struct clc c;
		int n;

		m.version = cases[i].version;
		m.index = cases[i].index;
		m.token = cases[i].token;
		n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
		set_up(&c, CLC_AWAIT_ACCEPT, false, 0);
		a = feed(&c, bytes, (size_t)n);
		cr_assert_eq(a.take, n);
		cr_assert_eq(c.reason, cases[i].reason, "case %zu", i);
		if (cases[i].reason == REASON_NONE)
			continue;
		cr_assert_eq(a.send, CLC_SEND_DECLINE);
		cr_assert_eq(a.next, CLC_USE_TCP);
		clc_decline(&c, &decline);
		cr_assert_eq(decline.reason, cases[i].reason);
		cr_assert_eq(decline.version, 1);
	}
}

Test(clc, a_confirm_that_makes_no_sense_is_fatal)
{
	for (int i = 0; i < 2; i++) {
		struct clc_accept_confirm m = accept_confirm(CLC_CONFIRM);
		uint8_t bytes[CLC_BYTES_MAX];
		struct clc c;
		int n;

		m.version = i ? 1 : 2;
		m.token = i ? 0 : 77;
		n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
		set_up(&c, CLC_AWAIT_CONFIRM, true, 0);
		cr_assert_eq(feed(&c, bytes, (size_t)n).next, CLC_FAIL);
	}
}

Test(clc, a_server_may_choose_version_1_from_a_proposal_of_version_2)
{
	struct clc_proposal p = our_proposal;
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc c;
	int n;

	p.version = 2;
	n = clc_encode_proposal(&p, bytes, sizeof(bytes));
	set_up(&c, CLC_AWAIT_PROPOSAL, true, 0);
	feed(&c, bytes, (size_t)n);
	cr_assert_eq(c.version, 2);
	clc_commit(&c, 0);
	cr_assert_eq(feed(&c, bytes, message_bytes(CLC_CONFIRM, bytes)).next,
		     CLC_USE_SMC);

	/* And a client that offered both understands both. */
	for (uint8_t version = 1; version <= 2; version++) {
		struct clc_accept_confirm m = accept_confirm(CLC_ACCEPT);
		struct clc_config config = {0};

		p.path_v2 = CLC_PATH_BOTH;
		clc_init(&c, &config, 0);
		clc_start(&c, &p, 0);
		m.version = version;
		n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
		cr_assert_eq(feed(&c, bytes, (size_t)n).next, CLC_PREPARE);
		cr_assert_eq(c.version, version);
	}
}

/* Before the server has chosen one, the version is that of the Proposal. */
Test(clc, a_decline_has_the_version_of_what_it_answers)
{
	static const enum clc_state states[] = {CLC_AWAIT_PROPOSAL, CLC_LATE};
	struct clc_config config = {.peer_is_ours = true};
	struct clc_proposal p = our_proposal;
	struct clc_decline decline;
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc c;
	int n;

	clc_init(&c, &config, 0);
	clc_decline(&c, &decline);
	cr_assert_eq(decline.version, 1, "nothing was proposed");
	for (uint8_t version = 1; version <= 2; version++) {
		p.version = version;
		clc_init(&c, &config, 0);
		clc_start(&c, &p, 0);
		clc_abort(&c, REASON_FORK, 0);
		clc_decline(&c, &decline);
		cr_assert_eq(decline.version, version);

		n = clc_encode_proposal(&p, bytes, sizeof(bytes));
		for (int i = 0; i < 2; i++) {
			set_up(&c, states[i], true, REASON);
			cr_assert_eq(feed(&c, bytes, (size_t)n).send,
				     CLC_SEND_DECLINE);
			clc_decline(&c, &decline);
			cr_assert_eq(decline.version, version);
		}
	}
}

Test(clc, only_a_client_says_that_link_groups_are_out_of_sync)
{
	struct clc_decline decline;
	struct clc c;

	set_up(&c, CLC_PREPARE_CONFIRM, false, 0);
	clc_abort(&c, REASON_SYNC, 0);
	clc_decline(&c, &decline);
	cr_assert(decline.out_of_sync);
	cr_assert_eq(decline.reason, REASON_SYNC);

	set_up(&c, CLC_PREPARE_ACCEPT, true, 0);
	clc_abort(&c, REASON_SYNC, 0);
	clc_decline(&c, &decline);
	cr_assert(!decline.out_of_sync);
}

Test(clc, looking_tells_the_peers_decline_from_data_that_resembles_one)
{
	struct clc_decline decline = {.version = 1, .reason = REASON_MEMORY};
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_action a;
	struct clc c;
	int n;

	decline.peer_id[0] = 0x66;
	n = clc_encode_decline(&decline, bytes, sizeof(bytes));
	set_up(&c, CLC_LOOK, true, 0);
	a = feed(&c, bytes, (size_t)n);
	cr_assert_eq(a.next, CLC_USE_TCP);
	cr_assert_eq(a.take, 0, "a Decline of somebody else is data");
}

Test(clc, data_that_begins_like_a_decline_is_not_held_up_for_long)
{
	struct clc_message m;
	struct clc_action a;
	struct clc c;

	for (int i = 0; i < 2; i++) {
		set_up(&c, i ? CLC_LATE : CLC_LOOK, true, 0);
		c.deadline_ms = 0;
		a = clc_feed(&c, (const uint8_t *)"\xe2", 1, &m, 500);
		cr_assert_eq(a.next, CLC_WAIT);
		cr_assert_eq(c.deadline_ms, 500 + CLC_LOOK_MS);
		a = clc_feed(&c, (const uint8_t *)"\xe2\xd4", 2, &m, 900);
		cr_assert_eq(a.next, CLC_WAIT);
		cr_assert_eq(c.deadline_ms, 500 + CLC_LOOK_MS,
			     "one wait for all");
		a = clc_time(&c, 500 + CLC_LOOK_MS);
		cr_assert_eq(a.next, CLC_USE_TCP);
		cr_assert_eq(a.take, 0);
	}
}

Test(clc, data_may_be_sent_as_soon_as_this_side_declined)
{
	for (int i = 0; i < CLC_STATE_COUNT; i++) {
		struct clc c = {.state = i};
		bool expected = i == CLC_SKIP_ANSWER || i == CLC_LATE ||
				i == CLC_LOOK || i == CLC_ON_TCP;

		cr_assert_eq(clc_can_write(&c), expected, "%s",
			     clc_state_name(i));
	}
}

Test(clc, no_bytes_are_no_event)
{
	for (int i = 0; i < CLC_STATE_COUNT; i++) {
		struct clc c;
		struct clc_action a;

		set_up(&c, i, false, 0);
		a = feed(&c, NULL, 0);
		cr_assert_eq((int)c.state, i);
		cr_assert_eq(a.next, next_of(i));
	}
}

Test(clc, states_have_names)
{
	for (int i = 0; i < CLC_STATE_COUNT; i++)
		cr_assert_str_neq(clc_state_name(i), "unknown");
	cr_assert_str_eq(clc_state_name(-1), "unknown");
	cr_assert_str_eq(clc_state_name(CLC_STATE_COUNT), "unknown");
}
