/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake: from a TCP connection to SMC, or to plain TCP with a reason. */
#include "handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "lock.h"
#include "messages.h"
#include "offer.h"
#include "plain.h"
#include "process.h"
#include "proposal.h"
#include "reason.h"
#include "registry.h"
#include "segment.h"
#include "settings.h"
#include "sys.h"
#include "traits.h"

#define FORK_PART  4 /* of process.handshake_ms: a fork waits so long */
#define SELF_STEPS 4 /* messages of both ends, one by one */

/* ---- beginning ---- */

static uint64_t now_ms(void)
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

static void begin(struct connection *c, bool server)
{
	struct clc_config config = {.server = server,
				    .peer_is_ours = is_on_this_host(c->slot)};

	clc_init(connection_clc(c), &config, now_ms());
	handshake_start_clock(c);
	atomic_store(&c->slot->phase, PHASE_HANDSHAKE);
}

/* Neither side is committed to anything: TCP, without a word. */
static void stay_native(struct connection *c, uint32_t reason)
{
	connection_use_tcp(c, reason, 0);
}

static void leave_uncounted(struct connection *c)
{
	c->slot->reason = REASON_ADDRESS;
	atomic_store(&c->slot->state, STATUS_TCP);
	connection_set_native(c);
}

/* An offer in the registry that nobody claimed commits nobody. */
static void withdraw(struct connection *c, int fd, uint32_t reason)
{
	if (!c->offer_entry || !registry_withdraw(c->offer_entry)) {
		messages_carry_out(
		    c, fd, clc_abort(connection_clc(c), reason, now_ms()),
		    NULL);
		return;
	}
	c->offer_entry = 0;
	if (reason == REASON_ADDRESS)
		leave_uncounted(c);
	else
		stay_native(c, reason);
}

static void start_client(struct connection *c, int fd)
{
	struct clc_proposal p;
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);

	begin(c, false);
	if (s)
		reason = settings_match(s, &c->slot->local, c->slot->peer_port);
	if (!reason && (atomic_load(&c->slot->socket_flags) & SOCKET_NO_SMC))
		reason = REASON_FORK;
	if (!reason && proposal_make(&c->slot->local, &p) < 0)
		reason = REASON_RENDEZVOUS;
	if (reason)
		withdraw(c, fd, reason);
	else
		messages_carry_out(
		    c, fd, clc_start(connection_clc(c), &p, now_ms()), NULL);
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

/* A connect that failed leaves nothing; the program may try another. */
static void forget(struct connection *c, int fd)
{
	struct fdentry *e;

	if (c->offer_entry)
		registry_withdraw(c->offer_entry);
	c->offer_entry = 0;
	connection_set_native(c);
	if (c->members)
		connection_on_native(c, true);
	if (fdtable_clear(fd, &e))
		connection_release(c);
}

/* A server that could wait no longer sent data, or closed: it says so without
 * a Proposal, too. */
static bool has_spoken(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return SYS_CALL3(SYS_poll, &p, 1, 0) == 1;
}

/* TCP is connected: was the offer taken? */
static void client_connected(struct connection *c, int fd)
{
	/* Since when, nobody knows. */
	bool late = !c->connected;
	struct option_answer answer;
	int state;

	if (c->slot->peer_port == 0 || !c->connected)
		c->connected = read_peer(c, fd);
	if (!c->connected)
		return;
	state = c->offer_entry ? -EOPNOTSUPP : offer_look(fd, &answer);
	if (state >= 0 && answer.port) {
		memcpy(&c->slot->local, answer.address, sizeof(c->slot->local));
		c->slot->local_port = (uint16_t)answer.port;
	} else {
		read_local(c, fd);
	}
	if (state > 0 && (state & OFFER_AGREED) && late && has_spoken(fd))
		stay_native(c, REASON_TIMEOUT);
	else if (c->offer_entry || (state > 0 && (state & OFFER_AGREED)))
		start_client(c, fd);
	else if (is_foreign(c))
		leave_uncounted(c);
	else
		stay_native(c, REASON_PEER_NO_SMC);
}

/* Registry: until the entry is claimed nothing has happened yet. */
static bool unclaimed(struct connection *c)
{
	return c->offer_entry && !registry_is_claimed(c->offer_entry);
}

/* Who has the engine claims the offer before it does anything else. So what
 * comes without a claim is the program's: its bytes, or the end of one that
 * never accepted. */
static void leave_unclaimed(struct connection *c, int fd)
{
	if (!has_spoken(fd) || !registry_withdraw(c->offer_entry))
		return;
	c->offer_entry = 0;
	stay_native(c, REASON_PEER_NO_SMC);
}

