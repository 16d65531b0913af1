/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_rc_test: two reliable queue pairs joined by a wire that loses,
 * doubles and reorders. The requester, completer and responder are those of
 * the core; the wire, the clock and the memory regions are the test's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/rc_pair.h"

/* ---- What must hold ---- */

static const uint32_t kinds[] = {IB_UVERBS_WR_SEND,
				 IB_UVERBS_WR_RDMA_WRITE,
				 IB_UVERBS_WR_RDMA_READ,
				 IB_UVERBS_WR_RDMA_WRITE_WITH_IMM,
				 IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
				 IB_UVERBS_WR_SEND_WITH_INV,
				 WR_ATOMIC_WRITE,
				 IB_UVERBS_WR_LOCAL_INV};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

#define SLOT_BYTES 8192

static uint32_t bytes_of(uint32_t kind)
{
	switch (kind) {
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
	case WR_ATOMIC_WRITE:
		return 8;
	case IB_UVERBS_WR_LOCAL_INV:
		return 0;
	default:
		return random_number() % SLOT_BYTES;
	}
}

static bool takes_receive(uint32_t kind)
{
	return kind == IB_UVERBS_WR_SEND ||
	       kind == IB_UVERBS_WR_SEND_WITH_INV ||
	       kind == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
}

/* Posts 60 requests of every kind; how many receives they need. */
static unsigned post_everything(void)
{
	unsigned receives = 0;

	for (unsigned i = 0; i < 60; i++) {
		uint32_t kind = kinds[i % KINDS];
		uint32_t bytes = bytes_of(kind);
		uint64_t at = (uint64_t)(i % 60) * SLOT_BYTES;
		bool is_read = kind == IB_UVERBS_WR_RDMA_READ;

		memset(sides[is_read].memory + at, (int)i + 1, bytes);
		if (kind == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD)
			memset(sides[1].memory + at, 0, 8);
		if (takes_receive(kind))
			post_receive(&sides[1], at, SLOT_BYTES, receives++);
		post(&sides[0], kind, at, bytes, at, i);
	}
	return receives;
}

/*
 * Each request has a slot of its own on both sides. The data must arrive,
 * once, and completions come in order.
 */
static void everything_arrives(uint32_t seed)
{
	unsigned receives = post_everything();

	run_until(60);
	cr_assert_eq(sides[0].done_count, 60, "seed %u", seed);
	cr_assert_eq(sides[1].done_count, receives, "seed %u", seed);
	for (unsigned i = 0; i < 60; i++) {
		uint64_t at = (uint64_t)i * SLOT_BYTES;
		uint64_t word;

		cr_assert_eq(sides[0].done[i].status, WC_SUCCESS, "seed %u: %u",
			     seed, i);
		cr_assert_eq(sides[0].done[i].wr_id, i, "seed %u", seed);
		cr_assert_eq(sides[0].invalidated[i],
			     kinds[i % KINDS] == IB_UVERBS_WR_LOCAL_INV);
		cr_assert_eq(sides[1].invalidated[i],
			     kinds[i % KINDS] == IB_UVERBS_WR_SEND_WITH_INV);
		if (kinds[i % KINDS] == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD) {
			memcpy(&word, sides[1].memory + at, 8);
			cr_assert_eq(word, 1, "seed %u: added %u times", seed,
				     (unsigned)word);
			memcpy(&word, sides[0].memory + at, 8);
			cr_assert_eq(word, 0);
			continue;
		}
		cr_assert_eq(memcmp(sides[0].memory + at, sides[1].memory + at,
				    sides[0].done[i].byte_len),
			     0, "seed %u: data of %u", seed, i);
	}
	for (unsigned i = 0; i < receives; i++)
		cr_assert_eq(sides[1].done[i].wr_id, i, "seed %u", seed);
}

Test(rc, a_clean_wire_carries_every_kind_of_request)
{
	open_pair(0, 0, 7);
	everything_arrives(7);
	close_pair();
}

Test(rc, losses_are_made_good)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		memset(sides, 0, sizeof(sides));
		flying_count = 0;
		open_pair(50, 0, seed * 7919);
		everything_arrives(seed);
		close_pair();
	}
}

Test(rc, doubled_and_reordered_packets_do_no_harm)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		memset(sides, 0, sizeof(sides));
		flying_count = 0;
		open_pair(20, 100, seed * 104729);
		everything_arrives(seed);
		close_pair();
	}
}

