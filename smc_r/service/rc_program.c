/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_program: the near half of connections, one by one and all of them. */
#include "smc_r/service/rc_program_parts.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "smc_r/os/process.h"
#include "smc_r/service/rc_service.h"

void rc_program_watch(struct rc_program *p, int fd, struct rc_watch *w,
		      enum rc_watch_kind kind, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	w->kind = kind;
	w->program = p;
	epoll_ctl(p->all->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* Other processes have the file, so that a close alone would leave it. */
void rc_program_forget(const struct rc_program *p, int fd)
{
	epoll_ctl(p->all->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void rc_program_watch_bells(struct rc_program *p)
{
	const struct bells *b = &rc_program_near(p)->bells;

	rc_program_watch(p, b->data, &p->bell_watch, RC_WATCH_BELL,
			 EPOLLIN | EPOLLET);
	if (!bells_are_one(b))
		rc_program_watch(p, b->room, &p->bell_watch, RC_WATCH_BELL,
				 EPOLLIN | EPOLLET);
}

static void forget_bells(const struct rc_program *p)
{
	const struct bells *b = &p->conn.pump.near.bells;

	rc_program_forget(p, b->data);
	if (!bells_are_one(b))
		rc_program_forget(p, b->room);
}

void rc_program_close_channel(struct rc_program *p)
{
	if (p->channel < 0)
		return;
	rc_program_forget(p, p->channel);
	close(p->channel);
	p->channel = -1;
}

void rc_program_close_tcp(struct rc_program *p)
{
	if (p->conn.tcp < 0)
		return;
	rc_program_forget(p, p->conn.tcp);
	close(p->conn.tcp);
	p->conn.tcp = -1;
}

/* It is looked at in each round, from the next one on. */
void rc_program_list(struct rc_program *p)
{
	if (p->listed)
		return;
	p->listed = true;
	p->next_listed = p->all->listed;
	p->all->listed = p;
}

void rc_program_heat(struct rc_program *p)
{
	if (p->over)
		return;
	rc_program_list(p);
	p->until_ns = p->all->now_ns + RC_QUIET_NS;
	if (p->hot)
		return;
	p->hot = true;
	rc_pump_disarm(&p->conn.pump);
}

void rc_program_drop_relay(struct rc_program *p)
{
	if (p->relay_channel >= 0)
		close(p->relay_channel);
	p->relay_channel = -1;
	if (p->relay.fd < 0)
		return;
	if (p->relayed)
		rc_program_forget(p, p->relay.fd);
	close(p->relay.fd);
	p->relay.fd = -1;
}

/* The element goes back: used again if the program said that it closes. */
void rc_program_finish(struct rc_program *p)
{
	if (p->over)
		return;
	p->over = true;
	p->hot = false;
	rc_program_list(p);
	p->all->ended++;
	rc_program_close_channel(p);
	rc_program_close_tcp(p);
	rc_program_drop_relay(p);
	forget_bells(p);
	engine_lock();
	connection_detach(rc_program_near(p),
			  connection_peer(rc_program_near(p)) == PEER_CLOSED &&
			      p->attached);
	engine_unlock();
}

void rc_program_signal(struct rc_program *p)
{
	connection_signal_data(rc_program_near(p));
	connection_signal_room(rc_program_near(p));
}

void rc_program_abort(struct rc_program *p)
{
	if (p->over)
		return;
	connection_end(rc_program_near(p), ENDS_ABORTS);
	rc_program_signal(p);
}

/* ---- events ---- */

static void hear_bell(struct rc_program *p)
{
	bool gone = bell_drain(rc_program_near(p)->bells.data);

	if (!bells_are_one(&rc_program_near(p)->bells))
		bell_drain(rc_program_near(p)->bells.room);
	p->gone |= gone;
	if (p->relayed)
		return;
	if (p->attached)
		rc_program_heat(p);
	else if (gone)
		rc_program_give_up(p);
	/* Nothing else: its last user rang it, after we had left that use. */
}

void rc_program_event(struct rc_watch *w, uint32_t events)
{
	struct rc_program *p = w->program;

	(void)events;
	if (p->over)
		return;
	switch (w->kind) {
	case RC_WATCH_CHANNEL:
		rc_program_hear_channel(p);
		break;
	case RC_WATCH_TCP:
		if (p->conn.state == RC_CONN_SETUP)
			rc_service_readable(&p->conn, p->all->now_ns);
		break;
	case RC_WATCH_BELL:
		hear_bell(p);
		break;
	case RC_WATCH_RELAY:
		rc_program_heat(p);
		break;
	case RC_WATCH_LISTENER:
	case RC_WATCH_DEATHS:
	case RC_WATCH_WIRE:
	case RC_WATCH_HELLO:
		break;
	}
}

/* ---- all ---- */

bool rc_programs_work(struct rc_programs *all, uint64_t *until)
{
	struct rc_program **at = &all->listed;
	bool moved = false;

	*until = UINT64_MAX;
	while (*at) {
		struct rc_program *p = *at;

		if (!p->over)
			moved |= rc_program_work(p);
		if (p->over || (p->attached && !p->hot)) {
			*at = p->next_listed;
			p->listed = false;
			continue;
		}
		if (p->until_ns < *until)
			*until = p->until_ns;
		at = &p->next_listed;
	}
	return moved;
}

bool rc_programs_are_hot(const struct rc_programs *all)
{
	for (const struct rc_program *p = all->listed; p; p = p->next_listed)
		if (p->hot && p->conn.state == RC_CONN_ACTIVE)
			return true;
	return false;
}

void rc_programs_sweep(struct rc_programs *all)
{
	struct rc_program **at = &all->first;

	while (all->ended && *at) {
		struct rc_program *p = *at;

		if (!p->over || p->listed) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		all->count--;
		all->ended--;
		free(p);
	}
}
