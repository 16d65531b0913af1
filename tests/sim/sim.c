/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim: the deterministic simulator of the link service; README says what it
 * does.
 *
 *   sim [-v] [-n call] seed [last seed]
 *
 * -v: the whole trace. -n: the call of verbs, or the allocation, of this number
 * fails, too; a number behind the last one is an error, status 3.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "tests/sim/sim.h"

#define EVENTS     65536
#define LINES      100
#define LINE       120
#define EVENTS_MAX 3000000
#define STUCK_NS   (200 * SIM_SECOND)
#define TIMES_MAX  100 /* that a service asks for the same time */

struct sim sim;

struct event {
	uint64_t at, order, n;
	enum sim_event what;
	void *of;
};

static struct event heap[EVENTS];
static size_t events;
static uint64_t order;
static char lines[LINES][LINE];
static uint64_t line_count;

/* ---- chance, trace, failure ---- */

uint64_t sim_random(uint64_t below)
{
	uint64_t x = sim.random += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return below ? x % below : 0;
}

void sim_trace(const char *format, ...)
{
	char *line = lines[line_count++ % LINES];
	va_list a;
	int n = snprintf(line, LINE, "%12.3f us  ", (double)sim.now / 1e3);

	va_start(a, format);
	vsnprintf(line + n, LINE - (size_t)n, format, a);
	va_end(a);
	if (sim.verbose)
		puts(line);
}