/* Pieces of a READ are asked for again from anywhere within them. */
Test(rc, long_messages_survive_loss_and_disorder)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		memset(sides, 0, sizeof(sides));
		flying_count = 0;
		open_pair(30, 30, seed * 15485863);
		for (unsigned i = 0; i < MEMORY_BYTES / 4; i++)
			((uint32_t *)(void *)sides[1].memory)[i] =
			    random_number();
		post(&sides[0], IB_UVERBS_WR_RDMA_READ, 0, 300001, 77, 1);
		post(&sides[0], IB_UVERBS_WR_RDMA_READ, 300001, 150000, 300078,
		     2);
		run_until(2);
		cr_assert_eq(sides[0].done_count, 2, "seed %u", seed);
		cr_assert_eq(sides[0].done[1].status, WC_SUCCESS, "seed %u",
			     seed);
		cr_assert_eq(
		    memcmp(sides[0].memory, sides[1].memory + 77, 450001), 0,
		    "seed %u", seed);
		post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 450001, 500000, 3);
		run_until(3);
		cr_assert_eq(sides[0].done[2].status, WC_SUCCESS, "seed %u",
			     seed);
		cr_assert_eq(
		    memcmp(sides[0].memory, sides[1].memory + 500000, 450001),
		    0, "seed %u", seed);
		close_pair();
	}
}

/* Requests that send nothing wait for those before, and hold up the others. */
Test(rc, windows_are_bound_between_messages)
{
	open_pair(50, 50, 3);
	post(&sides[0], IB_UVERBS_WR_BIND_MW, KEY, 0, 0, 0);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 5000, 0, 1);
	post(&sides[0], IB_UVERBS_WR_BIND_MW, KEY, 0, 0, 2);
	post(&sides[0], IB_UVERBS_WR_BIND_MW, KEY, 0, 0, 3);
	post(&sides[0], IB_UVERBS_WR_RDMA_READ, 0, 5000, 0, 4);
	post(&sides[0], IB_UVERBS_WR_BIND_MW, 0, 0, 0, 5);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 5000, 0, 6);
	run_until(7);
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(sides[0].done[i].status, WC_SUCCESS);
	cr_assert_eq(sides[0].done[0].opcode, IB_UVERBS_WC_BIND_MW);
	cr_assert_eq(sides[0].done[5].status, WC_MW_BIND_ERR);
	cr_assert_eq(sides[0].done[6].status, WC_WR_FLUSH_ERR);
	for (unsigned i = 0; i < 7; i++)
		cr_assert_eq(sides[0].bound[i],
			     i == 0 || i == 2 || i == 3 || i == 5);
	close_pair();
}

/* Messages of 100 packets; each loses the packets that are listed. */
static void write_hundreds(unsigned messages, const uint32_t *lost,
			   unsigned count)
{
	unsigned begin = sides[0].done_count;

	for (unsigned m = begin; m < begin + messages; m++) {
		uint32_t first = sides[0].qp.req.psn;

		for (unsigned i = 0; i < 100 * 1024; i++)
			sides[0].memory[i] = (uint8_t)random_number();
		for (unsigned i = 0; i < count; i++)
			lose[i] = (first + lost[i]) & PSN_MASK;
		lose_count = count;
		post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 100 * 1024, 4096,
		     m);
		run_until(m + 1);
		cr_assert_eq(sides[0].done[m].status, WC_SUCCESS);
		cr_assert_eq(lose_count, 0);
		cr_assert_eq(
		    memcmp(sides[0].memory, sides[1].memory + 4096, 100 * 1024),
		    0, "message %u", m);
	}
}

Test(rc, a_loss_costs_one_packet_where_the_peer_keeps_the_rest)
{
	static const uint32_t lost[] = {10, 30, 60};

	open_pair(0, 0, 1);
	write_hundreds(1, lost, 1);
	cr_assert(sides[0].qp.req.peer_keeps);
	sent_requests = 0;
	write_hundreds(4, lost, 3);
	cr_assert_eq(sent_requests, 4 * (100 + 3));
	cr_assert_not(responder_has_held(&sides[1].qp));
	close_pair();
}

