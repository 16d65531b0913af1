/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake: from a TCP connection to SMC, or to plain TCP with a reason. */
#include "handshake.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

#include "lock.h"
#include "offer.h"
#include "process.h"
#include "proposal.h"
#include "real.h"
#include "reason.h"
#include "registry.h"
#include "segment.h"
#include "settings.h"
#include "sys.h"

/* A write that must not block waits for the acceptor a moment all the same:
 * once in the life of a connection, and less than a busy host's scheduler
 * takes to let it run. When the acceptor is this very process it may be this
 * very thread, so only one look is worth it. */
#define NONBLOCK_PATIENCE_MS 20
#define OWN_PATIENCE_MS      1
#define FORK_PATIENCE_MS     50

/* ---- sending and carrying out ---- */

static bool send_bytes(int fd, const void *bytes, int n)
{
	return SYS_CALL6(SYS_sendto, fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL,
			 0, 0) == n;
}

static void send_decline(struct connection *c, int fd)
{
	struct clc_decline d = {0};
	uint8_t bytes[64];
	int n;

	clc_decline(connection_clc(c), &d);
	proposal_identity(d.peer_id);
	n = clc_encode_decline(&d, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(fd, bytes, n);
	segment_count(declines_sent);
}

static void send_answer(struct connection *c, int fd, int type)
{
	struct clc_accept_confirm m = {.type = (uint8_t)type};
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	proposal_describe(c, &m);
	n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(fd, bytes, n);
}

/* A Proposal that went by the registry is not sent again. */
static void send_proposal(struct connection *c, int fd)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	if (c->offer_entry)
		return;
	n = proposal_bytes(&c->slot->local, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(fd, bytes, n);
}

static void carry_out_send(struct connection *c, int fd, enum clc_send what)
{
	switch (what) {
	case CLC_SEND_NOTHING:
		break;
	case CLC_SEND_PROPOSAL:
		send_proposal(c, fd);
		break;
	case CLC_SEND_ACCEPT:
		send_answer(c, fd, CLC_ACCEPT);
		break;
	case CLC_SEND_CONFIRM:
		send_answer(c, fd, CLC_CONFIRM);
		break;
	case CLC_SEND_DECLINE:
		send_decline(c, fd);
		break;
	}
}

/* A server that accepted may have bytes in the ring already; if the client
 * then declines they belong onto the TCP stream first. */
static void resend_early_bytes(struct connection *c, int fd)
{
	uint64_t end = atomic_load(&c->slot->tx.position);
	uint64_t at = 0;

	while (at < end) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		size_t offset = (size_t)(at & (c->size - 1));
		size_t n = c->size - offset;
		long sent;

		if (n > end - at)
			n = (size_t)(end - at);
		sent = SYS_CALL6(SYS_sendto, fd, c->out + offset, n,
				 MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
		if (sent > 0)
			at += (uint64_t)sent;
		else if (sent != -EAGAIN || SYS_CALL3(SYS_poll, &p, 1, -1) < 0)
			return;
	}
}

static void finish_tcp(struct connection *c, int fd)
{
	struct clc *m = connection_clc(c);

	if (m->peer_reason)
		segment_count(declines_received);
	if (c->rmb) {
		resend_early_bytes(c, fd);
		atomic_store(&c->slot->tx.position, 0);
		/* A client that declined does not use the element. */
		if (c->side == SIDE_SERVER)
			rmb_element_release(
			    rmb_element(&c->rmb->map, c->element));
		connection_detach(c, true);
	}
	connection_use_tcp(c, m->reason, m->peer_reason);
}

/* The stream cannot be told apart from data any more. */
static void finish_failed(struct connection *c, int fd)
{
	segment_count(handshake_errors);
	if (c->rmb)
		connection_detach(c, false);
	connection_use_tcp(c, connection_clc(c)->reason, 0);
	real.shutdown(fd, SHUT_RDWR);
}

static uint32_t attach_server(struct connection *c, const struct clc_message *m)
{
	struct rmb *rmb;
	uint32_t element;
	uint32_t reason;
	bool first;
	const struct snapshot *s = settings_now(&reason);

	if (!s)
		return reason;
	if (m->proposal.path_v1 != CLC_PATH_SMCR &&
	    m->proposal.path_v1 != CLC_PATH_BOTH)
		return REASON_NO_DEVICE;
	reason = linkgroup_take(m->proposal.peer_id, s, &rmb, &element, &first);
	if (reason)
		return reason;
	connection_attach(c, rmb, element, SIDE_SERVER);
	proposal_remember_first(c, first);
	return REASON_NONE;
}

static uint32_t attach_client(struct connection *c, const struct clc_message *m)
{
	const struct clc_accept_confirm *a = &m->accept_confirm;
	uint8_t nonce[NONCE_BYTES];
	struct rmb *rmb;
	uint32_t reason;

	if (a->index == 0)
		return REASON_MESSAGE;
	clc_nonce_get(a, nonce);
	reason = linkgroup_take_named(a->peer_id, nonce, a->qpn,
				      (uint32_t)a->index - 1, &rmb);
	if (reason)
		return reason;
	connection_attach(c, rmb, (uint32_t)a->index - 1, SIDE_CLIENT);
	proposal_remember_first(c, a->first_contact);
	return REASON_NONE;
}

static struct clc_action prepare(struct connection *c,
				 const struct clc_message *m)
{
	struct clc *machine = connection_clc(c);
	uint32_t reason = c->slot->role == STATUS_SERVER ? attach_server(c, m)
							 : attach_client(c, m);

	if (reason)
		return clc_abort(machine, reason, 0);
	return clc_commit(machine, 0);
}

/* The client proves with its Confirm that the channel was its own. */
static bool confirm_is_right(struct connection *c, const struct clc_message *m)
{
	uint8_t proof[NONCE_BYTES];

	if (m->type != CLC_CONFIRM)
		return true;
	clc_nonce_get(&m->accept_confirm, proof);
	return c->rmb && c->rmb->group
		   ? memcmp(proof, c->rmb->group->proof, NONCE_BYTES) == 0
		   : c->rmb != NULL;
}

static void carry_out(struct connection *c, int fd, struct clc_action a,
		      const struct clc_message *m)
{
	if (a.next == CLC_PREPARE)
		a = prepare(c, m);
	carry_out_send(c, fd, a.send);
	switch (a.next) {
	case CLC_WAIT:
	case CLC_PREPARE:
		break;
	case CLC_USE_SMC:
		if (confirm_is_right(c, m)) {
			connection_use_smc(c);
			break;
		}
		connection_clc(c)->reason = REASON_SYNC;
		finish_failed(c, fd);
		break;
	case CLC_USE_TCP:
		finish_tcp(c, fd);
		break;
	case CLC_FAIL:
		finish_failed(c, fd);
		break;
	}
}

/* ---- the peer's messages ---- */

static void take_bytes(int fd, uint8_t *bytes, size_t n)
{
	SYS_CALL6(SYS_recvfrom, fd, bytes, n, MSG_DONTWAIT, 0, 0);
}

static void read_messages(struct connection *c, int fd)
{
	struct clc *machine = connection_clc(c);
	static const struct clc_message none;
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	struct clc_action a;
	long n;

	while (!clc_is_over(machine) &&
	       connection_phase(c) == PHASE_HANDSHAKE) {
		memset(&m, 0, sizeof(m));
		n = SYS_CALL6(SYS_recvfrom, fd, bytes, sizeof(bytes),
			      MSG_PEEK | MSG_DONTWAIT, 0, 0);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			carry_out(c, fd, clc_closed(machine), &none);
			return;
		}
		a = clc_feed(machine, bytes, (size_t)n, &m, 0);
		if (a.take)
			take_bytes(fd, bytes, a.take);
		carry_out(c, fd, a, &m);
		if (a.take == 0)
			return;
	}
}

