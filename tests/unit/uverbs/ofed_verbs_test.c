/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ofed_core/base/parameters.h"
#include "ofed_core/base/ring.h"
#include "ofed_core/base/table.h"
#include "ofed_core/device/neighbor.h"
#include "ofed_core/rc/requester.h"
#include "ofed_core/ucma/ucma.h"
#include "ofed_core/uverbs/uverbs.h"
#include "ofed_core/verbs/qp_attr.h"

#define INIT_RC (ATTR_STATE | ATTR_PKEY_INDEX | ATTR_PORT | ATTR_ACCESS_FLAGS)
#define RTR_RC                                                                 \
	(ATTR_STATE | ATTR_AV | ATTR_PATH_MTU | ATTR_DEST_QPN | ATTR_RQ_PSN |  \
	 ATTR_MAX_DEST_RD_ATOMIC | ATTR_MIN_RNR_TIMER)
#define RTS_RC                                                                 \
	(ATTR_STATE | ATTR_TIMEOUT | ATTR_RETRY_CNT | ATTR_RNR_RETRY |         \
	 ATTR_SQ_PSN | ATTR_MAX_QP_RD_ATOMIC)

Test(qp_attr, steps_need_each_of_their_attributes)
{
	static const struct {
		enum qp_state from;
		enum qp_state to;
		uint32_t mask;
	} steps[] = {{QP_RESET, QP_INIT, INIT_RC},
		     {QP_INIT, QP_RTR, RTR_RC},
		     {QP_RTR, QP_RTS, RTS_RC}};

	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(qp_attr_check(QP_RC, steps[i].from, steps[i].to,
					   steps[i].mask),
			     0);
		for (uint32_t bit = 2; bit < 1u << 21; bit <<= 1) {
			if (!(steps[i].mask & bit))
				continue;
			cr_assert_eq(qp_attr_check(QP_RC, steps[i].from,
						   steps[i].to,
						   steps[i].mask & ~bit),
				     -EINVAL, "step %zu without %#x", i, bit);
		}
	}
}

Test(qp_attr, steps_refuse_attributes_that_are_not_theirs)
{
	cr_assert_eq(
	    qp_attr_check(QP_RC, QP_RESET, QP_INIT, INIT_RC | ATTR_QKEY),
	    -EINVAL);
	cr_assert_eq(
	    qp_attr_check(QP_UD, QP_INIT, QP_RTR, ATTR_STATE | ATTR_AV),
	    -EINVAL);
	cr_assert_eq(qp_attr_check(QP_UD, QP_INIT, QP_RTR, ATTR_STATE), 0);
}

Test(qp_attr, no_step_is_skipped_and_every_state_can_end)
{
	cr_assert_eq(qp_attr_check(QP_RC, QP_RESET, QP_RTR, RTR_RC), -EINVAL);
	cr_assert_eq(qp_attr_check(QP_RC, QP_INIT, QP_RTS, RTS_RC), -EINVAL);
	cr_assert_eq(qp_attr_check(QP_RC, QP_ERR, QP_RTS, RTS_RC), -EINVAL);
	for (int s = QP_RESET; s <= QP_ERR; s++) {
		cr_assert_eq(
		    qp_attr_check(QP_RC, (enum qp_state)s, QP_ERR, ATTR_STATE),
		    0);
		cr_assert_eq(qp_attr_check(QP_UD, (enum qp_state)s, QP_RESET,
					   ATTR_STATE),
			     0);
	}
}

Test(timeouts, codes_mean_the_times_of_the_specification)
{
	cr_assert_eq(rnr_timer_ns(0), UINT64_C(655360000));
	cr_assert_eq(rnr_timer_ns(1), UINT64_C(10000));
	cr_assert_eq(rnr_timer_ns(12), UINT64_C(640000));
	cr_assert_eq(rnr_timer_ns(31), UINT64_C(491520000));
	cr_assert_eq(ack_timeout_ns(0), 0);
	cr_assert_eq(ack_timeout_ns(14), UINT64_C(67108864));
	cr_assert_eq(packets_of(0, 1024), 1);
	cr_assert_eq(packets_of(1024, 1024), 1);
	cr_assert_eq(packets_of(1025, 1024), 2);
}

Test(psn, comparison_goes_round_at_24_bits)
{
	cr_assert_eq(psn_diff(0, 0xffffff), 1);
	cr_assert_eq(psn_diff(0xffffff, 0), -1);
	cr_assert_eq(psn_diff(0x7fffff, 0), 0x7fffff);
	cr_assert_eq(psn_diff(0x800000, 0), -0x800000);
}

Test(table, numbers_are_not_reused_at_once)
{
	struct table t;
	int x;

	table_init(&t, 1000);
	int64_t first = table_add(&t, &x);
	table_remove(&t, (uint32_t)first);
	cr_assert_null(table_get(&t, (uint32_t)first));
	cr_assert_neq(table_add(&t, &x), first);
	cr_assert_null(table_get(&t, 5000));
	table_fini(&t);
}

Test(table, it_holds_its_maximum_and_no_more)
{
	struct table t;
	int x;

	table_init(&t, 100);
	for (int i = 0; i < 100; i++)
		cr_assert_geq(table_add(&t, &x), 0);
	cr_assert_eq(table_add(&t, &x), -ENOSPC);
	table_remove(&t, 50);
	cr_assert_eq(table_add(&t, &x), 50);
	table_fini(&t);
}