Test(rc, a_peer_that_keeps_nothing_gets_all_of_it_again)
{
	static const uint32_t lost[] = {10, 30, 31, 99};

	open_pair(0, 0, 1);
	forgets = true;
	write_hundreds(4, lost, 4);
	cr_assert_not(sides[0].qp.req.peer_keeps);
	close_pair();
}

/* It was taken for one that keeps: what it misses next tells. */
Test(rc, a_peer_that_turns_out_to_keep_nothing_is_served_all_the_same)
{
	static const uint32_t lost[] = {10, 50};

	open_pair(0, 0, 1);
	sides[0].qp.req.peer_keeps = true;
	forgets = true;
	write_hundreds(3, lost, 2);
	cr_assert_not(sides[0].qp.req.peer_keeps);
	close_pair();
}

Test(rc, the_last_packet_of_all_is_asked_for_soon)
{
	static const uint32_t lost[] = {99};

	open_pair(0, 0, 1);
	write_hundreds(5, lost, 1);
	/* Quiet for 16 ms, at most, each time; the time-out is 67 ms. */
	cr_assert_lt(now, 5 * 20 * NS_PER_MS);
	/* The oldest that is not accepted, which may be an earlier one. */
	cr_assert_leq(sent_requests, 5 * (100 + 2));
	close_pair();
}

Test(rc, what_lies_far_beyond_a_gap_is_not_kept)
{
	struct packet p = {.opcode = TRANSPORT_RC | OP_SEND_ONLY,
			   .properties = packet_properties(OP_SEND_ONLY)};
	const struct packet *one = &p;
	struct responder *r;

	open_pair(0, 0, 1);
	r = &sides[1].qp.resp;
	for (uint32_t i = 1; i < 5000; i++) {
		p.psn = (r->psn + i) & PSN_MASK;
		responder_handle(&sides[1].qp, &one, 1);
	}
	/* One complaint for the gap, and at most 1023 packets behind it. */
	cr_assert_eq(flying_count, 1);
	p.psn = r->psn;
	for (unsigned i = 0; i < 2000; i++)
		post_receive(&sides[1], 0, 16, i);
	responder_handle(&sides[1].qp, &one, 1);
	cr_assert_eq(sides[1].done_count, 1024);
	cr_assert_not(responder_has_held(&sides[1].qp));
	close_pair();
}

Test(rc, a_peer_that_never_answers_exhausts_the_retries)
{
	uint64_t timeout = ack_timeout_ns(14);

	open_pair(1000, 0, 1);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 5000, 0, 1);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 5000, 0, 2);
	run_until(2);
	cr_assert_eq(sides[0].done_count, 2);
	cr_assert_eq(sides[0].done[0].status, WC_RETRY_EXC_ERR);
	cr_assert_eq(sides[0].done[1].status, WC_WR_FLUSH_ERR);
	cr_assert_eq(atomic_load(&sides[0].qp.state), QP_ERR);
	/* The first sending and seven repetitions, each a whole time-out. */
	cr_assert_geq(now, 8 * timeout);
	cr_assert_leq(now, 4 * 8 * timeout);
	close_pair();
}

Test(rc, without_a_receive_the_sender_waits_and_then_delivers)
{
	open_pair(0, 0, 1);
	memset(sides[0].memory, 0x77, 3000);
	post(&sides[0], IB_UVERBS_WR_SEND, 0, 3000, 0, 1);
	for (int i = 0; i < 100; i++) {
		run(&sides[0]);
		if (flying_count)
			deliver_some();
		else
			let_time_pass();
	}
	cr_assert_eq(sides[0].done_count, 0);
	post_receive(&sides[1], 4096, 4096, 9);
	run_until(1);
	cr_assert_eq(sides[0].done[0].status, WC_SUCCESS);
	cr_assert_eq(sides[1].done[0].byte_len, 3000);
	cr_assert_eq(memcmp(sides[1].memory + 4096, sides[0].memory, 3000), 0);
	close_pair();
}

Test(rc, a_limited_number_of_rnr_retries_ends)
{
	open_pair(0, 0, 1);
	sides[0].qp.attr.rnr_retry = 3;
	post(&sides[0], IB_UVERBS_WR_SEND, 0, 10, 0, 1);
	run_until(1);
	cr_assert_eq(sides[0].done[0].status, WC_RNR_RETRY_EXC_ERR);
	close_pair();
}

