/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two handshake machines with a byte stream between them, cut at random
 * places, while both sides abort, wait, time out and write at random times.
 *
 * Whatever happens: both come to the same end, each side's program reads what
 * the other one wrote and nothing else, and no machine takes a byte beyond a
 * message. CLC_SEED=n in the environment runs that seed alone, and tells it.
 */
#include "smc_r/protocol/clc.h"
#include "smc_r/protocol/reason.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_BYTES 4096
#define DATA_BYTES   200
#define STEPS_MAX    4000

enum dialect {
	OURS,      /* the machine; whether the peer knows that is chance */
	BY_THE_RFC /* strict turns: never a Decline out of turn */
};

/* What may happen in a run; see run(). */
struct plan {
	const char *name;
	enum dialect client;
	enum dialect server;
	int abort_percent;
	bool client_times_out;
	bool server_times_out;
	bool server_gives_up; /* on a Confirm that does not come */
	bool link;
	bool known;    /* each side knows what the other one is */
	bool may_fail; /* runs in which failing is an honest end */
};

/* One direction: what was sent, how much arrived, how much was taken. */
struct stream {
	uint8_t bytes[STREAM_BYTES];
	size_t sent;
	size_t arrived;
	size_t taken;
};

struct side {
	const char *name;
	struct clc clc;
	enum dialect dialect;
	struct stream *in;
	struct stream *out;
	uint8_t id[CLC_PEER_ID_BYTES];
	bool preparing;
	bool started;
	/* BY_THE_RFC only: */
	bool done;
	bool smc;
	bool failed;
	uint8_t data[DATA_BYTES]; /* what the program writes */
	size_t data_sent;
	size_t data_read;
	const struct side *peer;
};

static uint64_t random_state;
static unsigned long long running_seed;
static const char *running_plan;
static bool tracing;

/* A claim about this run; says which one it was. */
static void must(bool holds, const char *format, ...)
{
	char text[200];
	va_list arguments;

	if (holds)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	cr_assert_fail("%s, CLC_SEED=%llu: %s", running_plan, running_seed,
		       text);
}

