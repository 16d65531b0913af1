/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_mcast_test: which queue pair is in which group on which device, and what
 * happens when the kernel does not let a group go. The wire and the timers are
 * the test's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ofed_core/base/params.h"
#include "ofed_core/ud/mcast.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/wire/wire.h"

static struct timer *armed;
static unsigned joins;
static unsigned leaves;
static int answer; /* of the kernel to a leave */

int wire_mcast(const struct device *d, const uint8_t gid[16], bool join)
{
	(void)d;
	(void)gid;
	if (join)
		joins++;
	else
		leaves++;
	return join ? 0 : answer;
}

uint64_t clock_ns(void)
{
	return 1;
}

void timer_init(struct timer *t, struct worker *w, void (*fire)(struct timer *))
{
	t->worker = w;
	t->fire = fire;
}

void timer_set(struct timer *t, uint64_t when)
{
	(void)when;
	armed = t;
}

struct worker *worker_at(unsigned i)
{
	static char some[4];

	return (struct worker *)(void *)&some[i & 3];
}

static void fire(void)
{
	struct timer *t = armed;

	armed = NULL;
	t->fire(t);
}

static struct device two[2];
static struct client clients_of[2] = {{.device = &two[0]}, {.device = &two[1]}};
static const uint8_t group[16] = {[10] = 0xff, 0xff, 239, 1, 2, 3};

static struct qp make_pair(unsigned device)
{
	return (struct qp){.type = QP_UD, .o.client = &clients_of[device]};
}

static void set_retries(long n)
{
	struct parameters p;

	parameters_init(&p);
	p.value[PARAMETER_MCAST_LEAVE_RETRIES] = n;
	params_put(&p);
}

static void count(struct qp *qp, void *owner)
{
	(void)qp;
	(*(unsigned *)owner)++;
}

static unsigned members(const struct device *d)
{
	unsigned n = 0;

	mcast_each(d, group, count, &n);
	return n;
}

Test(mcast, each_device_joins_once_and_leaves_with_its_last_member)
{
	struct qp a = make_pair(0), b = make_pair(0), c = make_pair(1);

	set_retries(3);
	cr_assert_eq(mcast_attach(&a, group), 0);
	cr_assert_eq(mcast_attach(&b, group), 0);
	cr_assert_eq(mcast_attach(&b, group), 0);
	cr_assert_eq(joins, 1);
	cr_assert_eq(mcast_attach(&c, group), 0);
	cr_assert_eq(joins, 2);
	cr_assert_eq(members(&two[0]), 2);
	cr_assert_eq(members(&two[1]), 1);
	cr_assert_eq(members(NULL), 3);
	cr_assert_eq(mcast_detach(&a, group), 0);
	cr_assert_eq(leaves, 0);
	mcast_forget(&b);
	cr_assert_eq(leaves, 1);
	mcast_forget(&c);
	cr_assert_eq(leaves, 2);
	cr_assert_null(armed);
	cr_assert_eq(mcast_detach(&a, group), -EINVAL);
}

Test(mcast, a_group_that_is_not_let_go_is_left_as_often_as_allowed)
{
	struct qp a = make_pair(0);

	set_retries(3);
	answer = -ENOBUFS;
	mcast_attach(&a, group);
	mcast_detach(&a, group);
	cr_assert_eq(leaves, 1);
	for (unsigned i = 2; armed; i++) {
		fire();
		cr_assert_eq(leaves, i);
	}
	cr_assert_eq(leaves, 4);
}

Test(mcast, leaving_ends_when_it_works)
{
	struct qp a = make_pair(0);

	set_retries(100);
	answer = -ENOBUFS;
	mcast_attach(&a, group);
	mcast_detach(&a, group);
	fire();
	answer = 0;
	fire();
	cr_assert_null(armed);
	cr_assert_eq(leaves, 3);
}

Test(mcast, without_retries_it_is_left_once)
{
	struct qp a = make_pair(0);

	set_retries(0);
	answer = -ENOBUFS;
	mcast_attach(&a, group);
	mcast_detach(&a, group);
	cr_assert_null(armed);
	cr_assert_eq(leaves, 1);
}

Test(mcast, a_membership_that_went_with_its_interface_is_over)
{
	struct qp a = make_pair(0);

	set_retries(3);
	answer = -EADDRNOTAVAIL;
	mcast_attach(&a, group);
	mcast_detach(&a, group);
	cr_assert_null(armed);
}

Test(mcast, who_joins_again_stays)
{
	struct qp a = make_pair(0);

	set_retries(3);
	answer = -ENOBUFS;
	mcast_attach(&a, group);
	mcast_detach(&a, group);
	mcast_attach(&a, group);
	fire();
	cr_assert_eq(leaves, 1);
	cr_assert_null(armed);
}
