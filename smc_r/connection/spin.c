/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* spin: how long a wait may stay awake before it sleeps. */
#include "smc_r/connection/spin.h"

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/contention.h"
#include "smc_r/status/segment.h"

#define SHORT_WAIT_NS 120000u

/* A wait that yields is over by then, however much of it was others'. */
#define WALL_NS 2000000u

static __thread struct contention contention;

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

static uint64_t spin_budget(uint32_t *score)
{
	struct learnt l = unpack(*score);

	if (process.spin_us == 0)
		return 0;
	if (l.skip > 0) {
		l.skip--;
		*score = pack(&l);
		return 0;
	}
	*score = pack(&l);
	return (l.us < process.spin_us ? l.us : process.spin_us) * 1000u;
}

bool spin_begin(struct spin *s, uint32_t *score, bool shares, uint64_t until_ns)
{
	*s = (struct spin){.budget_ns = spin_budget(score), .shares = shares};
	if (s->budget_ns == 0)
		return false;
	s->now_ns = sys_now_ns();
	if (shares && contention_is_bad(&contention, s->now_ns))
		return false;
	s->start_ns = s->now_ns;
	s->until_ns = s->start_ns + WALL_NS;
	if (until_ns < s->until_ns)
		s->until_ns = until_ns;
	return true;
}

static void yield(struct spin *s)
{
	uint64_t before = s->now_ns;
	uint64_t took;

	SYS_CALL3(SYS_sched_yield, 0, 0, 0);
	s->now_ns = sys_now_ns();
	took = s->now_ns - before;
	contention_note_yield(&contention, took, s->now_ns);
	s->spent_ns +=
	    took < CONTENTION_NOBODY_NS ? took : CONTENTION_NOBODY_NS;
	s->kept_ns = 0;
}

bool spin_step(struct spin *s)
{
	uint64_t before = s->now_ns;
	uint64_t took;

	sys_relax();
	s->now_ns = sys_now_ns();
	took = s->now_ns - before;
	s->spent_ns += took;
	s->kept_ns += took;
	if (took > CONTENTION_LATE_NS)
		contention_note_yield(&contention, took, s->now_ns);
	if (contention_should_yield(&contention, s->now_ns, s->kept_ns,
				    s->shares))
		yield(s);
	return s->spent_ns < s->budget_ns && s->now_ns < s->until_ns &&
	       !(s->shares && contention_is_bad(&contention, s->now_ns));
}

static void spin_more(struct learnt *l)
{
	l->us = l->us + MORE_US < MOST_US ? l->us + MORE_US : MOST_US;
}

void spin_hit(uint32_t *score)
{
	struct learnt l = unpack(*score);

	segment_tally(spin_hits);
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
void spin_missed(uint32_t *score, uint64_t waited_ns)
{
	struct learnt l = unpack(*score);

	segment_count(spin_misses);
	if (contention_is_bad(&contention, sys_now_ns())) {
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
