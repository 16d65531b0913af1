/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * generate: a script from a seed.
 */
#include "generate.h"

#include <stddef.h>
#include <string.h>

#include "model.h"

struct kind {
	void (*write)(struct model *m, struct connection *c, int i);
	unsigned weight;
};

static const struct kind kinds[] = {
    {write_send, 24},
    {write_recv, 24},
    {write_splice, 6},
    {write_probe, 8},
    {write_nonblock, 4},
    {write_poll, 10},
    {write_epoll, 16},
    {write_blocked_recv, 8},
    {write_blocked_wait, 5},
    {write_signal, 3},
    {write_timeout, 1},
    {write_transfer, 1},
    {write_shutdown, 2},
    {write_dup, 2},
    {write_child, 3},
    {write_pass, 1},
    {write_cat, 1},
    {write_finish, 5},
    {write_fill, 1},
    {write_alias, 3},
    {write_bad, 2},
    {write_many, 2},
    {write_option, 2},
    {write_low_water, 1},
    {write_urgent, 1},
    {write_async, 1},
    {write_strange, 3},
    {write_changed_wait, 3},
    {write_refused, 1},
    /* From GENERATE_MORE on. */
    {write_flags, 8},
    {write_misplaced, 2},
    {write_reconnect, 1},
    {write_early, 2},
    {write_flight, 2},
    {write_shut_asleep, 1},
    {write_two_peeks, 2},
    {write_ticking, 1},
    {write_sigio, 1},
    {write_masked, 2},
    {write_send_limit, 1},
    {write_rearm, 4},
    {write_stdio, 1},
    {write_requests, 2},
    {write_pump, 4},
    /* From GENERATE_MOST on. */
    {write_gone_asleep, 4},
    {write_part_reset, 1},
    /* From GENERATE_FRESH on. */
    {write_fresh, 20},
    {write_request_end, 3},
    {write_peek_offset, 2},
    {write_timed, 3},
    {write_two_waiters, 3},
    /* From GENERATE_ALL on. */
    {write_beginning, 60},
    {write_full_queue, 1},
};

#define KINDS       (sizeof(kinds) / sizeof(*kinds))
#define KINDS_FIRST 29 /* what the seeds before GENERATE_MORE know */
#define KINDS_MORE  44 /* and those before GENERATE_MOST */
#define KINDS_MOST  46 /* and those before GENERATE_FRESH */
#define KINDS_FRESH 51 /* and those before GENERATE_ALL */

static void write_start(struct model *m)
{
	for (char actor = 'A'; actor <= 'B'; actor++) {
		line(m, "%c0 thread 1", actor);
		line(m, "%c0 thread 2", actor);
		line(m, "%c0 epnew e%c", actor, actor);
	}
}

/* Each seed likes other kinds of steps, so that rare ones meet. */
static void weights_choose(struct model *m, unsigned *weights, size_t known)
{
	memset(weights, 0, KINDS * sizeof(*weights));
	for (size_t k = 0; k < known; k++)
		weights[k] = kinds[k].weight * (1 + pick(m, 4) * pick(m, 4));
}

static const struct kind *kind_choose(struct model *m, const unsigned *weights)
{
	unsigned total = 0, at;

	for (size_t k = 0; k < KINDS; k++)
		total += weights[k];
	at = pick(m, total);
	for (size_t k = 0; k < KINDS; k++) {
		if (at < weights[k])
			return &kinds[k];
		at -= weights[k];
	}
	return &kinds[0];
}

static void write_end(struct model *m)
{
	for (int k = 0; k < CONNECTIONS; k++)
		if (m->connections[k].used)
			write_finish(m, &m->connections[k], (int)pick(m, 2));
}

static size_t kinds_known(unsigned long seed)
{
	if (seed >= GENERATE_ALL)
		return KINDS;
	if (seed >= GENERATE_FRESH)
		return KINDS_FRESH;
	if (seed >= GENERATE_MOST)
		return KINDS_MOST;
	return seed >= GENERATE_MORE ? KINDS_MORE : KINDS_FIRST;
}

void generate(unsigned long seed, FILE *script)
{
	struct model m = {.out = script, .more = seed >= GENERATE_MORE};
	unsigned weights[KINDS], steps, crowd;

	m.random = (seed + 1) * 0x9e3779b97f4a7c15u;
	for (int i = 0; i < 4; i++)
		pick(&m, 2);
	weights_choose(&m, weights, kinds_known(seed));
	steps = 10 + pick(&m, 50);
	crowd = 1 + pick(&m, CONNECTIONS);
	line(&m, "# seed %lu", seed);
	write_start(&m);
	while (steps--) {
		struct connection *c = &m.connections[pick(&m, crowd)];

		if (!c->used)
			write_connect(&m, c);
		else
			kind_choose(&m, weights)
			    ->write(&m, c, (int)pick(&m, 2));
	}
	if (chance(&m, 15))
		write_kill(&m, chance(&m, 50) ? 'A' : 'B');
	else
		write_end(&m);
}
