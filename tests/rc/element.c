/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* element: both sides of an element in one process. */
#include "tests/rc/element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/real.h"

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static void make_bells(struct element *e)
{
	struct bells theirs;
	int fds[BELLS_COUNT_MAX];

	need(bells_make(&e->rmb.bells[0], &theirs, BELLS_APART) == 0, "bells");
	bells_to_fds(&theirs, fds, BELLS_APART);
	for (unsigned i = 0; i < BELLS_APART; i++)
		fds[i] = private_fd(fds[i]);
	e->other.bells[0] = bells_of_fds(fds, BELLS_APART);
	need(bells_adopt(&e->other.bells[0]) == 0, "bells of the other side");
}

void element_make(struct element *e, uint32_t rmbe)
{
	int memfd;

	memset(e, 0, sizeof(*e));
	engine_lock();
	e->rmb.side = SIDE_SERVER;
	need(rmb_create(&e->rmb.map, 1, rmbe, &memfd) == 0, "an RMB");
	need(rmb_ring_fill(&e->rmb.map, 0, SIDE_SERVER, rmbe) == 0 &&
		 rmb_ring_fill(&e->rmb.map, 0, SIDE_CLIENT, rmbe) == 0,
	     "its memory");
	rmb_element_reset(&e->rmb.map, 0);
	e->other = e->rmb;
	e->other.side = SIDE_CLIENT;
	make_bells(e);
	e->rmb.filled = e->other.filled = 1;
	engine_unlock();
	real.close(memfd);
}

void element_attach(struct element *e, struct rc_pump *p)
{
	engine_lock();
	rc_pump_init(p, &e->rmb, 0);
	e->end.slot = &e->slot;
	connection_attach(&e->end, &e->other, 0, SIDE_CLIENT);
	/* As the peer of a link service has it. */
	atomic_store(&e->end.in_consumer->overflow, 0);
	e->end.rmb->map.overflow_bytes = 0;
	engine_unlock();
}

void element_free(struct element *e)
{
	engine_lock();
	bells_close(&e->rmb.bells[0]);
	bells_close(&e->other.bells[0]);
	rmb_unmap(&e->rmb.map);
	engine_unlock();
}

ssize_t element_put(struct element *e, const void *from, size_t n)
{
	struct iovec v = {(void *)(uintptr_t)from, n};
	struct place p;

	place_init(&p, &v, 1);
	return stream_put(&e->end, &p, n);
}

ssize_t element_take(struct element *e, void *to, size_t n)
{
	struct iovec v = {to, n};
	struct place p;

	place_init(&p, &v, 1);
	return stream_take(&e->end, &p, n, 0, 0);
}

bool element_is_unread(struct element *e)
{
	return stream_fill(&e->end) > 0;
}
