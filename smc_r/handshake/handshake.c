/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake: from a TCP connection to SMC, or to plain TCP with a reason. */
#include "smc_r/handshake/handshake.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "smc_r/connection/proposal.h"
#include "smc_r/far/far_begin.h"
#include "smc_r/handshake/handshake_begin.h"
#include "smc_r/handshake/handshake_timeout.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/handshake/messages.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"

#define NS_PER_MS 1000000ull
#define FORK_PART 4 /* divides process.handshake_ms: a fork waits so long */

/* ---- beginning ---- */

/* Only this engine has peers on this host; others follow RFC 7609 to the
 * letter. */
static bool is_on_this_host(const struct status_slot *s)
{
	return memcmp(&s->local, &s->peer, sizeof(s->local)) == 0 ||
	       IN6_IS_ADDR_LOOPBACK(&s->peer) ||
	       (IN6_IS_ADDR_V4MAPPED(&s->peer) && s->peer.s6_addr[12] == 127);
}

uint32_t handshake_why_tcp(const struct connection *c, int state)
{
	const struct status_slot *slot = c->slot;
	bool refused = state < 0 ? registry_refuses(slot->role == STATUS_SERVER
							? slot->local_port
							: slot->peer_port)
				 : (state & OFFER_UNWORTHY) != 0;

	return refused && settings_is_here(&slot->peer) ? REASON_NOT_WORTH_IT
							: REASON_PEER_NO_SMC;
}

bool handshake_is_undecided(struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE;
}

void handshake_start_clock(struct connection *c)
{
	c->handshake.begun_ns = sys_now_ns();
}

void handshake_begin(struct connection *c, bool server)
{
	struct clc_config config = {.server = server,
				    .peer_is_ours = is_on_this_host(c->slot)};

	clc_init(connection_clc(c), &config, c->handshake.begun_ns / NS_PER_MS);
	handshake_note_own(c);
	atomic_store(&c->slot->phase, PHASE_HANDSHAKE);
}

/* Neither side is committed to anything: the connection is TCP, without a word.
 */
void handshake_stay_native(struct connection *c, uint32_t reason)
{
	connection_use_tcp(c, reason, 0);
}

static void leave_uncounted(struct connection *c)
{
	c->slot->reason = REASON_ADDRESS;
	atomic_store(&c->slot->state, STATUS_TCP);
	connection_set_native(c);
}

/* An offer in the registry that nobody claimed commits nobody; nor does one of
 * which nothing was said. */
void handshake_end_offer(struct connection *c, int fd, uint32_t reason,
			 uint64_t now)
{
	if (c->handshake.deferred) {
		c->handshake.deferred = false;
		handshake_stay_native(c, reason);
		return;
	}
	if (knock_is_pending(c) && !knock_take_back(c, fd))
		return;
	if (!c->opening.offer_entry ||
	    !registry_withdraw(c->opening.offer_entry)) {
		messages_carry_out(
		    c, fd,
		    clc_abort(connection_clc(c), reason, now / NS_PER_MS), NULL,
		    now);
		return;
	}
	c->opening.offer_entry = 0;
	if (reason == REASON_ADDRESS)
		leave_uncounted(c);
	else
		handshake_stay_native(c, reason);
}

/* It begins at begun_ns: one that knocked has begun already, so that
 * connections become writable in the order in which they began. */
static void start_client(struct connection *c, int fd, uint64_t now)
{
	struct clc_proposal p;
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);
	int made = 0;

	handshake_begin(c, false);
	if (s)
		reason = settings_match(s, &c->slot->local, c->slot->peer_port);
	if (!reason && (atomic_load(&c->slot->socket_flags) & SOCKET_NO_SMC))
		reason = REASON_FORK;
	if (!reason)
		made = proposal_make(&c->slot->local, &p);
	if (made < 0)
		reason =
		    made == -EMFILE ? REASON_DESCRIPTORS : REASON_RENDEZVOUS;
	if (reason)
		handshake_end_offer(c, fd, reason, now);
	else
		messages_carry_out(
		    c, fd, clc_start(connection_clc(c), &p, now / NS_PER_MS),
		    NULL, now);
}

static bool read_peer(struct connection *c, int fd)
{
	struct sockaddr_storage a;

	if (!handshake_socket_name(SYS_getpeername, fd, &a))
		return false;
	connection_set_peer(c, &a);
	return true;
}

static void read_local(struct connection *c, int fd)
{
	struct sockaddr_storage a;

	handshake_socket_name(SYS_getsockname, fd, &a);
	connection_set_local(c, &a);
}

/* Nothing was agreed and the local address is not one of ours: this is none
 * of our connections. */