static void drop_entry_when_over(struct connection *c)
{
	if (!c->offer_entry || connection_phase(c) == PHASE_HANDSHAKE ||
	    connection_phase(c) == PHASE_CONNECTING)
		return;
	registry_done(c->offer_entry);
	c->offer_entry = 0;
}

uint32_t handshake_step_locked(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->rx);
	bool begins = connection_phase(c) == PHASE_CONNECTING;

	if (begins)
		client_connected(c, fd);
	if (connection_phase(c) == PHASE_HANDSHAKE && unclaimed(c))
		leave_unclaimed(c, fd);
	/* Nobody can have answered what was sent only now. */
	if (connection_phase(c) == PHASE_HANDSHAKE && !unclaimed(c) &&
	    !(begins && connection_clc(c)->state == CLC_AWAIT_ACCEPT &&
	      !c->offer_entry))
		messages_read(c, fd);
	if (connection_phase(c) == PHASE_ACTIVE)
		handshake_was_met(c);
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
	return connection_phase(c);
}

uint32_t handshake_step(struct connection *c, int fd)
{
	sigset_t saved;
	uint32_t phase;

	engine_lock(&saved);
	phase = handshake_step_locked(c, fd);
	engine_unlock(&saved);
	return phase;
}

static void abort_locked(struct connection *c, int fd, uint32_t reason)
{
	bool taken = stream_lock(&c->slot->rx);

	if (connection_phase(c) == PHASE_CONNECTING)
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_NO_SMC);
	else if (connection_phase(c) == PHASE_HANDSHAKE)
		withdraw(c, fd, reason);
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

bool handshake_leave(struct connection *c, int fd)
{
	uint64_t until;
	bool leaves;
	sigset_t saved;

	engine_lock(&saved);
	handshake_step_locked(c, fd);
	leaves = messages_await_confirm(c);
	if (leaves)
		connection_use_smc(c);
	else
		abort_locked(c, fd, REASON_CLOSED);
	engine_unlock(&saved);
	/* Or its kernel would be reset for what it says. */
	until = sys_now_ns() + CROSSING_MS * 1000000u;
	while (is_proposal_due(c) && sys_now_ns() < until) {
		handshake_wait_until(fd, until);
		handshake_step(c, fd);
	}
	return leaves;
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

/* ---- connect ---- */

static uint16_t port_of(const struct sockaddr *a, socklen_t n)
{
	const struct sockaddr_in *v4 = (const void *)a;

	/* The port stands at the same place in both families. */
	if (n >= sizeof(*v4) &&
	    (a->sa_family == AF_INET || a->sa_family == AF_INET6))
		return ntohs(v4->sin_port);
	return 0;
}

static void offer_by_registry(struct connection *c, int fd)
{
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
	int n = proposal_bytes(&c->slot->local, bytes, sizeof(bytes));
	socklen_t l = sizeof(c->slot->cookie);

	SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_COOKIE, &c->slot->cookie,
		  &l, 0);
	if (n > 0)
		c->offer_entry =
		    registry_offer(c->slot->cookie, bytes, (uint32_t)n);
}

static void make_offer(struct connection *c, int fd, uint16_t port, bool marked)
{
	uint8_t id[PEER_ID_BYTES];

	if (identity_get(id) < 0)
		return;
	if (marked || offer_mark(fd) == 0)
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_OFFERED);
	else if (registry_has_listener(port))
		offer_by_registry(c, fd);
}

static uint32_t nonblock_flag(int fd)
{
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);

	return flags > 0 && (flags & O_NONBLOCK) ? SOCKET_NONBLOCK : 0;
}

static void copy_name(struct sockaddr_storage *copy, const struct sockaddr *a,
		      socklen_t n)
{
	memset(copy, 0, sizeof(*copy));
	memcpy(copy, a, n < sizeof(*copy) ? n : sizeof(*copy));
}

static void fill_peer(struct connection *c, const struct sockaddr *a,
		      socklen_t n)
{
	struct sockaddr_storage copy;

	copy_name(&copy, a, n);
	connection_set_peer(c, &copy);
}

/* Whoever is there is on this host. */
static bool is_here(const struct sockaddr *a, socklen_t n)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;
	struct in6_addr where = IN6ADDR_ANY_INIT;

	if (a->sa_family == AF_INET) {
		where.s6_addr[10] = where.s6_addr[11] = 0xff;
		memcpy(&where.s6_addr[12], &v4->sin_addr, 4);
	} else if (n >= sizeof(*v6)) {
		where = v6->sin6_addr;
	}
	return IN6_IS_ADDR_LOOPBACK(&where) ||
	       (IN6_IS_ADDR_V4MAPPED(&where) &&
		where.s6_addr[12] == IN_LOOPBACKNET) ||
	       settings_has_address(&where);
}

