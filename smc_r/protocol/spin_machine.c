/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* spin_machine: how long a wait may stay awake before it sleeps. */
#include "smc_r/protocol/spin_machine.h"

#define SHORT_WAIT_NS 120000u

/* A wait that yields is over by then, however much of it was others'. */
#define WALL_NS 2000000u

#define FIRST_US 20u
#define LEAST_US 2u
#define MORE_US  5u
#define MOST_US  50u

/* Spins of full length in a row, all in vain, before there are none for some
 * waits; and how many follow those. */
#define VAIN_MAX    8u
#define VAIN_TRIES  2u
#define PAUSE_WAITS 16u
#define PAUSES_MAX  4u /* doublings */

/* ---- the score ---- */

/* A score, unpacked. */
struct learnt {
	uint32_t us;
	uint32_t vain;   /* in a row */
	uint32_t pauses; /* in a row */
	uint32_t skip;   /* waits left of this one */
};

static struct learnt unpack(uint32_t score)
{
	struct learnt l = {score & 0x3f, score >> 6 & 0xf, score >> 10 & 0xf,
			   score >> 14};

	if (score == 0)
		l.us = FIRST_US;
	return l;
}

/* Never 0, as us is not. */
static uint32_t pack(const struct learnt *l)
{
	return l->us | l->vain << 6 | l->pauses << 10 | l->skip << 14;
}

uint64_t spin_budget(uint32_t *score, uint32_t limit_us)
{
	struct learnt l = unpack(*score);

	if (limit_us == 0)
		return 0;
	if (l.skip > 0) {
		l.skip--;
		*score = pack(&l);
		return 0;
	}
	*score = pack(&l);
	return (l.us < limit_us ? l.us : limit_us) * 1000u;
}

static void spin_more(struct learnt *l)
{
	l->us = l->us + MORE_US < MOST_US ? l->us + MORE_US : MOST_US;
}

void spin_score_hit(uint32_t *score)
{
	struct learnt l = unpack(*score);

	spin_more(&l);
	l.vain = l.pauses = 0;
	*score = pack(&l);
}

/* What comes at a pace of its own comes no sooner for being awaited awake. */
static void note_vain(struct learnt *l)
{
	if (l->us < MOST_US || ++l->vain < VAIN_MAX)
		return;
	l->skip = PAUSE_WAITS << l->pauses;
	l->vain = VAIN_MAX - VAIN_TRIES;
	if (l->pauses < PAUSES_MAX)
		l->pauses++;
}

/*
 * A short wait that ended in sleep all the same is no sign against spinning:
 * two ends that both sleep answer each other slowly only because they do. A
 * long one is; but never so low that a change would not be noticed. It is none
 * beside a thread that computes: there a wait is long as the peer's processor
 * is taken from it as well, which says nothing of the time when it is back.
 */
void spin_score_missed(uint32_t *score, uint64_t waited_ns, bool contended)
{
	struct learnt l = unpack(*score);

	if (contended) {
		spin_more(&l);
	} else if (waited_ns < SHORT_WAIT_NS) {
		note_vain(&l);
		spin_more(&l);
	} else {
		l.us = l.us / 2 > LEAST_US ? l.us / 2 : LEAST_US;
		l.vain = 0;
	}
	*score = pack(&l);
}

/* ---- one spin ---- */

bool spin_starts(struct spin *s, const struct contention *c, uint64_t until_ns,
		 uint64_t now)
{
	s->now_ns = now;
	if (s->shares && contention_is_bad(c, now))
		return false;
	s->start_ns = now;
	s->until_ns = until_ns < now + WALL_NS ? until_ns : now + WALL_NS;
	return true;
}

enum spin_step spin_goes_on(const struct spin *s, const struct contention *c)
{
	if (s->spent_ns >= s->budget_ns || s->now_ns >= s->until_ns ||
	    (s->shares && contention_is_bad(c, s->now_ns)))
		return SPIN_ENDS;
	return contention_should_yield(c, s->now_ns, s->kept_ns, s->shares)
		   ? SPIN_YIELDS
		   : SPIN_GOES_ON;
}

void spin_waited(struct spin *s, struct contention *c, uint64_t now)
{
	uint64_t took = now - s->now_ns;

	s->now_ns = now;
	s->spent_ns += took;
	s->kept_ns += took;
	if (took > CONTENTION_LATE_NS)
		contention_note_yield(c, took, now);
}

/* What others took is not counted. */
void spin_yielded(struct spin *s, struct contention *c, uint64_t now)
{
	uint64_t took = now - s->now_ns;

	s->now_ns = now;
	contention_note_yield(c, took, now);
	s->spent_ns +=
	    took < CONTENTION_NOBODY_NS ? took : CONTENTION_NOBODY_NS;
	s->kept_ns = 0;
}