Test(rc, a_bad_key_fails_the_request_and_flushes_the_rest)
{
	open_pair(0, 0, 1);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 100, 0, 1);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 100, MEMORY_BYTES - 50, 2);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 100, 0, 3);
	run_until(3);
	cr_assert_eq(sides[0].done[0].status, WC_SUCCESS);
	cr_assert_eq(sides[0].done[1].status, WC_REM_ACCESS_ERR);
	cr_assert_eq(sides[0].done[2].status, WC_WR_FLUSH_ERR);
	cr_assert_eq(atomic_load(&sides[1].qp.state), QP_ERR);
	cr_assert_eq(sides[1].events, 1);
	close_pair();
}

Test(rc, rights_that_were_not_given_are_refused)
{
	static const struct {
		uint32_t kind;
		uint32_t right;
	} cases[] = {{IB_UVERBS_WR_RDMA_WRITE, ACCESS_REMOTE_WRITE},
		     {IB_UVERBS_WR_RDMA_READ, ACCESS_REMOTE_READ},
		     {IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD, ACCESS_REMOTE_ATOMIC},
		     {WR_ATOMIC_WRITE, ACCESS_REMOTE_WRITE}};

	for (int i = 0; i < 4; i++) {
		memset(sides, 0, sizeof(sides));
		open_pair(0, 0, 1);
		sides[1].qp.attr.access &= ~cases[i].right;
		memset(sides[0].memory, 1, 8);
		post(&sides[0], cases[i].kind, 0, 8, 0, 1);
		run_until(1);
		cr_assert_eq(sides[0].done[0].status, WC_REM_INV_REQ_ERR,
			     "case %d", i);
		cr_assert_eq(sides[1].memory[0], 0);
		close_pair();
	}
}

Test(rc, a_receive_that_is_too_small_fails_both)
{
	open_pair(0, 0, 1);
	post_receive(&sides[1], 0, 1500, 5);
	post(&sides[0], IB_UVERBS_WR_SEND, 0, 3000, 0, 1);
	run_until(1);
	cr_assert_eq(sides[0].done[0].status, WC_REM_INV_REQ_ERR);
	cr_assert_eq(sides[1].done[0].status, WC_LOC_LEN_ERR);
	close_pair();
}

Test(rc, an_answer_to_what_was_never_sent_changes_nothing)
{
	struct packet p = {.opcode = TRANSPORT_RC | OP_ACK,
			   .properties = packet_properties(OP_ACK),
			   .syndrome = AETH_ACK | AETH_ACK_UNLIMITED};

	open_pair(1000, 0, 1);
	post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, 100, 0, 1);
	run(&sides[0]);
	for (p.psn = 0; p.psn < 0xffff00; p.psn += 0x101) {
		requester_handle(&sides[0].qp, (const struct packet *[]){&p},
				 1);
		cr_assert_eq(sides[0].done_count, 0, "psn %#x", p.psn);
	}
	p.psn = 0xfffff0;
	requester_handle(&sides[0].qp, (const struct packet *[]){&p}, 1);
	cr_assert_eq(sides[0].done_count, 1);
	close_pair();
}

/* ---- What is too much at once ---- */

static void ask_to_read(uint32_t psn, uint64_t at, uint32_t bytes)
{
	const struct packet ask = {
	    .opcode = TRANSPORT_RC | OP_READ_REQUEST,
	    .properties = packet_properties(TRANSPORT_RC | OP_READ_REQUEST),
	    .psn = psn & PSN_MASK,
	    .rkey = KEY,
	    .address = at,
	    .dma_bytes = bytes};
	const struct packet *p = &ask;

	responder_handle(&sides[1].qp, &p, 1);
}

static void send_word(uint32_t psn, uint8_t word)
{
	const struct packet send = {
	    .opcode = TRANSPORT_RC | OP_SEND_ONLY,
	    .properties = packet_properties(TRANSPORT_RC | OP_SEND_ONLY),
	    .psn = psn & PSN_MASK,
	    .wants_ack = true,
	    .payload = &word,
	    .payload_bytes = 1};
	const struct packet *p = &send;

	responder_handle(&sides[1].qp, &p, 1);
}

