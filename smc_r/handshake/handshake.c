/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake: from a TCP connection to SMC, or to plain TCP with a reason. */
#include "smc_r/handshake/handshake.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "smc_r/connection/proposal.h"
#include "smc_r/handshake/handshake_begin.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/handshake/messages.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"

#define FORK_PART 4 /* divides process.handshake_ms: a fork waits so long */

/* ---- beginning ---- */

uint64_t handshake_now_ms(void)
{
	return sys_now_ns() / 1000000u;
}

/* Only this engine has peers on this host; others follow RFC 7609 to the
 * letter. */
static bool is_on_this_host(const struct status_slot *s)
{
	return memcmp(&s->local, &s->peer, sizeof(s->local)) == 0 ||
	       IN6_IS_ADDR_LOOPBACK(&s->peer) ||
	       (IN6_IS_ADDR_V4MAPPED(&s->peer) && s->peer.s6_addr[12] == 127);
}

/* Loopback and the settings tell this host's addresses. */
bool handshake_is_here(const struct in6_addr *where)
{
	return IN6_IS_ADDR_LOOPBACK(where) ||
	       (IN6_IS_ADDR_V4MAPPED(where) &&
		where->s6_addr[12] == IN_LOOPBACKNET) ||
	       settings_has_address(where);
}

void handshake_begin(struct connection *c, bool server)
{
	struct clc_config config = {.server = server,
				    .peer_is_ours = is_on_this_host(c->slot)};

	clc_init(connection_clc(c), &config, handshake_now_ms());
	handshake_start_clock(c);
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
void handshake_end_offer(struct connection *c, int fd, uint32_t reason)
{
	if (c->handshake.deferred) {
		c->handshake.deferred = false;
		handshake_stay_native(c, reason);
		return;
	}
	if (knock_is_pending(c) && !knock_take_back(c, fd))
		return;
	if (!c->offer_entry || !registry_withdraw(c->offer_entry)) {
		messages_carry_out(
		    c, fd,
		    clc_abort(connection_clc(c), reason, handshake_now_ms()),
		    NULL);
		return;
	}
	c->offer_entry = 0;
	if (reason == REASON_ADDRESS)
		leave_uncounted(c);
	else
		handshake_stay_native(c, reason);
}

static void start_client(struct connection *c, int fd)
{
	struct clc_proposal p;
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);

	handshake_begin(c, false);
	if (s)
		reason = settings_match(s, &c->slot->local, c->slot->peer_port);
	if (!reason && (atomic_load(&c->slot->socket_flags) & SOCKET_NO_SMC))
		reason = REASON_FORK;
	if (!reason && proposal_make(&c->slot->local, &p) < 0)
		reason = REASON_RENDEZVOUS;
	if (reason)
		handshake_end_offer(c, fd, reason);
	else
		messages_carry_out(
		    c, fd, clc_start(connection_clc(c), &p, handshake_now_ms()),
		    NULL);
}

/* TCP_DEFER_ACCEPT (deferred.h): sends no Proposal yet. The time counts from
 * connect(), an upper bound: the kernel does not tell when TCP became
 * connected. */
static void keep_quiet(struct connection *c)
{
	uint64_t since = c->handshake.begun_ns;

	handshake_begin(c, false);
	c->handshake.begun_ns = since;
	c->handshake.deferred = true;
}

static bool read_peer(struct connection *c, int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	memset(&a, 0, sizeof(a));
	if (SYS_CALL3(SYS_getpeername, fd, &a, &n) < 0)
		return false;
	connection_set_peer(c, &a);
	return true;
}

