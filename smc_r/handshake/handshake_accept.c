/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake_accept: what accept() begins. */
#include <string.h>
#include <sys/single_threaded.h>

#include "smc_r/connection/passthrough.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/far/far_begin.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/handshake_begin.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/handshake/messages.h"
#include "smc_r/handshake/silence.h"
#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"
#include "smc_r/status/totals.h"

#define NS_PER_MS      1000000u
#define SELF_STEPS     4 /* messages of both ends, one by one */
/* How long a group of a place that is left to TCP is kept, at least, and among
 * how many accepted connections that were asked about one looks for those. */
#define UNUSED_MS      50u
#define ACCEPTS_A_LOOK 4u

/* It tells how the client's offer came, if it came, and where to. */
struct arrival {
	int state;   /* offer_look_accepted() */
	bool agreed; /* the TCP option says so */
	bool knocks;
	struct option_knock knock;
	uint64_t asked_ns;
	uint16_t left; /* OPTION_LEFT_* */
	uint16_t port; /* local; 0: not known */
	struct in6_addr local;
	struct sockaddr_storage name; /* the local name, without BPF */
	uint32_t claimed; /* bytes of a Proposal from the registry */
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
};

/* The Proposal did not come by the stream; the machine does not care. */
static void start_claimed(struct connection *c, int fd, struct arrival *arrived,
			  uint32_t reason)
{
	uint64_t now = c->handshake.begun_ns;
	struct clc_message m;
	struct clc_action a;

	handshake_begin(c, true);
	/* The answer is a Decline then. */
	if (reason)
		clc_abort(connection_clc(c), reason, now / NS_PER_MS);
	memset(&m, 0, sizeof(m));
	a = clc_feed(connection_clc(c), arrived->bytes, arrived->claimed, &m,
		     now / NS_PER_MS);
	messages_look_behind(c, fd, &m);
	messages_carry_out(c, fd, a, &m, now);
}

/* Its client is on another host, and the service hears it. */
static bool is_taken_far(struct connection *c, int fd, const struct arrival *a,
			 uint32_t *reason)
{
	return a->agreed && !*reason && !settings_is_here(&c->slot->peer) &&
	       far_begin(c, fd, reason) == FAR_BEGUN;
}

static void take_up(struct connection *c, int fd, struct arrival *a,
		    uint32_t reason)
{
	bool taken = stream_lock(&c->slot->rx);

	handshake_start_clock(c);
	if (is_taken_far(c, fd, a, &reason)) {
		stream_unlock(&c->slot->rx, taken);
		return;
	}
	if (a->claimed)
		start_claimed(c, fd, a, reason);
	else if (a->agreed)
		handshake_begin(c, true);
	else
		handshake_stay_native(c, handshake_why_tcp(c, a->state));
	if (connection_phase(c) == PHASE_HANDSHAKE) {
		if (reason && !a->claimed)
			handshake_end_offer(c, fd, reason,
					    c->handshake.begun_ns);
		else if (a->knocks)
			knock_answer(c, fd, &a->knock);
		messages_read(c, fd, c->handshake.begun_ns);
	}
	stream_unlock(&c->slot->rx, taken);
}

/* The BPF program tells the socket's own name with its answer; where it does
 * not, the kernel is asked. */
static void ask(int fd, struct arrival *a)
{
	struct option_answer answer;

	a->asked_ns = sys_now_ns();
	a->state = offer_look_accepted(fd, &answer);
	a->agreed = a->state > 0 && (a->state & OFFER_AGREED);
	a->knocks = a->agreed && answer.knock.token;
	if (a->knocks)
		a->knock = answer.knock;
	a->port = 0;
	a->left = 0;
	if (a->state >= 0 && answer.port) {
		a->left = answer.left;
		memcpy(&a->local, answer.address, sizeof(a->local));
		a->port = answer.port;
	} else if (handshake_socket_name(SYS_getsockname, fd, &a->name)) {
		connection_name(&a->name, &a->local, &a->port);
	}
}