static bool is_foreign(struct connection *c)
{
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);

	return s && settings_match(s, &c->slot->local, c->slot->peer_port) ==
			REASON_ADDRESS;
}

/* A server that could wait no longer sent data, or closed: it says so without
 * a Proposal, too. */
static bool has_spoken(int fd)
{
	return sys_poll(fd, POLLIN | POLLRDHUP, 0);
}

/* The server is not known to have taken the knock: withdraw it and send a
 * Proposal, unless the socket has a pending error, which the program must see.
 */
static void settle_knock(struct connection *c, int fd, uint64_t now)
{
	if (!knock_take_back(c, fd))
		return;
	if (has_spoken(fd))
		handshake_stay_native(c, REASON_TIMEOUT);
	else
		start_client(c, fd, now);
}

/* The offer was taken by a listener whose process has what it needs: the next
 * write waits for it. */
static void leave_knock(struct connection *c, int fd)
{
	handshake_begin(c, false);
	knock_was_taken(c, fd);
}

/* The kernel has forgotten the peer of a socket that was reset. But the
 * acceptor may have answered before. */
static bool was_met(const struct connection *c)
{
	return c->opening.offer_entry && c->slot->peer_port != 0 &&
	       registry_is_claimed(c->opening.offer_entry);
}

/* TCP_DEFER_ACCEPT (deferred.h): sends no Proposal yet. */
static void begin_deferred(struct connection *c)
{
	handshake_begin(c, false);
	c->handshake.deferred = true;
}

/* The peer is on another host, and nobody has said a word yet. */
static void begin_far(struct connection *c, int fd, uint64_t now)
{
	uint32_t reason;

	switch (far_begin(c, fd, &reason)) {
	case FAR_BEGUN:
		break;
	case FAR_NO_SERVICE:
		start_client(c, fd, now);
		break;
	case FAR_REFUSED:
		handshake_begin(c, false);
		handshake_end_offer(c, fd, reason, now);
		break;
	}
}

/* TCP is connected: was the offer taken? */
static void client_connected(struct connection *c, int fd, uint64_t now)
{
	/* The kernel does not tell since when. */
	bool late = !c->opening.connected;
	struct option_answer answer;
	bool agreed, defers;
	int state;

	if (c->slot->peer_port == 0 || !c->opening.connected)
		c->opening.connected = read_peer(c, fd) || was_met(c);
	if (!c->opening.connected)
		return;
	state = c->opening.offer_entry ? -EOPNOTSUPP : offer_look(fd, &answer);
	if (state >= 0 && answer.port) {
		memcpy(&c->slot->local, answer.address, sizeof(c->slot->local));
		c->slot->local_port = (uint16_t)answer.port;
	} else {
		read_local(c, fd);
	}
	agreed = state > 0 && (state & OFFER_AGREED);
	defers = state > 0 && (state & OFFER_DEFERS) &&
		 settings_is_here(&c->slot->peer);
	/* The kernel does not tell when TCP became connected: the time of one
	 * that is to be quiet counts from connect(), an upper bound. */
	if (!defers)
		c->handshake.begun_ns = now;
	if (knock_is_pending(c)) {
		leave_knock(c, fd);
		if (connection_phase(c) == PHASE_ACTIVE)
			return;
		if (agreed && !defers && !(late && has_spoken(fd)))
			return;
		if (!knock_take_back(c, fd))
			return;
	}
	if (agreed && late && has_spoken(fd))
		handshake_stay_native(c, REASON_TIMEOUT);
	else if (defers)
		begin_deferred(c);
	else if (agreed && !settings_is_here(&c->slot->peer))
		begin_far(c, fd, now);
	else if (c->opening.offer_entry || agreed)
		start_client(c, fd, now);
	else if (is_foreign(c))
		leave_uncounted(c);
	else
		handshake_stay_native(c, handshake_why_tcp(c, state));
}

/* Registry: until the entry is claimed nothing has happened yet. */
static bool unclaimed(struct connection *c)
{
	return c->opening.offer_entry &&
	       !registry_is_claimed(c->opening.offer_entry);
}

/* An acceptor that has the engine claims the offer before it does anything
 * else. So what comes without a claim is the program's: its bytes, or the end
 * of one that never accepted. */
static void leave_unclaimed(struct connection *c, int fd)
{
	if (!has_spoken(fd) || !registry_withdraw(c->opening.offer_entry))
		return;
	c->opening.offer_entry = 0;
	handshake_stay_native(c, REASON_PEER_NO_SMC);
}