Test(ring, a_full_ring_takes_no_more)
{
	struct ring r;
	uint64_t v = 0;

	cr_assert_eq(ring_create(&r, 5, sizeof(v)), 0);
	cr_assert_eq(ring_capacity(&r), 7);
	for (v = 0; v < 7; v++)
		cr_assert(ring_produce(&r, &v, sizeof(v)));
	cr_assert_not(ring_produce(&r, &v, sizeof(v)));
	r.shared->consumer_index = 1;
	cr_assert(ring_produce(&r, &v, sizeof(v)));
	ring_destroy(&r);
}

/* A program may write anything into the memory it shares. */
Test(ring, wild_indices_stay_inside)
{
	struct ring r;

	cr_assert_eq(ring_create(&r, 15, 64), 0);
	for (uint32_t wild = 0xffffff00; wild != 100; wild++) {
		r.shared->producer_index = wild;
		r.shared->index_mask = wild;
		r.shared->log2_elem_size = wild;
		cr_assert_leq(ring_waiting(&r), ring_capacity(&r));
		cr_assert_lt((const uint8_t *)ring_peek(&r, wild) + 64,
			     (const uint8_t *)r.shared + r.bytes + 1);
		ring_consume(&r, 1);
	}
	ring_destroy(&r);
}

Test(ring, its_memory_cannot_be_cut_short)
{
	struct ring r;

	cr_assert_eq(ring_create(&r, 15, 64), 0);
	cr_assert_lt(ftruncate(r.memfd, 0), 0);
	ring_destroy(&r);
}

Test(uverbs, headers_must_tell_their_length)
{
	uint32_t words[8] = {IB_USER_VERBS_CMD_ALLOC_PD, 4 | 2 << 16};
	struct uverbs_header h;

	cr_assert_eq(uverbs_decode(&h, words, 16), 0);
	cr_assert_eq(h.in_bytes, 8);
	cr_assert_eq(h.out_bytes, 8);
	cr_assert_eq(uverbs_decode(&h, words, 20), -EINVAL);
	cr_assert_eq(uverbs_decode(&h, words, 4), -EINVAL);
	words[0] |= 0x00010000; /* a bit nobody knows */
	cr_assert_eq(uverbs_decode(&h, words, 16), -EINVAL);
}

Test(uverbs, extended_headers_count_in_words_of_eight)
{
	struct {
		struct ib_uverbs_cmd_hdr plain;
		struct ib_uverbs_ex_cmd_hdr ex;
		uint64_t body[2];
	} c = {
	    {IB_USER_VERBS_CMD_QUERY_DEVICE | IB_USER_VERBS_CMD_FLAG_EXTENDED,
	     1, 20},
	    {.response = 1, .provider_in_words = 1},
	    {0}};
	struct uverbs_header h;

	cr_assert_eq(uverbs_decode(&h, &c, sizeof(c)), 0);
	cr_assert_eq(h.in_bytes, 8);
	cr_assert_eq(h.driver_in_bytes, 8);
	cr_assert_eq(h.out_bytes, 160);
	c.ex.cmd_hdr_reserved = 1;
	cr_assert_eq(uverbs_decode(&h, &c, sizeof(c)), -EINVAL);
	c.ex.cmd_hdr_reserved = 0;
	c.plain.in_words = 2;
	cr_assert_eq(uverbs_decode(&h, &c, sizeof(c)), -EINVAL);
}

Test(parameters, values_outside_their_range_change_nothing)
{
	struct parameters p;

	parameters_init(&p);
	cr_assert_eq(parameters_set(&p, "cm_connect_max_retry", "16"), -ERANGE);
	cr_assert_eq(parameters_set(&p, "cm_connect_max_retry", "x"), -EINVAL);
	cr_assert_eq(parameters_set(&p, "no_such_name", "1"), -ENOENT);
	cr_assert_eq(p.value[PARAMETER_CM_CONNECT_MAX_RETRY], 15);
	cr_assert_eq(parameters_set(&p, "mad_recvq_size", "600"), 0);
	cr_assert_eq(p.value[PARAMETER_MAD_RCVQ_SIZE], 600);
}

Test(parameters, a_file_is_read_to_its_first_bad_line)
{
	char path[] = "/tmp/ofed_parameters.XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "# comment\n\n  def_prec2sl = 5 # five\n"
				   "#max_timeout=3\nmax_timeout\n";
	struct parameters p;
	int line;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	parameters_init(&p);
	cr_assert_eq(parameters_read(&p, path, &line), -EINVAL);
	cr_assert_eq(line, 5);
	cr_assert_eq(p.value[PARAMETER_DEF_PREC2SL], 5);
	cr_assert_eq(p.value[PARAMETER_MAX_TIMEOUT], 21);
	unlink(path);
	cr_assert_eq(parameters_read(&p, path, &line), 0);
}

Test(neighbor, groups_and_interface_identifiers_name_their_address)
{
	static const struct {
		uint8_t gid[16];
		uint8_t mac[6];
	} cases[] = {
	    {{0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0, 0, 1},
	     {0x52, 0x54, 0, 0, 0, 1}},
	    {{[10] = 0xff, 0xff, 239, 129, 2, 3}, {1, 0, 0x5e, 1, 2, 3}},
	    {{0xff, 0x0e, [10] = 0xff, 0xff, 224, 1, 2, 3},
	     {0x33, 0x33, 224, 1, 2, 3}}};
	static const uint8_t ip4[16] = {[10] = 0xff, 0xff, 10, 1, 2, 3};
	uint8_t mac[6];

	for (size_t i = 0; i < 3; i++) {
		cr_assert(neighbor_from_gid(cases[i].gid, mac));
		cr_assert_eq(memcmp(mac, cases[i].mac, 6), 0, "case %zu", i);
	}
	cr_assert_not(neighbor_from_gid(ip4, mac));
}