/* The answers on the wire are those to so many packets from psn on. */
static void expect_answers(uint32_t psn, unsigned count)
{
	struct packet p;

	cr_assert_eq(flying_count, count);
	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(
		    packet_decode(&p, flying[i].bytes, flying[i].count), 0);
		cr_assert(p.properties & PACKET_READ_RESPONSE);
		cr_assert_eq(p.psn, (psn + i) & PSN_MASK);
	}
	flying_count = 0;
}

Test(rc, a_long_read_is_answered_in_turns_and_what_follows_waits)
{
	const uint32_t psn = 0xfffff0;
	struct packet p;

	open_pair(0, 0, 1);
	post_receive(&sides[1], 0, 16, 7);
	ask_to_read(psn, 0, MEMORY_BYTES);
	expect_answers(psn, 256);
	cr_assert_eq(posted, 1);
	/* Neither done nor complained of. */
	send_word(psn + 1024, 'x');
	cr_assert_eq(flying_count, 0);
	cr_assert_eq(sides[1].done_count, 0);
	for (unsigned i = 1; i < 4; i++) {
		responder_go_on(&sides[1].qp);
		if (i < 3)
			expect_answers(psn + i * 256, 256);
	}
	cr_assert_eq(flying_count, 257);
	cr_assert_eq(packet_decode(&p, flying[256].bytes, flying[256].count),
		     0);
	cr_assert(p.properties & PACKET_ACK);
	cr_assert_eq(p.psn, (psn + 1024) & PSN_MASK);
	cr_assert_eq(sides[1].done_count, 1);
	close_pair();
}

Test(rc, a_read_that_is_asked_for_again_begins_anew_and_gains_no_turn)
{
	const uint32_t psn = 0xfffff0;

	open_pair(0, 0, 1);
	ask_to_read(psn, 0, MEMORY_BYTES);
	expect_answers(psn, 256);
	for (unsigned i = 0; i < 10; i++)
		ask_to_read(psn + 100, 100 * 1024, MEMORY_BYTES - 100 * 1024);
	cr_assert_eq(flying_count, 0);
	responder_go_on(&sides[1].qp);
	expect_answers(psn + 100, 256);
	close_pair();
}

Test(rc, a_region_that_goes_while_it_is_read_ends_the_pair)
{
	const uint32_t psn = 0xfffff0;
	struct packet p;

	open_pair(0, 0, 1);
	ask_to_read(psn, 0, MEMORY_BYTES);
	expect_answers(psn, 256);
	sides[1].qp.resp.reading.rkey = KEY + 1; /* as if */
	responder_go_on(&sides[1].qp);
	cr_assert_eq(flying_count, 1);
	cr_assert_eq(packet_decode(&p, flying[0].bytes, flying[0].count), 0);
	cr_assert_eq(p.syndrome, NAK_ACCESS);
	cr_assert_eq(p.psn, (psn + 256) & PSN_MASK);
	cr_assert_eq(atomic_load(&sides[1].qp.state), QP_ERR);
	flying_count = 0;
	close_pair();
}

/* More than half of all sequence numbers would compare the wrong way. */
Test(rc, long_messages_wait_until_there_are_numbers_for_them)
{
	struct requester *r;

	open_pair(0, 0, 1);
	r = &sides[0].qp.req;
	sides[0].qp.attr.path_mtu = 1;
	for (unsigned i = 0; i < 60; i++)
		post(&sides[0], IB_UVERBS_WR_RDMA_WRITE, 0, MAX_MSG_BYTES, 0,
		     i);
	requester_take(&sides[0].qp);
	cr_assert_eq(r->head, 1);
	cr_assert_gt(psn_diff(r->psn, r->una), 0);
	cr_assert_not(requester_has_posted(&sides[0].qp));
	/* At its end the pair needs none. */
	atomic_store(&sides[0].qp.state, QP_ERR);
	requester_flush(&sides[0].qp);
	cr_assert_eq(sides[0].done_count, 60);
	close_pair();
}

Test(rc, a_ring_that_fills_while_it_is_flushed_waits_for_its_turn)
{
	open_pair(0, 0, 1);
	post(&sides[0], IB_UVERBS_WR_SEND, 0, 1, 0, 0);
	is_greedy = true;
	atomic_store(&sides[0].qp.state, QP_ERR);
	requester_flush(&sides[0].qp);
	cr_assert_eq(sides[0].done_count, sides[0].qp.req.slots);
	cr_assert_eq(posted, 1);
	close_pair();
}