/* The server waits no longer, or has gone. */
static void leave_quiet(struct connection *c, int fd, uint64_t now)
{
	if (has_spoken(fd))
		handshake_end_offer(c, fd, REASON_TIMEOUT, now);
}

static void drop_entry_when_over(struct connection *c)
{
	if (!c->opening.offer_entry || connection_phase(c) == PHASE_HANDSHAKE ||
	    connection_phase(c) == PHASE_CONNECTING)
		return;
	registry_done(c->opening.offer_entry);
	c->opening.offer_entry = 0;
}

/* The locks of a call, and its time. */
struct turn {
	uint64_t now;
	bool rx_taken;
};

/* Engine lock held. */
static inline struct turn rx_lock(struct connection *c)
{
	return (struct turn){.now = sys_now_ns(),
			     .rx_taken = stream_lock(&c->slot->rx)};
}

static void rx_unlock(struct connection *c, const struct turn *t)
{
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, t->rx_taken);
}

void handshake_connected(struct connection *c, int fd)
{
	struct turn t = rx_lock(c);

	client_connected(c, fd, t.now);
	/* A thread that sleeps in an instance that has c looks at TCP alone. */
	if (connection_phase(c) == PHASE_HANDSHAKE && knock_is_pending(c) &&
	    c->epoll.members)
		settle_knock(c, fd, t.now);
	if (connection_phase(c) == PHASE_ACTIVE)
		handshake_note_answer(c, t.now);
	rx_unlock(c, &t);
}

static inline struct turn begin(struct connection *c)
{
	engine_lock();
	return rx_lock(c);
}

static void end(struct connection *c, const struct turn *t)
{
	rx_unlock(c, t);
	engine_unlock();
}

/* looks: a knock may stay out. */
static void step(struct connection *c, int fd, bool looks, uint64_t now)
{
	bool begins = connection_phase(c) == PHASE_CONNECTING;
	bool skips = handshake_is_undecided(c) &&
		     connection_clc(c)->state == CLC_SKIP_ANSWER;

	if (begins)
		client_connected(c, fd, now);
	knock_tidy(c);
	if (handshake_is_undecided(c) && knock_is_pending(c) &&
	    !knock_was_taken(c, fd) &&
	    !(looks && handshake_awaits_knock(c, now))) {
		settle_knock(c, fd, now);
		begins = true;
	}
	if (handshake_is_undecided(c) && unclaimed(c))
		leave_unclaimed(c, fd);
	if (handshake_is_undecided(c) && c->handshake.deferred)
		leave_quiet(c, fd, now);
	/* Nobody can have answered what was sent only now. */
	else if (handshake_is_undecided(c) && !unclaimed(c) &&
		 !knock_is_pending(c) &&
		 !(begins && connection_clc(c)->state == CLC_AWAIT_ACCEPT &&
		   !c->opening.offer_entry))
		messages_read(c, fd, now);
	/* It is too late for this one, but the acceptor is at work. */
	if (connection_phase(c) == PHASE_ACTIVE ||
	    (skips && connection_phase(c) == PHASE_NATIVE))
		handshake_note_answer(c, now);
}

uint32_t handshake_step_locked(struct connection *c, int fd)
{
	struct turn t = rx_lock(c);

	step(c, fd, false, t.now);
	rx_unlock(c, &t);
	return connection_phase(c);
}

uint32_t handshake_step(struct connection *c, int fd)
{
	struct turn t = begin(c);

	step(c, fd, false, t.now);
	end(c, &t);
	return connection_phase(c);
}

/* A client that was quiet begins now, or never. */
static void speak(struct connection *c, int fd, uint64_t now)
{
	if (!c->handshake.deferred)
		return;
	if (now - c->handshake.begun_ns > QUIET_MS * NS_PER_MS) {
		handshake_end_offer(c, fd, REASON_TIMEOUT, now);
		return;
	}
	c->handshake.deferred = false;
	c->handshake.begun_ns = now;
	start_client(c, fd, now);
}

void handshake_speak(struct connection *c, int fd)
{
	struct turn t;

	if (!c->handshake.deferred)
		return;
	t = begin(c);
	speak(c, fd, t.now);
	end(c, &t);
}

struct handshake_view handshake_look(struct connection *c, int fd,
				     bool asks_output, uint64_t now)
{
	struct turn t = begin(c);
	struct handshake_view view = {.turn = HANDSHAKE_TELL};

	step(c, fd, true, t.now);
	/* A loop that is to write does its other work meanwhile. */
	if (asks_output)
		speak(c, fd, t.now);
	/* Only a look that asks for it may run into the time-out. */
	if (asks_output && handshake_is_undecided(c))
		view.turn = handshake_look_output(c, now);
	view.phase = connection_phase(c);
	end(c, &t);
	return view;
}

