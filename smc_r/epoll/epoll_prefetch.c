/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_prefetch: see epoll_prefetch.h. */
#include "smc_r/epoll/epoll_prefetch.h"

#include "smc_r/os/lock.h"

#define LINE 64

static void fetch(const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += LINE)
		__builtin_prefetch((const char *)from + i, 0, 3);
}

static void fetch_to_write(const void *line)
{
	__builtin_prefetch(line, 1, 3);
}

/* Each step needs what the one before it asked for, so every step is taken for
 * all members before the next. */
static void fetch_member(const struct epoll_member *m)
{
	fetch(m, offsetof(struct epoll_member, next));
}

static void fetch_connection(const struct epoll_member *m)
{
	fetch(m->connection, offsetof(struct connection, control));
}

static void fetch_cursors(const struct epoll_member *m)
{
	const struct connection *c = m->connection;

	if (!c->rmb)
		return;
	fetch(&c->slot->phase, LINE);
	fetch_to_write(&c->slot->rx);
	fetch_to_write(&c->slot->tx);
	fetch(&c->in_producer->cursor, LINE);
	fetch(&c->in_producer->flags, LINE);
	fetch_to_write(&c->out_producer->cursor);
	fetch(&c->out_producer->flags, LINE);
	fetch_to_write(&c->in_consumer->cursor);
}

/* A conversation goes on where it is: at the beginning. */
static uint8_t *next_byte(const struct rings *r)
{
	return r->ring[0].at + r->start;
}

/* The next bytes of either direction. */
static void fetch_rings(const struct epoll_member *m)
{
	const struct connection *c = m->connection;

	if (!c->rmb)
		return;
	fetch(next_byte(&c->in), LINE);
	fetch_to_write(next_byte(&c->out));
}

void epoll_prefetch(struct epoll_member *const _Atomic *members, uint64_t bits)
{
	static void (*const steps[])(const struct epoll_member *) = {
	    fetch_member,
	    fetch_connection,
	    fetch_cursors,
	    fetch_rings,
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (uint64_t left = bits; left; left &= left - 1) {
			const struct epoll_member *m =
			    relaxed_load(&members[__builtin_ctzll(left)]);

			if (m && relaxed_load(&m->live))
				steps[i](m);
		}
}