/* ---- beginning ---- */

static void begin(struct connection *c, bool server)
{
	struct clc_config config = {.server = server, .peer_is_ours = true};

	clc_init(connection_clc(c), &config, 0);
	c->deadline_ns = sys_now_ns() + HANDSHAKE_MS * 1000000ull;
	atomic_store(&c->slot->phase, PHASE_HANDSHAKE);
}

/* Neither side is committed to anything: TCP, without a word. */
static void stay_native(struct connection *c, uint32_t reason)
{
	connection_use_tcp(c, reason, 0);
}

static void start_client(struct connection *c, int fd)
{
	static const struct clc_message none;
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
		carry_out(c, fd, clc_abort(connection_clc(c), reason, 0),
			  &none);
	else
		carry_out(c, fd, clc_start(connection_clc(c), &p, 0), &none);
}

static bool is_connected(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	return SYS_CALL3(SYS_getpeername, fd, &a, &n) == 0;
}

/* TCP is connected: was the offer taken? */
static void client_connected(struct connection *c, int fd)
{
	if (!is_connected(fd))
		return;
	connection_addresses(c, fd);
	if (c->offer_entry) {
		start_client(c, fd);
		return;
	}
	if (offer_state(fd) > 0 && (offer_state(fd) & OFFER_AGREED))
		start_client(c, fd);
	else
		stay_native(c, REASON_PEER_NO_SMC);
}