bool handshake_is_deferred(const struct connection *c)
{
	return c->handshake.deferred;
}

int handshake_error_of(struct connection *c, int fd, int error)
{
	int before = errno;
	struct turn t = begin(c);
	bool forgiven = handshake_is_undecided(c) && !c->handshake.deferred &&
			!knock_is_pending(c) && !unclaimed(c) &&
			messages_forgive(c, fd, error, t.now);

	end(c, &t);
	errno = before;
	return forgiven ? 0 : error;
}

/* Both locks held. */
static void give_in(struct connection *c, int fd, uint32_t reason, uint64_t now)
{
	if (connection_phase(c) == PHASE_CONNECTING) {
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_NO_SMC);
		connection_drop_knock(c);
	} else if (handshake_is_undecided(c)) {
		handshake_end_offer(c, fd, reason, now);
	}
}

void handshake_abort(struct connection *c, int fd, uint32_t reason)
{
	struct turn t = begin(c);

	step(c, fd, false, t.now);
	give_in(c, fd, reason, t.now);
	end(c, &t);
}

/* The client offered SMC, and will say more at its next call. */
static bool is_proposal_due(struct connection *c)
{
	return handshake_is_undecided(c) &&
	       connection_clc(c)->state == CLC_AWAIT_PROPOSAL;
}

bool handshake_is_unheard(struct connection *c, int fd)
{
	if (is_proposal_due(c) && c->opening.unread == 0) {
		c->handshake.client_silent = true;
		handshake_abort(c, fd, REASON_TIMEOUT);
	}
	return c->handshake.client_silent;
}

bool handshake_is_silent(struct connection *c, bool asks_output)
{
	const struct clc *machine = connection_clc(c);

	return handshake_is_undecided(c) && c->slot->role == STATUS_SERVER &&
	       c->opening.unread == 0 && !machine->deadline_ms &&
	       (machine->state == CLC_LATE ||
		(machine->state == CLC_AWAIT_PROPOSAL && !asks_output));
}

bool handshake_leave(struct connection *c, int fd)
{
	struct turn t = begin(c);
	bool leaves;

	/* A Proposal would only be followed by a Decline. */
	if (knock_is_pending(c) && knock_take_back(c, fd))
		handshake_stay_native(c, REASON_CLOSED);
	step(c, fd, false, t.now);
	leaves = messages_await_confirm(c);
	if (leaves)
		connection_use_smc(c);
	else
		give_in(c, fd, REASON_CLOSED, t.now);
	end(c, &t);
	/* A Proposal may be on its way: it must be read, or the close would
	 * reset the client's connection. */
	handshake_step_until(c, fd, t.now + CROSSING_MS * NS_PER_MS,
			     is_proposal_due, handshake_step);
	return leaves;
}

void handshake_before_reset(struct connection *c, int fd)
{
	if (handshake_is_undecided(c))
		handshake_step(c, fd);
}

void handshake_left(struct connection *c, int fd)
{
	if (!messages_confirm_is_due(c))
		return;
	handshake_wait_until(fd, sys_now_ns() + CROSSING_MS * NS_PER_MS);
	messages_drop(fd);
}

/* What the client has not read it need not answer. */
bool handshake_withdraw(struct connection *c, int fd)
{
	struct turn t = begin(c);
	bool done = messages_withdraw(c, fd, t.now);

	end(c, &t);
	return done;
}

void handshake_give_up(struct connection *c, int fd)
{
	struct turn t = begin(c);

	if (handshake_is_undecided(c))
		messages_carry_out(c, fd, clc_closed(connection_clc(c)), NULL,
				   t.now);
	end(c, &t);
}

/* ---- fork ---- */

static bool must_wait(struct connection *c)
{
	return handshake_way(c, true) == WAY_AGAIN && !c->handshake.deferred;
}

/* Engine lock held. Once the Accept is sent all is in shared memory, and
 * either process can go on; before that only we could. */
void handshake_before_fork(void)
{
	uint64_t until =
	    sys_now_ns() + process.handshake_ms * NS_PER_MS / FORK_PART;

	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct connection *c = connection_of(fd);
		struct turn t;

		if (!c || connection_phase(c) > PHASE_HANDSHAKE)
			continue;
		handshake_step_locked(c, fd);
		handshake_step_until(c, fd, until, must_wait,
				     handshake_step_locked);
		t = rx_lock(c);
		if (connection_phase(c) == PHASE_CONNECTING ||
		    handshake_way(c, true) == WAY_AGAIN)
			give_in(c, fd, REASON_FORK, t.now);
		rx_unlock(c, &t);
	}
}