/* Engine lock held. marked: the offer is made already. */
static bool begin_client(int fd, const struct sockaddr *a, socklen_t n,
			 const struct traits *t, bool marked)
{
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);
	struct connection *c = NULL;

	if (s && settings_match(s, NULL, port_of(a, n)) == REASON_NONE)
		c = connection_new(STATUS_CLIENT,
				   t->options | nonblock_flag(fd), false);
	if (!c)
		return false;
	c->lingers = t->lingers;
	fill_peer(c, a, n);
	if (t->unsuitable || segment_is_crowded())
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_NO_SMC);
	else
		make_offer(c, fd, port_of(a, n), marked);
	fdtable_set(fd, &c->entry);
	return true;
}

enum prospect handshake_before_connect(int fd, const struct sockaddr *a,
				       socklen_t n)
{
	uint16_t port = port_of(a, n);
	struct traits t;
	bool begun, marked;
	int visit = -EAGAIN;
	sigset_t saved;

	if (port == 0 || !settings_may_match(port))
		return PROSPECT_NOT_OURS;
	t = traits_of(fd);
	if (!t.tcp)
		return PROSPECT_NOT_OURS;
	if (is_here(a, n) && !t.unsuitable)
		visit = offer_mark_visitor(fd, port);
	if (visit == -ENOENT)
		return PROSPECT_NOBODY;
	engine_lock(&saved);
	begun = begin_client(fd, a, n, &t, visit == 0);
	marked = begun && (atomic_load(&connection_of(fd)->slot->socket_flags) &
			   SOCKET_OFFERED);
	engine_unlock(&saved);
	if (visit == 0 && !marked)
		offer_unmark(fd);
	return begun ? PROSPECT_OURS : PROSPECT_NOT_OURS;
}

static bool is_connected(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	return SYS_CALL3(SYS_getpeername, fd, &a, &n) == 0;
}

/* What begins now is SMC-R's by address and port. No lock needed. */
static bool is_served(const struct in6_addr *local, uint16_t server_port)
{
	uint32_t reason;
	sigset_t saved;

	if (settings_moved(settings_generation())) {
		engine_lock(&saved);
		settings_now(&reason);
		engine_unlock(&saved);
	}
	return settings_may_match(server_port) && settings_has_address(local);
}

static bool local_name(int fd, struct sockaddr_storage *a)
{
	socklen_t n = sizeof(*a);

	memset(a, 0, sizeof(*a));
	return SYS_CALL3(SYS_getsockname, fd, a, &n) == 0;
}

void handshake_after_plain(int fd, const struct sockaddr *a, socklen_t n,
			   int result, int error)
{
	struct plain p = {.role = STATUS_CLIENT, .reason = REASON_PEER_NO_SMC};
	struct sockaddr_storage name;

	if (result < 0 && (error != EINPROGRESS || !is_connected(fd)))
		return;
	if (!local_name(fd, &name))
		return;
	connection_name(&name, &p.local, &p.local_port);
	copy_name(&name, a, n);
	connection_name(&name, &p.peer, &p.peer_port);
	if (is_served(&p.local, p.peer_port))
		plain_keep(fd, &p);
}

void handshake_after_connect(int fd, int result, int error)
{
	struct connection *c = connection_of(fd);
	sigset_t saved;

	if (!c || connection_phase(c) != PHASE_CONNECTING)
		return;
	engine_lock(&saved);
	if (result < 0 && error != EINPROGRESS && error != EINTR &&
	    error != EALREADY) {
		forget(c, fd);
	} else if (result == 0) {
		c->connected = true;
		handshake_step_locked(c, fd);
		if (connection_phase(c) == PHASE_NATIVE &&
		    c->slot->reason == REASON_ADDRESS)
			forget(c, fd);
	}
	engine_unlock(&saved);
}

/* ---- accept ---- */

/* The Proposal did not come by the stream; the machine does not care. */
static void start_claimed(struct connection *c, int fd, uint8_t *bytes,
			  uint32_t n)
{
	struct clc_message m;
	struct clc_action a;

	begin(c, true);
	memset(&m, 0, sizeof(m));
	a = clc_feed(connection_clc(c), bytes, n, &m, now_ms());
	messages_look_behind(c, fd, &m);
	messages_carry_out(c, fd, a, &m);
}