static uint32_t random_below(uint32_t n)
{
	random_state =
	    random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

static bool chance(int percent)
{
	return (int)random_below(100) < percent;
}

static void send_bytes(struct side *s, const void *bytes, size_t n)
{
	must(s->out->sent + n <= STREAM_BYTES, "%s sends too much", s->name);
	memcpy(s->out->bytes + s->out->sent, bytes, n);
	s->out->sent += n;
}

static void send_message(struct side *s, enum clc_send what)
{
	struct clc_proposal proposal = {.version = 1, .path_v2 = CLC_PATH_NONE};
	struct clc_accept_confirm m = {.version = 1, .index = 1, .token = 1};
	struct clc_decline decline;
	uint8_t bytes[CLC_BYTES_MAX];
	int n = 0;

	switch (what) {
	case CLC_SEND_NOTHING:
		return;
	case CLC_SEND_PROPOSAL:
		memcpy(proposal.peer_id, s->id, sizeof(s->id));
		n = clc_encode_proposal(&proposal, bytes, sizeof(bytes));
		break;
	case CLC_SEND_ACCEPT:
	case CLC_SEND_CONFIRM:
		m.type = what == CLC_SEND_ACCEPT ? CLC_ACCEPT : CLC_CONFIRM;
		memcpy(m.peer_id, s->id, sizeof(s->id));
		n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
		break;
	case CLC_SEND_DECLINE:
		clc_decline(&s->clc, &decline);
		memcpy(decline.peer_id, s->id, sizeof(s->id));
		n = clc_encode_decline(&decline, bytes, sizeof(bytes));
		break;
	}
	must(n > 0, "%s cannot encode", s->name);
	must(s->data_sent == 0, "%s sends a message after data", s->name);
	send_bytes(s, bytes, (size_t)n);
}

static void act(struct side *s, struct clc_action a)
{
	static const char *const sends[] = {"nothing", "Proposal", "Accept",
					    "Confirm", "Decline"};

	if (tracing && (a.send || a.take || a.next != CLC_WAIT))
		fprintf(stderr, "%s: sends %s, takes %d, %s\n", s->name,
			sends[a.send], a.take, clc_state_name(s->clc.state));
	send_message(s, a.send);
	s->preparing =
	    a.next == CLC_PREPARE || (s->preparing && a.next == CLC_WAIT);
}

/* The program's data resembles messages as closely as it can. */
static void invent_data(struct side *s, const struct plan *plan)
{
	struct clc_decline decline = {.version = 1, .reason = REASON_MEMORY};

	for (size_t i = 0; i < DATA_BYTES; i++)
		s->data[i] = (uint8_t)('a' + random_below(26));
	switch (random_below(4)) {
	case 0:
		memcpy(s->data, "\xe2\xd4\xc3", random_below(3) + 1);
		break;
	case 1:
		/*
		 * Somebody else's Decline. A client that waits for an answer
		 * cannot tell, and none is due from a server on time.
		 */
		if (plan->server_times_out)
			break;
		memset(decline.peer_id, 0xee, sizeof(decline.peer_id));
		clc_encode_decline(&decline, s->data, DATA_BYTES);
		break;
	default:
		break;
	}
}

static void read_data(struct side *s)
{
	while (s->in->taken < s->in->arrived) {
		uint8_t byte = s->in->bytes[s->in->taken++];

		must(s->data_read < DATA_BYTES, "%s reads too much", s->name);
		must(byte == s->peer->data[s->data_read],
		     "%s reads %02x at %zu", s->name, byte, s->data_read);
		s->data_read++;
	}
}

static void write_data(struct side *s)
{
	size_t n = random_below(20) + 1;

	if (n > DATA_BYTES - s->data_sent)
		n = DATA_BYTES - s->data_sent;
	if (n == 0)
		return;
	clc_wrote(&s->clc);
	send_bytes(s, s->data + s->data_sent, n);
	s->data_sent += n;
}

/* Shows the machine what arrived, in a block of exactly that size. */
static void read_messages(struct side *s, uint64_t now)
{
	size_t n = s->in->arrived - s->in->taken;
	uint8_t *exact = malloc(n ? n : 1);
	struct clc_message m;
	struct clc_action a;

	memcpy(exact, s->in->bytes + s->in->taken, n);
	a = clc_feed(&s->clc, exact, n, &m, now);
	must(a.take <= n, "%s takes what is not there", s->name);
	must(!a.take || clc_peek_length(exact, n) == a.take,
	     "%s takes another length", s->name);
	s->in->taken += a.take;
	free(exact);
	act(s, a);
}

/* A side that knows the RFC only, as a straight sequence. */
static void rfc_step(struct side *s, bool server)
{
	size_t n = s->in->arrived - s->in->taken;
	uint8_t *bytes = s->in->bytes + s->in->taken;
	int length;

	if (!s->started && !server) {
		s->started = true;
		s->done = chance(15);
		send_message(s, s->done ? CLC_SEND_DECLINE : CLC_SEND_PROPOSAL);
		return;
	}
	length = clc_peek_length(bytes, n);
	if (s->done || length == -EAGAIN || length > (int)n)
		return;
	if (length < 0) {
		s->done = true;
		s->failed = true;
		return;
	}
	s->in->taken += (size_t)length;
	switch (bytes[4]) {
	case CLC_PROPOSAL:
		must(server && !s->started, "%s gets a Proposal", s->name);
		s->started = true;
		s->done = chance(30);
		send_message(s, s->done ? CLC_SEND_DECLINE : CLC_SEND_ACCEPT);
		return;
	case CLC_ACCEPT:
		must(!server, "%s gets an Accept", s->name);
		s->done = true;
		s->smc = chance(60);
		send_message(s, s->smc ? CLC_SEND_CONFIRM : CLC_SEND_DECLINE);
		return;
	case CLC_CONFIRM:
		must(server && s->started, "%s gets a Confirm", s->name);
		s->smc = true;
		s->done = true;
		return;
	case CLC_DECLINE:
		s->done = true;
		return;
	}
}

static bool is_over(const struct side *s)
{
	return s->dialect == BY_THE_RFC ? s->done : clc_is_over(&s->clc);
}

static bool on_smc(const struct side *s)
{
	return s->dialect == BY_THE_RFC ? s->smc : s->clc.state == CLC_ON_SMC;
}

static bool has_failed(const struct side *s)
{
	return s->failed || s->clc.state == CLC_FAILED;
}

static bool can_write(const struct side *s)
{
	if (s->dialect == BY_THE_RFC)
		return s->done && !s->smc && !s->failed;
	return clc_can_write(&s->clc);
}

static void machine_step(struct side *s, const struct plan *plan, uint64_t now)
{
	static const struct clc_proposal offer = {.version = 1,
						  .path_v2 = CLC_PATH_NONE};

	if (!s->started && !s->clc.config.server) {
		if (!chance(30))
			return;
		s->started = true;
		if (chance(plan->abort_percent))
			act(s, clc_abort(&s->clc, REASON_FORK, now));
		else if (s->clc.state == CLC_START)
			act(s, clc_start(&s->clc, &offer, now));
		return;
	}
	if (chance(plan->abort_percent) && chance(10)) {
		act(s, clc_abort(&s->clc, REASON_FORK, now));
		return;
	}
	if (s->preparing && chance(30)) {
		s->preparing = false;
		if (plan->link)
			clc_want_link(&s->clc);
		if (chance(plan->abort_percent))
			act(s, clc_abort(&s->clc, REASON_MEMORY, now));
		else
			act(s, clc_commit(&s->clc, now));
		return;
	}
	if (chance(30))
		act(s, clc_time(&s->clc, now));
	else
		read_messages(s, now);
}

static void step_side(struct side *s, const struct plan *plan, uint64_t now)
{
	struct stream *in = s->in;

	in->arrived += random_below((uint32_t)(in->sent - in->arrived) + 1);
	if (s->dialect == BY_THE_RFC && !s->done)
		rfc_step(s, s->clc.config.server);
	else if (s->dialect == OURS && !is_over(s))
		machine_step(s, plan, now);
	else if (s->dialect == OURS && on_smc(s))
		read_messages(s, now);
	if (is_over(s) && !on_smc(s) && !has_failed(s))
		read_data(s);
	if (can_write(s) && chance(40))
		write_data(s);
}

static void init_side(struct side *s, const char *name, enum dialect dialect,
		      const struct plan *plan, bool server)
{
	struct clc_config config = {.server = server};
	enum dialect peer = server ? plan->client : plan->server;
	bool times_out =
	    server ? plan->server_times_out : plan->client_times_out;

	s->name = name;
	s->dialect = dialect;
	memset(s->id, server ? 0x55 : 0xcc, sizeof(s->id));
	/* Each side may know what the other one is, or not. */
	config.peer_is_ours = peer == OURS && (chance(50) || plan->known);
	if (times_out)
		config.answer_ms = 1 + random_below(100);
	if (plan->server_gives_up && server)
		config.confirm_ms = 1 + random_below(100);
	if (plan->link)
		config.link_ms = 1 + random_below(100);
	clc_init(&s->clc, &config, 0);
	invent_data(s, plan);
}

static bool is_settled(const struct side *s)
{
	if (!is_over(s))
		return false;
	return on_smc(s) || has_failed(s) ||
	       (s->data_sent == DATA_BYTES && s->data_read == DATA_BYTES);
}

static void check_end(const struct side *c, const struct side *s,
		      const struct plan *plan)
{
	const struct side *failed = has_failed(c) ? c : s;

	if (has_failed(failed)) {
		must(plan->may_fail, "%s fails, reason %s", failed->name,
		     reason_name(failed->clc.reason));
		return;
	}
	must(is_over(c) && is_over(s), "client in %s, server in %s",
	     clc_state_name(c->clc.state), clc_state_name(s->clc.state));
	must(on_smc(c) == on_smc(s), "they do not agree");
	if (on_smc(c)) {
		must(c->data_sent + s->data_sent == 0, "data beside SMC");
		must(c->in->taken == c->in->sent && s->in->taken == s->in->sent,
		     "messages are left in the streams");
		return;
	}
	must(is_settled(c) && is_settled(s), "data is missing");
	must(c->dialect == BY_THE_RFC || c->clc.reason != REASON_NONE,
	     "the client has no reason");
	must(s->dialect == BY_THE_RFC || s->clc.reason != REASON_NONE,
	     "the server has no reason");
}

/* Returns 's' for SMC, 't' for TCP, 'f' when one side failed. */
static char run(uint64_t seed, const struct plan *plan)
{
	static struct stream up;
	static struct stream down;
	struct side client = {.in = &down, .out = &up};
	struct side server = {.in = &up, .out = &down};
	uint64_t now = 0;

	memset(&up, 0, sizeof(up));
	memset(&down, 0, sizeof(down));
	running_seed = seed;
	running_plan = plan->name;
	random_state = seed * 2654435761u + 12345;
	init_side(&client, "client", plan->client, plan, false);
	init_side(&server, "server", plan->server, plan, true);
	client.peer = &server;
	server.peer = &client;
	for (int i = 0; i < STEPS_MAX; i++) {
		now += random_below(4);
		if (chance(50))
			step_side(&client, plan, now);
		else
			step_side(&server, plan, now);
		if (has_failed(&client) || has_failed(&server) ||
		    (is_settled(&client) && is_settled(&server)))
			break;
	}
	check_end(&client, &server, plan);
	if (has_failed(&client) || has_failed(&server))
		return 'f';
	return on_smc(&client) ? 's' : 't';
}

/* Runs many seeds; each of these ends has to come about. */
static void run_many(const struct plan *plan, const char *ends)
{
	const char *one = getenv("CLC_SEED");
	uint64_t last = getenv("SMC_R_LONG") ? 200000 : 3000;
	unsigned int count[128] = {0};

	if (one) {
		tracing = true;
		run(strtoull(one, NULL, 0), plan);
		return;
	}
	for (uint64_t seed = 1; seed <= last; seed++)
		count[(unsigned char)run(seed, plan)]++;
	for (const char *end = ends; *end; end++)
		cr_assert_gt(count[(unsigned char)*end], 20,
			     "%s: %u ends of kind %c", plan->name,
			     count[(unsigned char)*end], *end);
}

Test(clc_pair, two_of_ours_agree)
{
	const struct plan plan = {.name = "calm"};

	run_many(&plan, "s");
}

Test(clc_pair, two_of_ours_agree_however_they_abort)
{
	const struct plan plan = {.name = "aborts", .abort_percent = 30};

	run_many(&plan, "st");
}

Test(clc_pair, two_of_ours_agree_when_the_client_loses_patience)
{
	const struct plan plan = {.name = "impatient client",
				  .abort_percent = 10,
				  .client_times_out = true};

	run_many(&plan, "st");
}

/* It may have sent data when the Proposal comes: then the end is a reset. */
Test(clc_pair, an_impatient_server_never_makes_anyone_read_garbage)
{
	const struct plan plan = {.name = "impatient server",
				  .abort_percent = 10,
				  .client_times_out = true,
				  .server_times_out = true,
				  .may_fail = true};

	run_many(&plan, "stf");
}

Test(clc_pair, two_of_ours_agree_when_the_server_loses_patience)
{
	const struct plan plan = {.name = "impatient server of ours",
				  .abort_percent = 10,
				  .client_times_out = true,
				  .server_times_out = true,
				  .known = true};

	run_many(&plan, "st");
}

Test(clc_pair, a_server_that_gives_up_on_a_confirm_resets)
{
	const struct plan plan = {.name = "no confirm",
				  .abort_percent = 10,
				  .server_gives_up = true,
				  .may_fail = true};

	run_many(&plan, "stf");
}

/* One side may see the link up while the other one does not. */
Test(clc_pair, a_link_that_comes_up_on_one_side_only_ends_in_a_reset)
{
	const struct plan plan = {.name = "link",
				  .abort_percent = 20,
				  .link = true,
				  .may_fail = true};

	run_many(&plan, "stf");
}

Test(clc_pair, a_client_by_the_rfc_agrees_with_us)
{
	const struct plan plan = {
	    .name = "rfc client", .client = BY_THE_RFC, .abort_percent = 30};

	run_many(&plan, "st");
}

Test(clc_pair, a_client_by_the_rfc_never_reads_garbage_when_we_time_out)
{
	const struct plan plan = {.name = "rfc client, impatient server",
				  .client = BY_THE_RFC,
				  .abort_percent = 10,
				  .server_times_out = true,
				  .may_fail = true};

	run_many(&plan, "stf");
}

Test(clc_pair, a_server_by_the_rfc_agrees_with_us)
{
	const struct plan plan = {
	    .name = "rfc server", .server = BY_THE_RFC, .abort_percent = 30};

	run_many(&plan, "st");
}
