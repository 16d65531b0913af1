/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_echo_test: what a queue pair that has ended still says, and to which
 * peer. The wire and the clock are the test's.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "ofed_core/rc/qp_echo.h"

#define QPN  0x48001
#define PEER 0x123456

static struct packet said;
static unsigned times;
static uint64_t now;

int wire_send(const struct address *to, const struct packet *p)
{
	(void)to;
	said = *p;
	times++;
	return 0;
}

void wire_flush(void)
{
}

uint64_t clock_ns(void)
{
	return now;
}

static struct device device;

/* A pair that has received up to 99. */
static struct qp make_pair(void)
{
	struct qp qp = {.type = QP_RC,
			.qpn = QPN,
			.attr = {.dest_qpn = PEER, .rq_psn = 90},
			.resp = {.psn = 100, .msn = 7}};

	qp.attr.address.device = &device;
	memset(qp.attr.address.sgid, 1, 16);
	memset(qp.attr.address.dgid, 2, 16);
	now = 1000;
	times = 0;
	return qp;
}

static struct arrival make_arrival(uint8_t opcode, uint32_t psn)
{
	struct arrival a = {.p = {.opcode = opcode,
				  .properties = packet_properties(opcode),
				  .wants_ack = true,
				  .dest_qpn = QPN,
				  .psn = psn}};

	memset(a.sgid, 2, 16);
	memset(a.dgid, 1, 16);
	return a;
}

Test(echo, a_destroyed_pair_acknowledges_again_what_it_had)
{
	struct qp qp = make_pair();
	struct arrival a = make_arrival(OP_SEND_ONLY, 99);

	qp_echo_keep(&qp);
	cr_assert(qp_echo_gone(&a));
	cr_assert_eq(times, 1);
	cr_assert_eq(said.opcode, OP_ACK);
	cr_assert_eq(said.dest_qpn, PEER);
	cr_assert_eq(said.psn, 99);
	cr_assert_eq(said.syndrome, AETH_ACK | AETH_ACK_UNLIMITED);
	cr_assert_eq(said.msn, 7);
	a = make_arrival(OP_WRITE_ONLY, 95);
	cr_assert(qp_echo_gone(&a));
	cr_assert_eq(said.psn, 99);
}

Test(echo, what_is_new_gets_no_answer)
{
	struct qp qp = make_pair();
	struct arrival a = make_arrival(OP_SEND_ONLY, 100);

	qp_echo_keep(&qp);
	qp_echo_gone(&a);
	a = make_arrival(OP_READ_REQUEST, 99); /* its data may be gone */
	qp_echo_gone(&a);
	a = make_arrival(OP_ACK, 99);
	cr_assert_not(qp_echo_gone(&a));
	cr_assert_eq(times, 0);
}

Test(echo, strangers_get_no_answer)
{
	struct qp qp = make_pair();
	struct arrival a = make_arrival(OP_SEND_ONLY, 99);

	qp_echo_keep(&qp);
	a.sgid[15] = 9;
	cr_assert_not(qp_echo_gone(&a));
	a = make_arrival(OP_SEND_ONLY, 99);
	a.p.dest_qpn = QPN + 1;
	cr_assert_not(qp_echo_gone(&a));
	a = make_arrival(TRANSPORT_UC | OP_SEND_ONLY, 99);
	cr_assert_not(qp_echo_gone(&a));
	cr_assert_eq(times, 0);
}

Test(echo, after_a_while_nothing_is_known)
{
	struct qp qp = make_pair();
	struct arrival a = make_arrival(OP_SEND_ONLY, 99);

	qp_echo_keep(&qp);
	now += 60 * UINT64_C(1000) * NS_PER_MS;
	cr_assert_not(qp_echo_gone(&a));
	cr_assert_eq(times, 0);
}

Test(echo, a_pair_that_received_nothing_leaves_nothing)
{
	struct qp qp = make_pair();
	struct arrival a = make_arrival(OP_SEND_ONLY, 89);

	qp.resp.psn = qp.attr.rq_psn;
	qp_echo_keep(&qp);
	cr_assert_not(qp_echo_gone(&a));
}

Test(echo, a_refusal_is_repeated)
{
	struct qp qp = make_pair();
	struct arrival a = make_arrival(OP_WRITE_ONLY, 100);
	const struct packet *p = &a.p;

	qp.resp.nak = NAK_ACCESS;
	qp_echo(&qp, &p, 1);
	cr_assert_eq(times, 1);
	cr_assert_eq(said.psn, 100);
	cr_assert_eq(said.syndrome, NAK_ACCESS);
	qp_echo_keep(&qp);
	cr_assert(qp_echo_gone(&a));
	cr_assert_eq(times, 2);
}

Test(echo, before_a_goodbye_what_arrived_is_acknowledged_once_more)
{
	struct qp qp = make_pair();

	qp_echo_goodbye(&qp);
	cr_assert_eq(times, 1);
	cr_assert_eq(said.opcode, OP_ACK);
	cr_assert_eq(said.dest_qpn, PEER);
	cr_assert_eq(said.psn, 99);
	cr_assert_eq(said.syndrome, AETH_ACK | AETH_ACK_UNLIMITED);
	cr_assert_eq(said.msn, 7);
}

Test(echo, a_goodbye_claims_nothing_that_was_not_received)
{
	struct qp qp = make_pair();

	qp.resp.psn = qp.attr.rq_psn;
	qp_echo_goodbye(&qp);
	qp = make_pair();
	qp.resp.nak = NAK_ACCESS;
	qp_echo_goodbye(&qp);
	qp = make_pair();
	qp.is_local = true;
	qp_echo_goodbye(&qp);
	qp = make_pair();
	qp.type = QP_UD;
	qp_echo_goodbye(&qp);
	cr_assert_eq(times, 0);
}