/* Registry: until the entry is claimed nothing has happened yet. */
static bool unclaimed(struct connection *c)
{
	return c->offer_entry && !registry_is_claimed(c->offer_entry);
}

static void withdraw(struct connection *c, int fd, uint32_t reason)
{
	static const struct clc_message none;

	if (c->offer_entry && registry_withdraw(c->offer_entry)) {
		c->offer_entry = 0;
		stay_native(c, reason);
		return;
	}
	carry_out(c, fd, clc_abort(connection_clc(c), reason, 0), &none);
}

static void drop_entry_when_over(struct connection *c)
{
	if (!c->offer_entry || connection_phase(c) == PHASE_HANDSHAKE ||
	    connection_phase(c) == PHASE_CONNECTING)
		return;
	registry_done(c->offer_entry);
	c->offer_entry = 0;
}

static uint32_t step_locked(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->rx);

	if (connection_phase(c) == PHASE_CONNECTING)
		client_connected(c, fd);
	if (connection_phase(c) == PHASE_HANDSHAKE && !unclaimed(c))
		read_messages(c, fd);
	drop_entry_when_over(c);
	stream_unlock(&c->slot->rx, taken);
	return connection_phase(c);
}

uint32_t handshake_step(struct connection *c, int fd)
{
	sigset_t saved;
	uint32_t phase;

	engine_lock(&saved);
	phase = step_locked(c, fd);
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
	step_locked(c, fd);
	abort_locked(c, fd, reason);
	engine_unlock(&saved);
}

/* ---- connect and accept ---- */

static uint16_t port_of(const struct sockaddr *a, socklen_t n)
{
	const struct sockaddr_in *v4 = (const void *)a;

	/* The port stands at the same place in both families. */
	if (n >= sizeof(*v4) &&
	    (a->sa_family == AF_INET || a->sa_family == AF_INET6))
		return ntohs(v4->sin_port);
	return 0;
}

static int integer_option(int fd, int level, int name)
{
	int value = 0;
	socklen_t n = sizeof(value);

	if (SYS_CALL6(SYS_getsockopt, fd, level, name, &value, &n, 0) < 0)
		return -1;
	return value;
}

/* What SMC could not carry, or the program would miss. */
static uint32_t unsuitable(int fd)
{
	if (integer_option(fd, SOL_SOCKET, SO_ZEROCOPY) > 0 ||
	    integer_option(fd, SOL_SOCKET, SO_TIMESTAMP) > 0 ||
	    integer_option(fd, SOL_SOCKET, SO_OOBINLINE) > 0 ||
	    integer_option(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT) > 0)
		return REASON_OPTION_UNSUPPORTED;
	return REASON_NONE;
}

static bool is_tcp(int fd)
{
	return integer_option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP;
}

static void offer_by_registry(struct connection *c)
{
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
	int n = proposal_bytes(&c->slot->local, bytes, sizeof(bytes));

	if (n > 0)
		c->offer_entry =
		    registry_offer(c->slot->cookie, bytes, (uint32_t)n);
}

static void make_offer(struct connection *c, int fd, uint16_t port)
{
	uint8_t id[PEER_ID_BYTES];

	if (linkgroup_identity(id) < 0)
		return;
	if (offer_mark(fd) == 0)
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_OFFERED);
	else if (registry_has_listener(port))
		offer_by_registry(c);
}

bool handshake_before_connect(int fd, const struct sockaddr *a, socklen_t n)
{
	uint16_t port = port_of(a, n);
	const struct snapshot *s;
	struct connection *c = NULL;
	uint32_t reason;
	sigset_t saved;

	if (port == 0)
		return false;
	engine_lock(&saved);
	s = settings_now(&reason);
	if (s && settings_match(s, NULL, port) == REASON_NONE && is_tcp(fd) &&
	    !is_connected(fd))
		c = connection_new(fd, STATUS_CLIENT);
	if (c) {
		c->slot->peer_port = port;
		if (unsuitable(fd))
			atomic_fetch_or(&c->slot->socket_flags, SOCKET_NO_SMC);
		else
			make_offer(c, fd, port);
		fdtable_set(fd, &c->entry);
	}
	engine_unlock(&saved);
	return c != NULL;
}