static uint32_t match_local(const struct arrival *a)
{
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);

	if (!s)
		return reason;
	return a->port ? settings_match(s, &a->local, a->port)
		       : REASON_INTERNAL;
}

static void describe(struct connection *c, const struct socket_history *t,
		     const struct arrival *a,
		     const struct sockaddr_storage *peer)
{
	c->closing.lingers = t->lingers;
	c->slot->local = a->local;
	c->slot->local_port = a->port;
	connection_set_peer(c, peer);
}

/*
 * There is no memory for a connection whose client may send CLC. It is declined
 * here, and waited for, as long as a message may be on its way. A client that
 * says nothing in that time is kept; where that cannot be its connection ends,
 * as the program must not read what it would send.
 */
static void refuse(int fd, struct arrival *a,
		   const struct sockaddr_storage *peer)
{
	struct socket_history t = socket_history_of(fd);
	struct passing_connection p;
	struct connection *c = &p.connection;
	struct connection *kept = NULL;

	connection_init_passing(&p, t.options);
	describe(c, &t, a, peer);
	take_up(c, fd, a, REASON_MEMORY);
	handshake_step_until(c, fd,
			     c->handshake.begun_ns + CROSSING_MS * NS_PER_MS,
			     handshake_is_undecided, handshake_step_locked);
	if (connection_phase(c) != PHASE_HANDSHAKE)
		return;
	kept = connection_keep_passing(&p);
	if (kept)
		fdtable_set(fd, &kept->entry);
	else if (connection_clc(c)->state == CLC_LOOK)
		connection_use_tcp(c, REASON_MEMORY, 0);
	else
		messages_fail(c, fd, REASON_MEMORY);
}

/* Whatever the settings say by now: if the SYN-ACK carried the option, the
 * client sends CLC, and nobody but us may read it. */
static bool accept_locked(int fd, struct arrival *a,
			  const struct sockaddr_storage *peer, bool nonblock)
{
	uint32_t reason = match_local(a);
	struct socket_history t = socket_history_of(fd);
	struct connection *c;

	a->claimed = 0;
	if (a->state < 0 && !reason)
		a->claimed = registry_claim(&a->name, peer, a->bytes);
	if (reason && !a->agreed)
		return true;
	if (t.unsuitable)
		reason = REASON_OPTION_UNSUPPORTED;
	else if (!reason && segment_is_crowded())
		reason = REASON_CHILDREN;
	c = connection_new(STATUS_SERVER,
			   t.options | (nonblock ? SOCKET_NONBLOCK : 0),
			   a->agreed || a->claimed);
	if (!c && (a->agreed || a->claimed))
		refuse(fd, a, peer);
	if (!c)
		return false;
	if (!reason && (atomic_load(&c->slot->socket_flags) & SOCKET_NO_SMC))
		reason = REASON_MEMORY;
	describe(c, &t, a, peer);
	fdtable_set(fd, &c->entry);
	take_up(c, fd, a, reason);
	return true;
}

static bool is_other_end(const struct connection *c,
			 const struct connection *other)
{
	return other->slot->role == STATUS_CLIENT &&
	       other->slot->local_port == c->slot->peer_port &&
	       memcmp(&other->slot->local, &c->slot->peer,
		      sizeof(c->slot->peer)) == 0;
}

/* A process that accepts from itself: nobody else would take the messages of
 * the other end while this thread waits for them. */
static void meet_self(struct connection *c, int fd)
{
	for (int i = 0; i < fdtable_program_end(); i++) {
		struct connection *other = connection_of(i);

		if (!other || other == c ||
		    other->slot->peer_port != c->slot->local_port ||
		    connection_phase(other) > PHASE_HANDSHAKE)
			continue;
		handshake_step_locked(other, i);
		if (!is_other_end(c, other))
			continue;
		for (int k = 0;
		     k < SELF_STEPS && connection_phase(c) == PHASE_HANDSHAKE;
		     k++) {
			handshake_step_locked(c, fd);
			handshake_step_locked(other, i);
		}
		return;
	}
}

