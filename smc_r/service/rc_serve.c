/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_serve: the loop of the link service. */
#include "smc_r/service/rc_serve.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/settings.h"
#include "smc_r/service/rc_hello.h"

#define EVENTS       64
#define LOOKS_A_CALL 16 /* at what is hot, between two epoll_wait() */
#define END_NS       1000000000ull /* peers are told in this time */
#define REST_MS      60000         /* at most */

struct loop_state {
	struct rc_programs all;
	int listener;
	int deaths; /* linkgroup_deaths(), as it is watched */
	struct rc_watch listener_watch, deaths_watch, wire_watch;
	unsigned looks;
};

static void watch(struct loop_state *l, int fd, struct rc_watch *w,
		  enum rc_watch_kind kind)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = w};

	w->kind = kind;
	epoll_ctl(l->all.epoll, EPOLL_CTL_ADD, fd, &e);
}

/* A process that is killed leaves link groups that have no connection. */
static void watch_deaths(struct loop_state *l)
{
	int fd = linkgroup_deaths();

	if (fd == l->deaths)
		return;
	l->deaths = fd;
	if (fd >= 0)
		watch(l, fd, &l->deaths_watch, RC_WATCH_DEATHS);
}

static void act(struct loop_state *l, const struct epoll_event *e)
{
	struct rc_watch *w = e->data.ptr;

	switch (w->kind) {
	case RC_WATCH_LISTENER:
		rc_hello_accept(l->listener, &l->all);
		break;
	case RC_WATCH_DEATHS:
		linkgroup_deaths_heard();
		break;
	case RC_WATCH_WIRE:
		rc_service_heard(l->all.service, l->all.now_ns);
		break;
	case RC_WATCH_HELLO:
		rc_hello_event(w);
		break;
	case RC_WATCH_CHANNEL:
	case RC_WATCH_TCP:
	case RC_WATCH_BELL:
	case RC_WATCH_RELAY:
		rc_program_event(w, e->events);
		break;
	}
}

static void wait_for_events(struct loop_state *l, int ms)
{
	struct epoll_event e[EVENTS];
	sigset_t none;
	int n;

	sigemptyset(&none);
	n = epoll_pwait(l->all.epoll, e, EVENTS, ms, &none);

	l->all.now_ns = sys_now_ns();
	for (int i = 0; i < n; i++)
		act(l, &e[i]);
}

static int ms_until(uint64_t now, uint64_t until)
{
	uint64_t ms;

	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	ms = (until - now) / 1000000u + 1;
	return ms > REST_MS ? REST_MS : (int)ms;
}

static void rest(struct loop_state *l, uint64_t until)
{
	int ms = linkgroup_rest_ms();
	int due = ms_until(l->all.now_ns, until);

	if (ms == 0)
		linkgroup_rest();
	watch_deaths(l);
	if (ms > 0 && (due < 0 || ms < due))
		due = ms;
	/* What completed before is taken, or tells of itself. */
	if (!rc_service_arm(l->all.service))
		due = due < 0 || due > 1 ? 1 : due;
	if (rc_service_poll(l->all.service, l->all.now_ns) > 0)
		due = 0;
	wait_for_events(l, due);
}

/* One round: has anything moved? *until: the next that is due. */
static bool look(struct loop_state *l, uint64_t *until)
{
	struct rc_service *s = l->all.service;
	bool moved;
	uint64_t next;

	l->all.now_ns = sys_now_ns();
	moved = rc_service_poll(s, l->all.now_ns) > 0;
	moved |= rc_programs_work(&l->all, until);
	next = rc_service_next_ns(s);
	if (next <= l->all.now_ns) {
		rc_service_time(s, l->all.now_ns);
		next = rc_service_next_ns(s);
	}
	if (next < *until)
		*until = next;
	return moved;
}

static void round_of(struct loop_state *l)
{
	uint64_t until;
	bool moved = look(l, &until);

	rc_programs_sweep(&l->all);
	rc_hello_sweep(&l->all);
	if (!moved && !rc_programs_are_hot(&l->all)) {
		rest(l, until);
		return;
	}
	if (!moved)
		sched_yield();
	if (l->looks++ % LOOKS_A_CALL == 0)
		wait_for_events(l, 0);
}

/* Programs hear of the end by their bells. */
static void end(struct loop_state *l)
{
	uint64_t until = sys_now_ns() + END_NS;

	rc_service_end(l->all.service, sys_now_ns());
	while (!rc_service_is_done(l->all.service) && sys_now_ns() < until) {
		l->all.now_ns = sys_now_ns();
		rc_service_poll(l->all.service, l->all.now_ns);
		sys_nap(100000);
	}
}

/* A program does not wait for so long as it takes to open a device. */
static void open_devices(struct rc_service *service)
{
	struct snapshot settings = {.address_count = 0};
	const struct snapshot *s;
	uint32_t reason;

	engine_lock();
	s = settings_now(&reason);
	if (s)
		settings = *s;
	engine_unlock();
	for (unsigned i = 0; i < settings.address_count; i++)
		rc_service_serves(service, &settings.addresses[i]);
}

int rc_serve(int listener, struct rc_service *service,
	     const volatile sig_atomic_t *stop)
{
	struct loop_state l = {.listener = listener, .deaths = -1};

	l.all.service = service;
	l.all.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l.all.epoll < 0)
		return errno;
	watch(&l, listener, &l.listener_watch, RC_WATCH_LISTENER);
	watch(&l, rc_service_fd(service), &l.wire_watch, RC_WATCH_WIRE);
	open_devices(service);
	while (!*stop)
		round_of(&l);
	end(&l);
	close(l.all.epoll);
	return 0;
}