/* A connect that failed leaves nothing; the program may try another. */
static void forget(struct connection *c, int fd)
{
	struct fdentry *e;

	if (c->offer_entry)
		registry_withdraw(c->offer_entry);
	if (fdtable_clear(fd, &e)) {
		atomic_store(&c->slot->phase, PHASE_NATIVE);
		connection_release(c);
	}
}

void handshake_after_connect(int fd, int result, int error)
{
	struct connection *c = connection_of(fd);
	const struct snapshot *s;
	uint32_t reason;
	sigset_t saved;

	if (!c || connection_phase(c) != PHASE_CONNECTING)
		return;
	engine_lock(&saved);
	if (result < 0 && error != EINPROGRESS && error != EINTR &&
	    error != EALREADY) {
		forget(c, fd);
		engine_unlock(&saved);
		return;
	}
	if (result == 0) {
		/* Only now the local address is known. */
		connection_addresses(c, fd);
		s = settings_now(&reason);
		if (s && !c->offer_entry &&
		    settings_match(s, &c->slot->local, c->slot->peer_port) ==
			REASON_ADDRESS &&
		    !(offer_state(fd) > 0 && (offer_state(fd) & OFFER_AGREED)))
			forget(c, fd);
		else
			step_locked(c, fd);
	}
	engine_unlock(&saved);
}

static void start_server(struct connection *c, int fd)
{
	begin(c, true);
	if (unsuitable(fd))
		withdraw(c, fd, REASON_OPTION_UNSUPPORTED);
	else
		read_messages(c, fd);
}

/* The Proposal did not come by the stream; the machine does not care. */
static void start_claimed(struct connection *c, int fd, uint8_t *bytes,
			  uint32_t n)
{
	struct clc_message m;
	struct clc_action a;

	begin(c, true);
	memset(&m, 0, sizeof(m));
	a = clc_feed(connection_clc(c), bytes, n, &m, 0);
	carry_out(c, fd, a, &m);
}

static void take_up(struct connection *c, int fd,
		    const struct sockaddr_storage *local)
{
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);
	int state = offer_state(fd);
	uint32_t claimed;

	if (state >= 0) {
		if (state & OFFER_AGREED)
			start_server(c, fd);
		else
			stay_native(c, REASON_PEER_NO_SMC);
		return;
	}
	memset(&peer, 0, sizeof(peer));
	SYS_CALL3(SYS_getpeername, fd, &peer, &n);
	claimed = registry_claim(fd, local, &peer, bytes);
	if (claimed)
		start_claimed(c, fd, bytes, claimed);
	else
		stay_native(c, REASON_PEER_NO_SMC);
}

static bool local_matches(const struct snapshot *s, int fd,
			  struct sockaddr_storage *local)
{
	struct in6_addr address;
	uint16_t port;
	socklen_t n = sizeof(*local);

	memset(local, 0, sizeof(*local));
	if (SYS_CALL3(SYS_getsockname, fd, local, &n) < 0)
		return false;
	port = port_of((struct sockaddr *)local, n);
	if (local->ss_family == AF_INET6) {
		address = ((struct sockaddr_in6 *)local)->sin6_addr;
	} else {
		memset(&address, 0, sizeof(address));
		address.s6_addr[10] = address.s6_addr[11] = 0xff;
		memcpy(&address.s6_addr[12],
		       &((struct sockaddr_in *)local)->sin_addr, 4);
	}
	return port && settings_match(s, &address, port) == REASON_NONE;
}

void handshake_accepted(int listener, int fd)
{
	struct sockaddr_storage local;
	const struct snapshot *s;
	struct connection *c;
	uint32_t reason;
	sigset_t saved;
	bool taken;

	(void)listener;
	engine_lock(&saved);
	s = settings_now(&reason);
	if (s && s->enabled && local_matches(s, fd, &local)) {
		c = connection_new(fd, STATUS_SERVER);
		if (c) {
			connection_addresses(c, fd);
			fdtable_set(fd, &c->entry);
			taken = stream_lock(&c->slot->rx);
			take_up(c, fd, &local);
			stream_unlock(&c->slot->rx, taken);
		}
	}
	engine_unlock(&saved);
}

/* ---- data calls ---- */