/* How the client's offer came, if it came, and where to. */
struct arrival {
	int state;     /* offer_look() */
	bool agreed;   /* by TCP option */
	uint16_t port; /* local; 0: not known */
	struct in6_addr local;
	struct sockaddr_storage name; /* the same, without BPF */
	uint32_t claimed; /* bytes of a Proposal from the registry */
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
};

static void take_up(struct connection *c, int fd, struct arrival *a,
		    uint32_t reason)
{
	bool taken = stream_lock(&c->slot->rx);

	if (a->claimed)
		start_claimed(c, fd, a->bytes, a->claimed);
	else if (a->agreed)
		begin(c, true);
	else
		stay_native(c, REASON_PEER_NO_SMC);
	if (connection_phase(c) == PHASE_HANDSHAKE) {
		if (reason)
			withdraw(c, fd, reason);
		messages_read(c, fd);
	}
	stream_unlock(&c->slot->rx, taken);
}

/* The BPF program tells the socket's own name with its answer; where it does
 * not, the kernel is asked. */
static void ask(int fd, struct arrival *a)
{
	struct option_answer answer;

	a->state = offer_look(fd, &answer);
	a->agreed = a->state > 0 && (a->state & OFFER_AGREED);
	a->port = 0;
	if (a->state >= 0 && answer.port) {
		memcpy(&a->local, answer.address, sizeof(a->local));
		a->port = (uint16_t)answer.port;
	} else if (local_name(fd, &a->name)) {
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

/* Whatever the settings say by now: if the SYN-ACK carried the option, the
 * client sends CLC, and nobody but us may read it. */
static void accept_locked(int fd, struct arrival *a,
			  const struct sockaddr_storage *peer, bool nonblock)
{
	uint32_t reason = match_local(a);
	struct traits t = traits_of(fd);
	struct connection *c;

	a->claimed = 0;
	if (a->state < 0 && !reason)
		a->claimed = registry_claim(fd, &a->name, peer, a->bytes);
	if (reason && !a->agreed)
		return;
	if (t.unsuitable)
		reason = REASON_OPTION_UNSUPPORTED;
	else if (!reason && segment_is_crowded())
		reason = REASON_CHILDREN;
	c = connection_new(STATUS_SERVER,
			   t.options | (nonblock ? SOCKET_NONBLOCK : 0),
			   a->agreed || a->claimed);
	if (!c)
		return;
	if (!reason && (atomic_load(&c->slot->socket_flags) & SOCKET_NO_SMC))
		reason = REASON_MEMORY;
	c->lingers = t.lingers;
	c->slot->local = a->local;
	c->slot->local_port = a->port;
	connection_set_peer(c, peer);
	fdtable_set(fd, &c->entry);
	take_up(c, fd, a, reason);
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
	for (int i = 0; i < fdtable_end(); i++) {
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

/* The BPF program knows it, and nothing was agreed. */
static void keep_plain(int fd, const struct arrival *a,
		       const struct sockaddr_storage *peer)
{
	struct plain p = {.role = STATUS_SERVER,
			  .reason = REASON_PEER_NO_SMC,
			  .local = a->local,
			  .local_port = a->port};

	connection_name(peer, &p.peer, &p.peer_port);
	if (is_served(&p.local, p.local_port))
		plain_keep(fd, &p);
}

void handshake_accepted(int fd, const struct sockaddr_storage *peer,
			bool nonblock)
{
	struct arrival a;
	struct connection *c;
	sigset_t saved;

	ask(fd, &a);
	if (a.state >= 0 && !a.agreed) {
		keep_plain(fd, &a, peer);
		return;
	}
	engine_lock(&saved);
	accept_locked(fd, &a, peer, nonblock);
	c = connection_of(fd);
	if (c && connection_phase(c) == PHASE_HANDSHAKE &&
	    connections_starting())
		meet_self(c, fd);
	engine_unlock(&saved);
}

/* ---- fork ---- */

/* Engine lock held. Once the Accept is sent all is in shared memory, and
 * either process can go on; before that only we could. */
void handshake_before_fork(void)
{
	uint64_t until =
	    sys_now_ns() + process.handshake_ms * 1000000ull / FORK_PART;

	for (int fd = 0; fd < fdtable_end(); fd++) {
		struct connection *c = connection_of(fd);

		if (!c || connection_phase(c) > PHASE_HANDSHAKE)
			continue;
		handshake_step_locked(c, fd);
		while (handshake_way(c, true) == WAY_AGAIN &&
		       sys_now_ns() < until) {
			handshake_wait_until(fd, until);
			handshake_step_locked(c, fd);
		}
		if (connection_phase(c) == PHASE_CONNECTING ||
		    handshake_way(c, true) == WAY_AGAIN)
			abort_locked(c, fd, REASON_FORK);
	}
}