static void read_local(struct connection *c, int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	memset(&a, 0, sizeof(a));
	SYS_CALL3(SYS_getsockname, fd, &a, &n);
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
 * Keep the start time, so that connections become writable in the order in
 * which they began. */
static void settle_knock(struct connection *c, int fd)
{
	uint64_t begun = c->handshake.begun_ns;
	uint64_t hidden = c->handshake.hidden_until_ns;

	if (!knock_take_back(c, fd))
		return;
	if (has_spoken(fd)) {
		handshake_stay_native(c, REASON_TIMEOUT);
		return;
	}
	start_client(c, fd);
	c->handshake.begun_ns = begun;
	c->handshake.hidden_until_ns = hidden;
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
	return c->offer_entry && c->slot->peer_port != 0 &&
	       registry_is_claimed(c->offer_entry);
}

/* TCP is connected: was the offer taken? */
static void client_connected(struct connection *c, int fd)
{
	/* The kernel does not tell since when. */
	bool late = !c->connected;
	struct option_answer answer;
	int state;

	if (c->slot->peer_port == 0 || !c->connected)
		c->connected = read_peer(c, fd) || was_met(c);
	if (!c->connected)
		return;
	state = c->offer_entry ? -EOPNOTSUPP : offer_look(fd, &answer);
	if (state >= 0 && answer.port) {
		memcpy(&c->slot->local, answer.address, sizeof(c->slot->local));
		c->slot->local_port = (uint16_t)answer.port;
	} else {
		read_local(c, fd);
	}
	if (knock_is_pending(c)) {
		leave_knock(c, fd);
		if (connection_phase(c) == PHASE_ACTIVE)
			return;
		if (state > 0 && (state & OFFER_AGREED) &&
		    !(state & OFFER_DEFERS) && !(late && has_spoken(fd)))
			return;
		if (!knock_take_back(c, fd))
			return;
	}
	if (state > 0 && (state & OFFER_AGREED) && late && has_spoken(fd))
		handshake_stay_native(c, REASON_TIMEOUT);
	else if (state > 0 && (state & OFFER_DEFERS) &&
		 handshake_is_here(&c->slot->peer))
		keep_quiet(c);
	else if (c->offer_entry || (state > 0 && (state & OFFER_AGREED)))
		start_client(c, fd);
	else if (is_foreign(c))
		leave_uncounted(c);
	else
		handshake_stay_native(c, REASON_PEER_NO_SMC);
}

/* Registry: until the entry is claimed nothing has happened yet. */
static bool unclaimed(struct connection *c)
{
	return c->offer_entry && !registry_is_claimed(c->offer_entry);
}

/* An acceptor that has the engine claims the offer before it does anything
 * else. So what comes without a claim is the program's: its bytes, or the end
 * of one that never accepted. */
static void leave_unclaimed(struct connection *c, int fd)
{
	if (!has_spoken(fd) || !registry_withdraw(c->offer_entry))
		return;
	c->offer_entry = 0;
	handshake_stay_native(c, REASON_PEER_NO_SMC);
}

/* The server waits no longer, or has gone. */
static void leave_quiet(struct connection *c, int fd)
{
	if (has_spoken(fd))
		handshake_end_offer(c, fd, REASON_TIMEOUT);
}

static void drop_entry_when_over(struct connection *c)
{
	if (!c->offer_entry || connection_phase(c) == PHASE_HANDSHAKE ||
	    connection_phase(c) == PHASE_CONNECTING)
		return;
	registry_done(c->offer_entry);
	c->offer_entry = 0;
}

void handshake_connected(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->rx);

	client_connected(c, fd);
	/* A thread that sleeps in an instance that has c looks at TCP alone. */
	if (connection_phase(c) == PHASE_HANDSHAKE && knock_is_pending(c) &&
	    c->members)
		settle_knock(c, fd);
	if (connection_phase(c) == PHASE_ACTIVE)
		handshake_was_met(c);
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
}