void sim_fail(const char *format, ...)
{
	uint64_t from = line_count > LINES ? line_count - LINES : 0;
	va_list a;

	for (uint64_t i = from; i < line_count && !sim.verbose; i++)
		puts(lines[i % LINES]);
	printf("seed %llu", (unsigned long long)sim.seed);
	if (sim.fail_at)
		printf(", call %llu failed", (unsigned long long)sim.fail_at);
	printf(": ");
	va_start(a, format);
	vprintf(format, a);
	va_end(a);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

bool sim_fails(const char *what)
{
	if (!sim.in_service || ++sim.calls != sim.fail_at)
		return false;
	sim.any_fault = true;
	sim_trace("%s fails, call %llu", what, (unsigned long long)sim.fail_at);
	return true;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return sim_fails("calloc") ? NULL : __real_calloc(count, size);
}

/* ---- events ---- */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void sim_at(uint64_t delay_ns, enum sim_event what, void *of, uint64_t n)
{
	struct event e = {sim.now + delay_ns, order++, n, what, of};
	size_t i = events++;

	if (events == EVENTS)
		sim_fail("too many events");
	while (i > 0 && is_before(&e, &heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = e;
}

static struct event take_first(void)
{
	struct event first = heap[0], last = heap[--events];
	size_t i = 0;

	for (;;) {
		size_t k = 2 * i + 1;

		if (k >= events)
			break;
		if (k + 1 < events && is_before(&heap[k + 1], &heap[k]))
			k++;
		if (is_before(&last, &heap[k]))
			break;
		heap[i] = heap[k];
		i = k;
	}
	heap[i] = last;
	return first;
}

/* ---- hosts ---- */

static void start_host(struct sim_host *h)
{
	uint8_t id[8] = {0, 0, 2, 0, 0, 0, 0, (uint8_t)(h->index + 1)};

	id[0] = (uint8_t)sim_random(256);
	id[1] = (uint8_t)++h->lives;
	h->poll_due = false;
	sim.in_service = false;
	h->service = rc_service_new(id);
	if (!h->service)
		abort();
	if (h->has_eid && rc_service_add_eid(h->service, "SIM") != 0)
		sim_fail("an EID is refused");
	sim.in_service = true;
}

static void make_host(int i, bool v1, bool v2, bool eid)
{
	struct sim_host *h = &sim.host[i];

	memset(h, 0, sizeof(*h));
	h->index = i;
	h->address.s6_addr[10] = h->address.s6_addr[11] = 0xff;
	h->address.s6_addr[12] = 10;
	h->address.s6_addr[15] = (uint8_t)(i + 1);
	h->has_v1 = v1;
	h->has_v2 = v2;
	h->has_eid = eid;
	start_host(h);
}

static void poll_host(struct sim_host *h, uint64_t life)
{
	if (life != h->lives)
		return;
	h->poll_due = false;
	rc_service_poll(h->service, sim.now);
	if (h->poll_due || !sim_verbs_has_completions(h))
		return;
	h->poll_due = true;
	sim_at(sim_random(20 * SIM_US), SIM_POLL, h, h->lives);
}

/* Its programs go with it, as their elements are the service's. */
static void restart_host(struct sim_host *h)
{
	sim_trace("host %d dies and begins anew", h->index);
	sim.any_fault = true;
	for (unsigned i = 0; i < sim.ends; i++) {
		struct sim_end *e = &sim.end[i];

		if (e->host != h || !e->began || e->over)
			continue;
		if (e->conn.state == RC_CONN_SETUP)
			sim_at(0, SIM_RESET, e->tcp, 0);
	}
	rc_service_free(h->service);
	for (unsigned i = 0; i < sim.ends; i++)
		if (sim.end[i].host == h && sim.end[i].began)
			sim_near_drop(&sim.end[i]);
	start_host(h);
}

static uint64_t next_time(struct sim_host **of)
{
	uint64_t due = UINT64_MAX;

	for (int i = 0; i < SIM_HOSTS; i++) {
		struct sim_host *h = &sim.host[i];
		uint64_t one = rc_service_next_ns(h->service);

		if (one >= due)
			continue;
		due = one;
		*of = h;
	}
	return due;
}

/* ---- a run ---- */

static void act(const struct event *e)
{
	switch (e->what) {
	case SIM_DELIVER:
		sim_verbs_deliver(e->of);
		break;
	case SIM_ACK:
		sim_verbs_ack(e->of, e->n);
		break;
	case SIM_POLL:
		poll_host(e->of, e->n);
		break;
	case SIM_BEGIN:
		sim_near_begin(e->of);
		break;
	case SIM_STEP:
		sim_near_step(e->of);
		break;
	case SIM_WORK:
		sim_near_work(e->of);
		break;
	case SIM_ARRIVE:
		sim_carrier_arrive(e->of, e->n);
		break;
	case SIM_RESET:
		sim_carrier_reset(e->of);
		break;
	case SIM_RESTART:
		restart_host(e->of);
		break;
	}
}

/* The next thing that happens. False: nothing more, until then. */
static bool step(uint64_t until)
{
	static uint64_t same;
	struct sim_host *h = NULL;
	uint64_t due = next_time(&h);

	if (events > 0 && heap[0].at <= due) {
		struct event e;

		if (heap[0].at > until)
			return false;
		e = take_first();
		sim.now = e.at;
		act(&e);
		same = 0;
	} else {
		if (due == UINT64_MAX || due > until)
			return false;
		if (due > sim.now)
			same = 0;
		else if (++same > TIMES_MAX)
			sim_fail("host %d asks for the same time for ever",
				 h->index);
		sim.now = due > sim.now ? due : sim.now;
		rc_service_time(h->service, sim.now);
	}
	for (unsigned i = 0; i < sim.ends; i++)
		sim_near_check(&sim.end[i]);
	sim_near_sweep();
	return true;
}

static void run_to_end(void)
{
	uint64_t count = 0;

	while (!sim_near_is_done()) {
		if (!step(STUCK_NS)) {
			for (unsigned i = 0; i < sim.ends; i++)
				if (!sim.end[i].over)
					sim_fail(
					    "end %u is stuck: state %d, "
					    "wrote %llu of %llu, got %llu "
					    "of %llu%s, peer %d",
					    i, (int)sim.end[i].conn.state,
					    (unsigned long long)sim.end[i]
						.wrote,
					    (unsigned long long)sim.end[i].plan,
					    (unsigned long long)sim.end[i].got,
					    (unsigned long long)sim.end[i]
						.other->wrote,
					    sim.end[i].closed ? ", closed" : "",
					    (int)sim.end[i].peer);
		}
		if (++count > EVENTS_MAX)
			sim_fail("too much happens");
	}
}

/* Link groups end by being idle, or with their service. */
static void end_hosts(void)
{
	if (sim_chance(30)) {
		while (step(sim.now + 700 * SIM_SECOND))
			;
		for (int i = 0; i < SIM_HOSTS; i++)
			if (!rc_service_is_done(sim.host[i].service))
				sim_fail("host %d keeps a group that is idle",
					 i);
	}
	for (int i = 0; i < SIM_HOSTS; i++)
		rc_service_end(sim.host[i].service, sim.now);
	while (step(sim.now + 20 * SIM_SECOND))
		;
	for (int i = 0; i < SIM_HOSTS; i++) {
		if (!rc_service_is_done(sim.host[i].service))
			sim_fail("host %d does not come to its end", i);
		rc_service_free(sim.host[i].service);
	}
}

static void run_seed(uint64_t seed)
{
	uint64_t fail_at = sim.fail_at;
	bool verbose = sim.verbose, declines;

	memset(&sim, 0, offsetof(struct sim, host));
	sim.seed = sim.random = seed;
	sim.fail_at = fail_at;
	sim.verbose = verbose;
	sim.now = SIM_SECOND;
	sim.in_service = true;
	events = 0;
	line_count = 0;
	sim_verbs_begin();
	sim.link_faults = sim_chance(30);
	declines = sim_chance(10);
	for (int i = 0; i < SIM_HOSTS; i++)
		make_host(i, !declines || sim_chance(50),
			  declines ? sim_chance(50) : true, sim_chance(70));
	sim_near_make(1 + (unsigned)sim_random(sim_chance(80) ? 6 : 28));
	if (sim_chance(15))
		sim_at(sim_random(sim_chance(50) ? 20 * SIM_MS : SIM_SECOND),
		       SIM_RESTART, &sim.host[sim_random(2)], 0);
	run_to_end();
	end_hosts();
	sim_near_end();
	sim_verbs_end();
}

static _Noreturn void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: sim [-v] [-n call] seed [last seed]\n");
	exit(status);
}

int main(int argc, char **argv)
{
	uint64_t first, last;
	int o;

	while ((o = getopt(argc, argv, "hvn:")) != -1) {
		if (o == 'v')
			sim.verbose = true;
		else if (o == 'n')
			sim.fail_at = strtoull(optarg, NULL, 10);
		else
			usage(o == 'h' ? 0 : 2);
	}
	if (argc - optind < 1 || argc - optind > 2)
		usage(2);
	first = strtoull(argv[optind], NULL, 10);
	last = argc - optind > 1 ? strtoull(argv[optind + 1], NULL, 10) : first;
	real_init();
	process_init();
	if (fdtable_init() < 0)
		return 2;
	for (uint64_t seed = first; seed <= last; seed++) {
		run_seed(seed);
		if (sim.fail_at && sim.calls < sim.fail_at)
			return 3;
	}
	printf("%llu seeds: %llu ends on SMC, %llu on TCP, %llu broken, "
	       "%llu reset; %llu bytes; %llu calls that can fail\n",
	       (unsigned long long)last - first + 1,
	       (unsigned long long)sim.smc, (unsigned long long)sim.fallbacks,
	       (unsigned long long)sim.broken, (unsigned long long)sim.resets,
	       (unsigned long long)sim.bytes, (unsigned long long)sim.calls);
	return 0;
}
