/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registry_fuzz: a registry in which any process of the user may have written
 * anything, at any time.
 *
 * Input: steps; each is what to do, what with, and its own bytes (enum step).
 * Whatever stands in memory, only processes are asked for that can be one, and
 * a Proposal fits where it goes.
 */
#include "smc_r/peer/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/os/sys.h"

#define SELF      50
#define LIVING    60 /* numbers from SELF up to it */
#define ROOM      4  /* that many of both kinds are poked */
#define STEPS_MAX 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	STEP_POKE_LISTENER, /* struct listener_entry */
	STEP_POKE_ENTRY,    /* struct entry up to its Proposal */
	STEP_POKE_OFFERS,
	STEP_LISTEN,
	STEP_UNLISTEN,
	STEP_HAS_LISTENER,
	STEP_UNLISTEN_ALL,
	STEP_OFFER,
	STEP_WITHDRAW,
	STEP_DONE,
	STEP_CLAIM,
	STEP_SWEEP,
	STEP_FORK,
	STEP_FORK_FAILED,
	STEP_COUNT,
};

static void must(int holds)
{
	if (!holds)
		abort();
}

static long look_for(long pid)
{
	must(pid > 0);
	return pid >= SELF && pid <= LIVING ? 0 : -ESRCH;
}

/* The file under test is taken in whole, so that it finds other processes. It
 * makes no other call with three arguments. */
#undef SYS_CALL3
#define SYS_CALL3(n, pid, b, c) look_for(pid)
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "smc_r/peer/registry.c"

struct reader {
	const uint8_t *at;
	size_t left;
};

static void take(struct reader *r, void *out, size_t n)
{
	size_t there = n < r->left ? n : r->left;

	memset(out, 0, n);
	memcpy(out, r->at, there);
	r->at += there;
	r->left -= there;
}

static void claim(uint64_t cookie)
{
	char *proposal = malloc(REGISTRY_PROPOSAL_MAX);

	must(proposal != NULL);
	must(claim_cookie(cookie, proposal) <= REGISTRY_PROPOSAL_MAX);
	free(proposal);
}

static void offer(uint64_t cookie, uint8_t bytes)
{
	static const uint8_t proposal[256];
	uint32_t entry = registry_offer(cookie, proposal, bytes);

	must(entry <= ENTRIES && (!entry || bytes <= REGISTRY_PROPOSAL_MAX));
	if (entry)
		must(!registry_is_claimed(entry));
}

static void poke(enum step step, uint8_t which, struct reader *r)
{
	if (step == STEP_POKE_LISTENER)
		take(r, &registry->listeners[which % ROOM],
		     sizeof(struct listener_entry));
	else if (step == STEP_POKE_ENTRY)
		take(r, &registry->entries[which % ROOM],
		     offsetof(struct entry, proposal));
	else
		atomic_store(&registry->offers, which);
}

static void fork_as(bool succeeds)
{
	registry_before_fork();
	if (!succeeds) {
		registry_fork_failed();
		return;
	}
	process.pid = process.pid < LIVING ? process.pid + 1 : SELF;
	registry_forked();
}

static void run(enum step step, uint8_t which, struct reader *r)
{
	uint32_t entry = which % ROOM + 1;

	switch (step) {
	case STEP_POKE_LISTENER:
	case STEP_POKE_ENTRY:
	case STEP_POKE_OFFERS:
		poke(step, which, r);
		break;
	case STEP_LISTEN:
		registry_listen(which);
		break;
	case STEP_UNLISTEN:
		registry_unlisten(which);
		break;
	case STEP_HAS_LISTENER:
		registry_has_listener(which);
		break;
	case STEP_UNLISTEN_ALL:
		registry_unlisten_all();
		break;
	case STEP_OFFER:
		offer(which % ROOM, which);
		break;
	case STEP_WITHDRAW:
		registry_withdraw(entry);
		break;
	case STEP_DONE:
		if (registry_is_claimed(entry))
			registry_done(entry);
		break;
	case STEP_CLAIM:
		claim(which % ROOM);
		break;
	case STEP_SWEEP:
		sweep_offers();
		break;
	case STEP_FORK:
	case STEP_FORK_FAILED:
		fork_as(step == STEP_FORK);
		break;
	case STEP_COUNT:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct registry memory;
	struct reader r = {data, size};

	memset(&memory, 0, sizeof(memory));
	registry = &memory;
	tried = true;
	own_net = 0;
	process.pid = SELF;
	for (int i = 0; i < STEPS_MAX && r.left; i++) {
		uint8_t head[2];

		take(&r, head, sizeof(head));
		run((enum step)(head[0] % STEP_COUNT), head[1], &r);
	}
	return 0;
}
