/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * peers: processes that each have a link group module of their own and do
 * what the test tells them, one order at a time.
 *
 * Ownership: peer_start() makes a process; peer_end() or peer_kill() takes it.
 * Locking:   none: a peer has one thread, and the test waits for each answer.
 */
#ifndef TESTS_UNIT_PEERS_H
#define TESTS_UNIT_PEERS_H

#include <sys/resource.h>
#include <sys/socket.h>

#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/link/shm/linkgroup_knock.h"
#include "smc_r/peer/registry.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"
#include "tests/unit/children.h"
#include "tests/unit/place.h"

#define PEER_HELD 64

enum peer_order {
	PEER_IDENTITY,
	PEER_TAKE,        /* id, limit: as server; held, place, secrets */
	PEER_TAKE_NAMED,  /* id, nonce, number, element: as client; held */
	PEER_GIVE,        /* held */
	PEER_LEAK,        /* held */
	PEER_LEND,        /* held: to a child that does not exist */
	PEER_LEASE_ENDS,  /* of all that was lent */
	PEER_REST,        /* value: linkgroup_rest_ms() before it is told */
	PEER_WRITE,       /* held, value: into the ring of its side */
	PEER_READ,        /* held: value out of the other side's ring */
	PEER_STATE,       /* descriptors, mappings, memory, groups */
	PEER_DESCRIPTORS, /* value: its limit */
	PEER_FORK, /* a child does what engine.c does, then runs as peer */
	PEER_CHILD_END,
	PEER_LEARN, /* held, value: its server has accepted at this port */
	PEER_KNOCK, /* value: at this port; knock, knocks; held: first or -1 */
	PEER_TAKE_BACK, /* held, knock; value: whether nobody has taken it */
	PEER_ANSWER, /* knock: as server; value: whether it was taken; held */
	PEER_VAIN,   /* value: of the group of this number */
	PEER_POKE,   /* held, knock.token: into the element's word */
	PEER_CLOSE,
};

struct peer_message {
	enum peer_order order;
	uint32_t reason;
	uint8_t id[PEER_ID_BYTES];
	uint8_t nonce[NONCE_BYTES];
	uint8_t proof[NONCE_BYTES];
	uint32_t number;
	uint32_t element;
	uint32_t elements;
	uint32_t rmbe_bytes;
	uint64_t limit;
	uint64_t rmb_bytes;
	uint64_t first_contacts;
	uint64_t rmbs_made;
	uint64_t rmbs_freed;
	uint64_t reuses;
	int held;
	int value;
	int descriptors;
	int mappings;
	bool first;
	struct option_knock knock;
	int knocks[OPTION_KNOCKS_MAX]; /* held */
	int knocked;                   /* so many of them */
	bool all;
};

struct peer {
	pid_t pid;
	int channel;
};

/* ---- in the peer's process ---- */

struct peer_held {
	struct rmb *rmb;
	uint32_t element;
	int side;
};

static struct peer_held peer_held[PEER_HELD];

static inline int peer_hold(struct rmb *rmb, uint32_t element, int side)
{
	for (int i = 0; i < PEER_HELD; i++)
		if (!peer_held[i].rmb) {
			peer_held[i] = (struct peer_held){rmb, element, side};
			return i;
		}
	children_fail(__FILE__, __LINE__, "too many elements held");
}

static inline void peer_describe(struct peer_message *m, struct rmb *rmb)
{
	m->number = rmb->number;
	m->elements = rmb->map.elements;
	m->rmbe_bytes = rmb->map.rmbe_bytes;
	if (rmb->group) {
		memcpy(m->nonce, rmb->group->nonce, NONCE_BYTES);
		memcpy(m->proof, rmb->group->proof, NONCE_BYTES);
		m->value = rmb->group->peer_pid;
	}
}

static inline void peer_take(struct peer_message *m)
{
	struct snapshot s = {.max_memory_bytes = m->limit};
	struct rmb *rmb = NULL;

	m->reason = linkgroup_take(m->id, &s, RMBE_NEAR_MAX, &rmb, &m->element,
				   &m->first);
	if (m->reason)
		return;
	m->held = peer_hold(rmb, m->element, SIDE_SERVER);
	peer_describe(m, rmb);
}

static inline void peer_take_named(struct peer_message *m)
{
	struct rmb *rmb = NULL;

	m->reason =
	    linkgroup_take_named(m->id, m->nonce, m->number, m->element, &rmb);
	if (m->reason)
		return;
	m->held = peer_hold(rmb, m->element, SIDE_CLIENT);
	peer_describe(m, rmb);
}

