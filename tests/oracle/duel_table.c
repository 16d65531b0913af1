/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_table: chance, and what both sides know of a game.
 */
#include "duel.h"

unsigned pick(struct random *r, unsigned below)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (unsigned)((r->state * 0x2545f4914f6cdd1du) >> 33) % below;
}

bool chance(struct random *r, unsigned percent)
{
	return pick(r, 100) < percent;
}

unsigned some(struct random *r, const unsigned *bits, unsigned count)
{
	unsigned all = 0, n = pick(r, 4);

	while (n--)
		all |= bits[pick(r, count)];
	return all;
}

struct random random_of(uint64_t seed, uint64_t number)
{
	struct random r = {(seed + 1) * 0x9e3779b97f4a7c15u ^
			   (number + 1) * 0xd1342543de82ef95u};

	for (int i = 0; i < 6; i++)
		pick(&r, 2);
	return r;
}

int in(const struct game *g, int slot)
{
	return g->table->slots[g->side][slot];
}

void put(struct game *g, int slot, int fd)
{
	if (fd >= 0)
		g->table->slots[g->side][slot] = fd;
}

int socket_slot(struct game *g, struct random *r)
{
	if (chance(r, 3))
		return (int)pick(r, SLOTS);
	if (chance(r, 12))
		return 4 + (int)pick(r, 2);
	return (int)pick(r, g->crowd);
}

int any_slot(struct game *g, struct random *r)
{
	return chance(r, 40) ? (int)pick(r, SLOTS) : socket_slot(g, r);
}

static bool ours(int fd)
{
	return fd >= 0 && fd < FD_MAX;
}

void known_as(struct game *g, int fd, unsigned connection, int end)
{
	if (!ours(fd))
		return;
	g->table->connection[g->side][fd] = (uint16_t)connection;
	g->table->end[g->side][fd] = (uint8_t)end;
}

void known_copy(struct game *g, int from, int to)
{
	if (ours(from))
		known_as(g, to, g->table->connection[g->side][from],
			 g->table->end[g->side][from]);
}

unsigned connection_of(const struct game *g, int fd)
{
	return ours(fd) ? g->table->connection[g->side][fd] : 0;
}

size_t sendable(const struct game *g, int fd, size_t size)
{
	unsigned c = connection_of(g, fd);
	int to = ours(fd) ? !g->table->end[g->side][fd] : 0;

	if (g->table->pieces[c][to] > PIECES_MAX ||
	    g->table->flight[c][to] >= FLIGHT_MAX)
		return 0;
	if (g->table->flight[c][to] + size > FLIGHT_MAX)
		return FLIGHT_MAX - g->table->flight[c][to];
	return size;
}

void was_sent(struct game *g, int fd, ssize_t n)
{
	unsigned c = connection_of(g, fd);

	if (n <= 0 || !c)
		return;
	g->table->flight[c][!g->table->end[g->side][fd]] += (uint32_t)n;
	g->table->pieces[c][!g->table->end[g->side][fd]]++;
}

void was_taken(struct game *g, int fd, ssize_t n)
{
	unsigned c = connection_of(g, fd);
	uint32_t *left;

	if (n <= 0 || !c)
		return;
	left = &g->table->flight[c][g->table->end[g->side][fd]];
	*left -= (uint32_t)n < *left ? (uint32_t)n : *left;
	if (!*left)
		g->table->pieces[c][g->table->end[g->side][fd]] = 0;
}

void pattern(const struct game *g, unsigned char *bytes, size_t size)
{
	uint32_t x = (uint32_t)(g->move * 7919 + g->phase * 104729 + 1);

	for (size_t i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(x >> 24);
	}
}

uint32_t sum(const void *bytes, size_t size)
{
	uint32_t s = 2166136261u;

	for (size_t i = 0; i < size; i++)
		s = (s ^ ((const unsigned char *)bytes)[i]) * 16777619u;
	return s;
}