/*
 * Groups that are ready for the next connection of a place that is left to TCP
 * have each accept() that sleeps hear of their peers' deaths, which takes some
 * calls and wakes all processes that sleep there. Those that had nothing to do
 * for a while are given back. Without connections so is what each child of a
 * fork would have to part with; all of it can be made again.
 */
static void retire_locked(void)
{
	linkgroup_retire();
	if (linkgroup_deaths_matter() || fdtable_connections() > 0)
		return;
	identity_give_back();
	totals_forget_lock();
	/* Another thread may sleep on it. */
	if (__libc_single_threaded)
		linkgroup_deaths_give_back();
}

static void retire(void)
{
	FORK_PAGE static _Atomic uint64_t again_ns;
	FORK_PAGE static _Atomic uint32_t accepted;
	uint64_t now;

	if (relaxed_add(&accepted, 1) % ACCEPTS_A_LOOK)
		return;
	now = sys_now_ns();
	if (now < relaxed_load(&again_ns))
		return;
	relaxed_store(&again_ns, now + UNUSED_MS * NS_PER_MS);
	engine_lock();
	retire_locked();
	engine_unlock();
}

/* ---- places that are left to TCP ---- */

/*
 * Listeners without a mark, or without BPF, are never told that their place is
 * left. It is known since before the accept() that returned now, as that may
 * have slept; and the BPF program that told it is the one of today.
 */
bool handshake_accepted_left(const struct listener *l)
{
	uint64_t until = relaxed_load(&l->left_until_ns);

	if (until == 0 || sys_now_ns() >= until ||
	    settings_moved(l->marked_at) || !segment_counts())
		return false;
	passthrough_count(STATUS_SERVER, REASON_NOT_WORTH_IT);
	return true;
}

static void note_left(struct listener *l, const struct arrival *a)
{
	uint64_t for_ms = a->left & ~OPTION_LEFT_ONE;
	bool is_its =
	    a->port == l->port && !(l->any && (a->left & OPTION_LEFT_ONE));

	relaxed_store(&l->left_until_ns,
		      for_ms && is_its ? a->asked_ns + for_ms * NS_PER_MS : 0);
}

/* The BPF program knows it, and nothing was agreed. */
static void keep_passthrough(struct listener *l, int fd,
			     const struct arrival *a,
			     const struct sockaddr_storage *peer)
{
	bool is_unworthy = a->state & OFFER_UNWORTHY;
	struct passthrough p = {.role = STATUS_SERVER,
				.reason = is_unworthy ? REASON_NOT_WORTH_IT
						      : REASON_PEER_NO_SMC,
				.local = a->local,
				.local_port = a->port};

	if (is_unworthy)
		retire();
	if (!handshake_is_served(&p.local, p.local_port))
		return;
	/* Short ones are counted, in a segment; the first makes it. In a copy
	 * that nobody noticed it is still our parent's. */
	process_tid();
	if (l)
		note_left(l, a);
	if (is_unworthy && segment_counts()) {
		if (passthrough_is(fd))
			passthrough_drop(fd);
		passthrough_count(p.role, p.reason);
		return;
	}
	connection_name(peer, &p.peer, &p.peer_port);
	passthrough_keep(fd, &p);
}

bool handshake_accepted(struct listener *l, int fd,
			const struct sockaddr_storage *peer, bool nonblock)
{
	struct arrival a;
	struct connection *c;
	bool crowded = false;

	ask(fd, &a);
	if (a.state >= 0 && !a.agreed) {
		keep_passthrough(l, fd, &a, peer);
		return false;
	}
	engine_lock();
	/* No more promises while there is no memory. */
	crowded = !accept_locked(fd, &a, peer, nonblock);
	c = connection_of(fd);
	if (c && connection_phase(c) == PHASE_HANDSHAKE &&
	    connections_starting())
		meet_self(c, fd);
	if (c && a.agreed && !crowded)
		crowded = handshake_is_silent(c, false) && silence_begin(c);
	engine_unlock();
	return crowded;
}