static inline int peer_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	children_must(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "memfd:") != NULL;
	fclose(maps);
	return n;
}

static inline void peer_state(struct peer_message *m)
{
	m->descriptors = place_descriptors();
	m->mappings = peer_mappings();
	m->rmb_bytes =
	    segment_header() ? atomic_load(&segment_header()->rmb_bytes) : 0;
	m->first_contacts = atomic_load(&segment_counters->first_contacts);
	m->rmbs_made = atomic_load(&segment_counters->rmbs_made);
	m->rmbs_freed = atomic_load(&segment_counters->rmbs_freed);
	m->reuses = atomic_load(&segment_counters->reuses);
}

static inline uint8_t *peer_ring(int held, bool own)
{
	struct peer_held *h = &peer_held[held];

	return rmb_ring(&h->rmb->map, h->element, own ? h->side : !h->side);
}

static inline void peer_give(struct peer_message *m, bool reuse)
{
	struct peer_held *h = &peer_held[m->held];

	linkgroup_give(h->rmb, h->element, reuse);
	h->rmb = NULL;
}

static struct status_slot *peer_lent[PEER_HELD];
static uint32_t peer_leases;

static inline void peer_lend(struct peer_message *m)
{
	struct peer_held *h = &peer_held[m->held];
	struct status_slot *slot = segment_slot_get();

	children_must(slot && peer_leases < PEER_HELD);
	peer_lent[peer_leases++] = slot;
	slot->cookie = peer_leases;
	linkgroup_lend(h->rmb, h->element, (struct lease){slot, slot->cookie});
	h->rmb = NULL;
}

static inline void peer_lease_ends(void)
{
	while (peer_leases > 0)
		segment_slot_free(peer_lent[--peer_leases]);
}

/* Back in the parent with m->value = pid; the child is the peer meanwhile. */
static inline void peer_fork(struct peer_message *m)
{
	pid_t pid;

	segment_before_fork();
	pid = fork();
	children_must(pid >= 0);
	if (pid == 0) {
		alarm(CHILDREN_SECONDS);
		process_forked();
		segment_after_fork(true);
		linkgroup_forked();
		registry_forked();
		return;
	}
	segment_after_fork(false);
	children_must(waitpid(pid, &m->value, 0) == pid);
}

static inline void peer_limit(int descriptors)
{
	const struct rlimit l = {(rlim_t)descriptors, (rlim_t)descriptors};

	children_must(prlimit(0, RLIMIT_NOFILE, &l, NULL) == 0);
}

static inline void peer_knock(struct peer_message *m)
{
	struct knocks k;

	m->held = -1;
	m->knocked = 0;
	if (!linkgroup_knock((uint16_t)m->value, &k))
		return;
	linkgroup_knock_describe(&k, &m->knock);
	m->knocked = (int)k.count;
	m->all = k.all;
	for (uint32_t i = 0; i < k.count; i++)
		m->knocks[i] =
		    peer_hold(k.at[i].rmb, k.at[i].element, SIDE_CLIENT);
	m->held = m->knocks[0];
	m->element = k.at[0].element;
	peer_describe(m, k.at[0].rmb);
}

static inline void peer_knock_answer(struct peer_message *m)
{
	struct rmb *rmb;
	bool asleep;

	m->value =
	    linkgroup_take_knocked(&m->knock, &rmb, &m->element, &asleep);
	if (!m->value)
		return;
	m->held = peer_hold(rmb, m->element, SIDE_SERVER);
	linkgroup_knock_answer(rmb, m->element, asleep);
}

static inline void peer_take_back(struct peer_message *m)
{
	struct peer_held *h = &peer_held[m->held];
	struct knocked at = {.rmb = h->rmb, .element = h->element};

	m->value = linkgroup_knock_take_back(&at, m->knock.token);
	if (!m->value)
		return;
	linkgroup_knock_give(&at, true);
	h->rmb = NULL;
}

