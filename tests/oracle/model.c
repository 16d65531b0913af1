/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model: what a generated script knows of its connections.
 */
#include "model.h"

#include <stdarg.h>
#include <string.h>

unsigned pick(struct model *m, unsigned below)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return (unsigned)((m->random * 0x2545f4914f6cdd1du) >> 33) % below;
}

bool chance(struct model *m, unsigned percent)
{
	return pick(m, 100) < percent;
}

const char *pick_word(struct model *m, const char *const *words, unsigned count)
{
	return words[pick(m, count)];
}

void step(struct model *m, const struct end *e, const char *format, ...)
{
	va_list args;

	fprintf(m->out, "%c%d ", e->actor, e->task);
	va_start(args, format);
	vfprintf(m->out, format, args);
	va_end(args);
	fputc('\n', m->out);
}

void line(struct model *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(m->out, format, args);
	va_end(args);
	fputc('\n', m->out);
}

void arrive(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	bool ended = c->ends[!i].fin_sent;

	if (e->unread && ended)
		step(m, e, "await %s bytes=%u events=rdhup", e->name,
		     e->unread);
	else if (e->unread)
		step(m, e, "await %s bytes=%u", e->name, e->unread);
	else if (ended)
		step(m, e, "await %s events=rdhup", e->name);
}

void sent(struct end *to, unsigned bytes)
{
	to->unread += bytes;
	to->pieces += 3;
}

void taken(struct end *by, unsigned bytes)
{
	by->unread -= bytes < by->unread ? bytes : by->unread;
	if (!by->unread)
		by->pieces = 0;
}

void finish_sending(struct model *m, struct end *e)
{
	/* What comes when both halves are shut is met by a reset. */
	if (e->read_shut && e->unread)
		step(m, e, "await %s bytes=%u", e->name, e->unread);
	step(m, e, "shutdown %s wr", e->name);
	step(m, e, "outq %s", e->name);
	e->fin_sent = true;
}

void set_blocking(struct model *m, struct end *e)
{
	if (e->nonblock)
		step(m, e, "nonblock %s 0", e->name);
	e->nonblock = false;
}

unsigned next_pattern(struct model *m)
{
	return ++m->pattern;
}

int blocking_task(const struct end *e)
{
	return e->task ? e->task : 1;
}

bool is_quiet(const struct connection *c, int i)
{
	return !c->ends[i].unread && !c->ends[!i].fin_sent &&
	       !c->ends[i].read_shut;
}

bool can_send(const struct connection *c, int i)
{
	const struct end *peer = &c->ends[!i];

	/* An end that finished both ways answers data with a reset. */
	return !c->ends[i].fin_sent && !(peer->fin_sent && peer->read_shut);
}

bool same_lane(const struct end *a, const struct end *b)
{
	return a->actor == b->actor && a->task == b->task;
}

void end_make(struct model *m, struct end *e, char actor, char letter)
{
	*e = (struct end){.actor = actor};
	snprintf(e->name, sizeof(e->name), "%c%u", letter, m->serial);
}

char other_actor(char actor)
{
	return (char)('A' + 'B' - actor);
}

const char *family(const char *address)
{
	return strchr(address, ':') ? "inet6" : "inet";
}

void read_all(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	if (e->unread)
		step(m, e, "recv %s %u", e->name, e->unread);
	taken(e, e->unread);
}

void close_end(struct model *m, struct end *e, bool exits)
{
	if (!e->task || !exits)
		step(m, e, "close %s", e->name);
	if (e->task) {
		step(m, e, "exit 0");
		line(m, "%c0 reap", e->actor);
	}
}

void forget(struct connection *c)
{
	c->used = false;
}