/* Engine lock held. patient: a knock may stay out. */
static uint32_t step(struct connection *c, int fd, bool patient)
{
	bool taken = stream_lock(&c->slot->rx);
	bool begins = connection_phase(c) == PHASE_CONNECTING;
	bool skips = !begins && connection_phase(c) == PHASE_HANDSHAKE &&
		     connection_clc(c)->state == CLC_SKIP_ANSWER;

	if (begins)
		client_connected(c, fd);
	knock_tidy(c);
	if (connection_phase(c) == PHASE_HANDSHAKE && knock_is_pending(c) &&
	    !knock_was_taken(c, fd) &&
	    !(patient && handshake_awaits_knock(c))) {
		settle_knock(c, fd);
		begins = true;
	}
	if (connection_phase(c) == PHASE_HANDSHAKE && unclaimed(c))
		leave_unclaimed(c, fd);
	if (connection_phase(c) == PHASE_HANDSHAKE && c->handshake.deferred)
		leave_quiet(c, fd);
	/* Nobody can have answered what was sent only now. */
	else if (connection_phase(c) == PHASE_HANDSHAKE && !unclaimed(c) &&
		 !knock_is_pending(c) &&
		 !(begins && connection_clc(c)->state == CLC_AWAIT_ACCEPT &&
		   !c->offer_entry))
		messages_read(c, fd);
	/* It is too late for this one, but the acceptor is at work. */
	if (connection_phase(c) == PHASE_ACTIVE ||
	    (skips && connection_phase(c) == PHASE_NATIVE))
		handshake_was_met(c);
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
	return connection_phase(c);
}

uint32_t handshake_step_locked(struct connection *c, int fd)
{
	return step(c, fd, false);
}

static uint32_t lock_and_step(struct connection *c, int fd, bool patient)
{
	sigset_t saved;
	uint32_t phase;

	engine_lock(&saved);
	phase = step(c, fd, patient);
	engine_unlock(&saved);
	return phase;
}

uint32_t handshake_step(struct connection *c, int fd)
{
	return lock_and_step(c, fd, false);
}

uint32_t handshake_look(struct connection *c, int fd)
{
	return lock_and_step(c, fd, true);
}

int handshake_error_of(struct connection *c, int fd, int error)
{
	sigset_t saved;
	int before = errno;
	bool forgiven;
	bool taken;

	engine_lock(&saved);
	taken = stream_lock(&c->slot->rx);
	forgiven = connection_phase(c) == PHASE_HANDSHAKE &&
		   !c->handshake.deferred && !knock_is_pending(c) &&
		   !unclaimed(c) && messages_forgive(c, fd, error);
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
	engine_unlock(&saved);
	errno = before;
	return forgiven ? 0 : error;
}

uint32_t handshake_speak(struct connection *c, int fd)
{
	sigset_t saved;
	bool taken;

	engine_lock(&saved);
	taken = stream_lock(&c->slot->rx);
	if (c->handshake.deferred &&
	    sys_now_ns() - c->handshake.begun_ns > QUIET_MS * 1000000u) {
		handshake_end_offer(c, fd, REASON_TIMEOUT);
	} else if (c->handshake.deferred) {
		c->handshake.deferred = false;
		start_client(c, fd);
	}
	stream_unlock(&c->slot->rx, taken);
	engine_unlock(&saved);
	return connection_phase(c);
}

static void abort_locked(struct connection *c, int fd, uint32_t reason)
{
	bool taken = stream_lock(&c->slot->rx);

	if (connection_phase(c) == PHASE_CONNECTING) {
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_NO_SMC);
		connection_drop_knock(c);
	} else if (connection_phase(c) == PHASE_HANDSHAKE) {
		handshake_end_offer(c, fd, reason);
	}
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
}

void handshake_abort(struct connection *c, int fd, uint32_t reason)
{
	sigset_t saved;

	engine_lock(&saved);
	handshake_step_locked(c, fd);
	abort_locked(c, fd, reason);
	engine_unlock(&saved);
}

/* The client offered SMC, and will say more at its next call. */
static bool is_proposal_due(struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE &&
	       connection_clc(c)->state == CLC_AWAIT_PROPOSAL;
}