static enum way way_of(struct connection *c, bool write)
{
	switch (connection_phase(c)) {
	case PHASE_ACTIVE:
		return WAY_RING;
	case PHASE_NATIVE:
	case PHASE_CONNECTING:
		return WAY_KERNEL;
	default:
		break;
	}
	if (write && clc_can_write(connection_clc(c)))
		return WAY_KERNEL;
	/* A server that accepted may fill the client's buffer already. */
	if (write && c->rmb && connection_clc(c)->state == CLC_AWAIT_CONFIRM)
		return WAY_RING;
	return WAY_AGAIN;
}

/* Sleeps as a read of the TCP socket does: time-outs, signals and restarts are
 * the kernel's. Wakes when there is one byte more than the message so far. */
static int wait_for_message(int fd, size_t have)
{
	uint8_t bytes[CLC_BYTES_MAX];

	if (have >= sizeof(bytes))
		return 0;
	return real.recvfrom(fd, bytes, have + 1, MSG_PEEK | MSG_WAITALL, NULL,
			     NULL) < 0
		   ? -1
		   : 0;
}

static size_t bytes_waiting(int fd)
{
	uint8_t bytes[CLC_BYTES_MAX];
	long n = SYS_CALL6(SYS_recvfrom, fd, bytes, sizeof(bytes),
			   MSG_PEEK | MSG_DONTWAIT, 0, 0);

	return n > 0 ? (size_t)n : 0;
}

static void wait_ms(int fd, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now = sys_now_ns();
	struct timespec t = {0, 0};

	if (now >= until_ns)
		return;
	t.tv_nsec = (long)(until_ns - now);
	real.ppoll(&p, 1, &t, NULL);
}

enum way handshake_for_read(struct connection *c, int fd, bool wait)
{
	enum way way;

	handshake_step(c, fd);
	while ((way = way_of(c, false)) == WAY_AGAIN && wait) {
		if (wait_for_message(fd, bytes_waiting(fd)) < 0)
			return WAY_ERROR;
		handshake_step(c, fd);
	}
	return way;
}

static bool is_own_listener(uint16_t port)
{
	for (int fd = 0; fd < fdtable_end(); fd++) {
		const struct listener *l =
		    (const void *)fdtable_kind(fd, FDENTRY_LISTENER);

		if (l && l->port == port)
			return true;
	}
	return false;
}

static uint64_t patience_ns(const struct connection *c)
{
	if (c->slot->role == STATUS_CLIENT &&
	    is_own_listener(c->slot->peer_port))
		return OWN_PATIENCE_MS * 1000000u;
	return NONBLOCK_PATIENCE_MS * 1000000u;
}

enum way handshake_for_write(struct connection *c, int fd, bool wait)
{
	uint64_t until = c->deadline_ns;
	enum way way;

	handshake_step(c, fd);
	if (!wait && way_of(c, true) == WAY_AGAIN)
		until = sys_now_ns() + patience_ns(c);
	while ((way = way_of(c, true)) == WAY_AGAIN) {
		if (sys_now_ns() >= until) {
			handshake_abort(c, fd, REASON_TIMEOUT);
			way = way_of(c, true);
			break;
		}
		wait_ms(fd, until);
		handshake_step(c, fd);
	}
	return way;
}

bool handshake_hides_output(struct connection *c, int fd)
{
	if (way_of(c, true) != WAY_AGAIN)
		return false;
	if (sys_now_ns() < c->deadline_ns)
		return true;
	handshake_abort(c, fd, REASON_TIMEOUT);
	return way_of(c, true) == WAY_AGAIN;
}

int handshake_left_ms(const struct connection *c)
{
	uint64_t now = sys_now_ns();

	return now >= c->deadline_ns
		   ? 0
		   : (int)((c->deadline_ns - now) / 1000000u) + 1;
}

/* Engine lock held. Once the Accept is sent all is in shared memory, and
 * either process can go on; before that only we could. */
void handshake_before_fork(void)
{
	uint64_t until = sys_now_ns() + FORK_PATIENCE_MS * 1000000u;

	for (int fd = 0; fd < fdtable_end(); fd++) {
		struct connection *c = connection_of(fd);

		if (!c || connection_phase(c) > PHASE_HANDSHAKE)
			continue;
		step_locked(c, fd);
		while (way_of(c, true) == WAY_AGAIN && sys_now_ns() < until) {
			wait_ms(fd, until);
			step_locked(c, fd);
		}
		if (connection_phase(c) == PHASE_CONNECTING ||
		    way_of(c, true) == WAY_AGAIN)
			abort_locked(c, fd, REASON_FORK);
	}
}