static inline void peer_obey(struct peer_message *m)
{
	switch (m->order) {
	case PEER_LEARN:
		linkgroup_knock_learn(peer_held[m->held].rmb->group,
				      (uint16_t)m->value);
		m->number = peer_held[m->held].rmb->group->number;
		break;
	case PEER_KNOCK:
		peer_knock(m);
		break;
	case PEER_TAKE_BACK:
		peer_take_back(m);
		break;
	case PEER_ANSWER:
		peer_knock_answer(m);
		break;
	case PEER_VAIN:
		linkgroup_knock_was_vain((uint32_t)m->value);
		break;
	case PEER_POKE:
		atomic_store(&rmb_element(&peer_held[m->held].rmb->map,
					  peer_held[m->held].element)
				  ->knock,
			     m->knock.token);
		break;
	case PEER_IDENTITY:
		m->value = identity_get(m->id);
		break;
	case PEER_TAKE:
		peer_take(m);
		break;
	case PEER_TAKE_NAMED:
		peer_take_named(m);
		break;
	case PEER_GIVE:
		peer_give(m, true);
		break;
	case PEER_LEAK:
		peer_give(m, false);
		break;
	case PEER_LEND:
		peer_lend(m);
		break;
	case PEER_LEASE_ENDS:
		peer_lease_ends();
		break;
	case PEER_REST:
		m->value = linkgroup_rest_ms();
		linkgroup_rest();
		break;
	case PEER_WRITE:
		*peer_ring(m->held, true) = (uint8_t)m->value;
		break;
	case PEER_READ:
		m->value = *peer_ring(m->held, false);
		break;
	case PEER_STATE:
		peer_state(m);
		break;
	case PEER_DESCRIPTORS:
		peer_limit(m->value);
		break;
	case PEER_FORK:
		peer_fork(m);
		break;
	case PEER_CHILD_END:
	case PEER_CLOSE:
		identity_close();
		segment_close();
		_exit(0);
	}
}

static inline void peer_run(int channel, void *unused)
{
	struct peer_message m;

	(void)unused;
	process_forked();
	while (recv(channel, &m, sizeof(m), 0) == (ssize_t)sizeof(m)) {
		peer_obey(&m);
		children_must(send(channel, &m, sizeof(m), 0) ==
			      (ssize_t)sizeof(m));
	}
}

/* ---- in the test ---- */

static inline struct peer peer_start(void)
{
	struct peer p;
	int pair[2];

	cr_assert_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	p.channel = pair[0];
	p.pid = fork();
	if (p.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(CHILDREN_SECONDS);
		close(pair[0]);
		peer_run(pair[1], NULL);
		_exit(0);
	}
	cr_assert_gt(p.pid, 0);
	close(pair[1]);
	return p;
}

static inline void peer_send(struct peer *p, const struct peer_message *m)
{
	cr_assert_eq(send(p->channel, m, sizeof(*m), 0), sizeof(*m));
}

static inline struct peer_message peer_answer(struct peer *p)
{
	struct peer_message m = {.reason = REASON_INTERNAL};

	cr_assert_eq(recv(p->channel, &m, sizeof(m), 0), sizeof(m),
		     "the peer is gone");
	return m;
}

static inline struct peer_message peer_ask(struct peer *p,
					   struct peer_message m)
{
	peer_send(p, &m);
	return peer_answer(p);
}

static inline void peer_kill(struct peer *p)
{
	kill(p->pid, SIGKILL);
	cr_assert_eq(children_wait(p->pid), 256 + SIGKILL);
	close(p->channel);
}

static inline void peer_end(struct peer *p)
{
	peer_send(p, &(struct peer_message){.order = PEER_CLOSE});
	cr_assert_eq(children_wait(p->pid), 0);
	close(p->channel);
}

static inline struct peer_message peer_look(struct peer *p)
{
	return peer_ask(p, (struct peer_message){.order = PEER_STATE});
}

static inline struct peer_message peer_identity(struct peer *p)
{
	struct peer_message m =
	    peer_ask(p, (struct peer_message){.order = PEER_IDENTITY});

	cr_assert_eq(m.value, 0);
	return m;
}

static inline struct peer_message peer_serve(struct peer *server,
					     const struct peer_message *client,
					     uint64_t limit)
{
	struct peer_message m = {.order = PEER_TAKE, .limit = limit};

	memcpy(m.id, client->id, PEER_ID_BYTES);
	return peer_ask(server, m);
}

/* `offer` is what peer_serve() gave, `server` an identity. */
static inline struct peer_message peer_accept(struct peer *client,
					      const struct peer_message *server,
					      const struct peer_message *offer)
{
	struct peer_message m = *offer;

	m.order = PEER_TAKE_NAMED;
	memcpy(m.id, server->id, PEER_ID_BYTES);
	return peer_ask(client, m);
}

static inline void peer_return(struct peer *p, int held)
{
	peer_ask(p, (struct peer_message){.order = PEER_GIVE, .held = held});
}

#endif