bool handshake_is_unheard(struct connection *c, int fd)
{
	if (is_proposal_due(c) && c->unread == 0) {
		c->handshake.client_silent = true;
		handshake_abort(c, fd, REASON_TIMEOUT);
	}
	return c->handshake.client_silent;
}

bool handshake_is_silent(struct connection *c, bool asks_output)
{
	const struct clc *machine = connection_clc(c);

	return connection_phase(c) == PHASE_HANDSHAKE &&
	       c->slot->role == STATUS_SERVER && c->unread == 0 &&
	       !machine->deadline_ms &&
	       (machine->state == CLC_LATE ||
		(machine->state == CLC_AWAIT_PROPOSAL && !asks_output));
}

/* A Proposal would only be followed by a Decline. */
static void leave_unsaid(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->rx);

	if (knock_is_pending(c) && knock_take_back(c, fd))
		handshake_stay_native(c, REASON_CLOSED);
	stream_unlock(&c->slot->rx, taken);
}

bool handshake_leave(struct connection *c, int fd)
{
	uint64_t until;
	bool leaves;
	sigset_t saved;

	engine_lock(&saved);
	leave_unsaid(c, fd);
	handshake_step_locked(c, fd);
	leaves = messages_await_confirm(c);
	if (leaves)
		connection_use_smc(c);
	else
		abort_locked(c, fd, REASON_CLOSED);
	engine_unlock(&saved);
	/* A Proposal may be on its way: it must be read, or the close would
	 * reset the client's connection. */
	until = sys_now_ns() + CROSSING_MS * 1000000u;
	while (is_proposal_due(c) && sys_now_ns() < until) {
		handshake_wait_until(fd, until);
		handshake_step(c, fd);
	}
	return leaves;
}

void handshake_before_reset(struct connection *c, int fd)
{
	if (connection_phase(c) == PHASE_HANDSHAKE)
		handshake_step(c, fd);
}

void handshake_left(struct connection *c, int fd)
{
	uint64_t until = sys_now_ns() + CROSSING_MS * 1000000u;

	if (!messages_confirm_is_due(c))
		return;
	handshake_wait_until(fd, until);
	messages_drop(fd);
}

/* What the client has not read it need not answer. */
bool handshake_withdraw(struct connection *c, int fd)
{
	sigset_t saved;
	bool taken, done;

	engine_lock(&saved);
	taken = stream_lock(&c->slot->rx);
	done = messages_withdraw(c, fd);
	stream_unlock(&c->slot->rx, taken);
	engine_unlock(&saved);
	return done;
}

void handshake_give_up(struct connection *c, int fd)
{
	sigset_t saved;
	bool taken;

	engine_lock(&saved);
	taken = stream_lock(&c->slot->rx);
	if (connection_phase(c) == PHASE_HANDSHAKE)
		messages_carry_out(c, fd, clc_closed(connection_clc(c)), NULL);
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
	engine_unlock(&saved);
}

/* ---- fork ---- */

/* Engine lock held. Once the Accept is sent all is in shared memory, and
 * either process can go on; before that only we could. */
void handshake_before_fork(void)
{
	uint64_t until =
	    sys_now_ns() + process.handshake_ms * 1000000ull / FORK_PART;

	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct connection *c = connection_of(fd);

		if (!c || connection_phase(c) > PHASE_HANDSHAKE)
			continue;
		handshake_step_locked(c, fd);
		while (handshake_way(c, true) == WAY_AGAIN &&
		       !c->handshake.deferred && sys_now_ns() < until) {
			handshake_wait_until(fd, until);
			handshake_step_locked(c, fd);
		}
		if (connection_phase(c) == PHASE_CONNECTING ||
		    handshake_way(c, true) == WAY_AGAIN)
			abort_locked(c, fd, REASON_FORK);
	}
}
