/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/handshake/first_burst.h"

#include <criterion/criterion.h>

#include "smc_r/os/process.h"

/* One element, as either of its sides has it. */
static struct rmb_element element;
static struct rmb rmb;

struct end {
	struct connection c;
	struct status_slot slot;
};

static void make_end(struct end *e, int side)
{
	struct connection *c = &e->c;

	c->slot = &e->slot;
	c->slot->role = side == SIDE_CLIENT ? STATUS_CLIENT : STATUS_SERVER;
	atomic_store(&c->slot->phase, PHASE_ACTIVE);
	c->side = side;
	c->rmb = &rmb;
	c->control = &element;
	c->in_producer = &element.side[!side].producer;
	c->out_producer = &element.side[side].producer;
}

static struct end client, other, server;

static void setup(void)
{
	atomic_store(&element.epoch, 7);
	make_end(&client, SIDE_CLIENT);
	make_end(&other, SIDE_CLIENT);
	make_end(&server, SIDE_SERVER);
	process.spin_us = 50;
}

TestSuite(first_burst, .init = setup, .timeout = 20);

Test(first_burst, a_client_that_waits_in_a_write_says_so)
{
	first_burst_announce(&client.c);
	cr_assert_eq(atomic_load(&element.first_burst), 0);
	first_burst_begin(&client.c);
	cr_assert_eq(atomic_load(&element.first_burst), 0);
	first_burst_announce(&client.c);
	cr_assert_eq(atomic_load(&element.first_burst), 7);
}

Test(first_burst, it_ends_when_the_thread_waits)
{
	first_burst_begin(&client.c);
	first_burst_announce(&client.c);
	first_burst_end();
	cr_assert_eq(atomic_load(&element.first_burst), 0);
	/* It is the first one that counts. */
	first_burst_announce(&client.c);
	cr_assert_eq(atomic_load(&element.first_burst), 0);
}

Test(first_burst, it_ends_when_the_thread_writes_elsewhere)
{
	first_burst_begin(&client.c);
	first_burst_announce(&client.c);
	first_burst_begin(&other.c);
	cr_assert_eq(atomic_load(&element.first_burst), 0);
}

Test(first_burst, a_connection_that_left_is_left_alone)
{
	first_burst_begin(&client.c);
	first_burst_announce(&client.c);
	atomic_store(&client.slot.phase, PHASE_NATIVE);
	atomic_store(&element.epoch, 8);
	atomic_store(&element.first_burst, 8);
	first_burst_end();
	cr_assert_eq(atomic_load(&element.first_burst), 8);
}

Test(first_burst, a_server_has_nothing_to_say)
{
	first_burst_begin(&server.c);
	first_burst_announce(&server.c);
	cr_assert_eq(atomic_load(&element.first_burst), 0);
}

Test(first_burst, one_that_goes_on_for_ever_is_not_waited_for)
{
	first_burst_await(&server.c);
	first_burst_begin(&client.c);
	first_burst_announce(&client.c);
	first_burst_await(&server.c);
	cr_assert_eq(atomic_load(&element.first_burst), 7);
}
