/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake_connect: what connect() begins. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "smc_r/connection/passthrough.h"
#include "smc_r/connection/proposal.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/handshake_begin.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/no_smc_cache.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

/* Where connect() goes to. */
struct target {
	struct sockaddr_storage name;
	struct in6_addr where;
	uint16_t port; /* 0: none of ours */
};

static struct target target_of(const struct sockaddr *a, socklen_t n)
{
	struct target to = {.port = 0};

	if (n < sizeof(struct sockaddr_in))
		return to;
	memcpy(&to.name, a, n < sizeof(to.name) ? n : sizeof(to.name));
	connection_name(&to.name, &to.where, &to.port);
	return to;
}

static void offer_by_registry(struct connection *c, int fd)
{
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
	int n = proposal_bytes(&c->slot->local, bytes, sizeof(bytes));

	sys_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &c->slot->cookie,
		       sizeof(c->slot->cookie));
	if (n > 0)
		c->opening.offer_entry =
		    registry_offer(c->slot->cookie, bytes, (uint32_t)n);
}

static void make_offer(struct connection *c, int fd, uint16_t port, bool marked)
{
	uint8_t id[PEER_ID_BYTES];

	if (identity_get(id) < 0)
		return;
	if (marked || offer_mark(fd) == 0)
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_OFFERED);
	else if (!registry_refuses(port) && registry_has_listener(port))
		offer_by_registry(c, fd);
}

static uint32_t file_flags(int fd)
{
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);

	if (flags < 0)
		return 0;
	return (flags & O_NONBLOCK ? SOCKET_NONBLOCK : 0) |
	       (flags & O_APPEND ? SOCKET_APPENDS : 0);
}

/* Engine lock held. marked: the offer is made already. */
static struct connection *begin_client(int fd, const struct target *to,
				       const struct socket_history *t,
				       uint32_t flags, bool marked)
{
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);
	struct connection *c = NULL;

	if (s && settings_match(s, NULL, to->port) == REASON_NONE)
		c = connection_new(STATUS_CLIENT, t->options | flags, false);
	if (!c)
		return NULL;
	c->closing.lingers = t->lingers;
	handshake_start_clock(c);
	connection_set_peer(c, &to->name);
	if (t->unsuitable || segment_is_crowded())
		atomic_fetch_or(&c->slot->socket_flags, SOCKET_NO_SMC);
	else
		make_offer(c, fd, to->port, marked);
	fdtable_set(fd, &c->entry);
	return c;
}

/* No acceptor has heard of the knock. */
static void take_back(struct knocks *k)
{
	for (uint32_t i = 0; i < k->count; i++)
		linkgroup_knock_give(
		    &k->at[i], linkgroup_knock_take_back(&k->at[i], k->token));
}

/* A client that does not wait in connect() begins many connections beside each
 * other. Where other processes accept as well, most of their knocks would be in
 * vain. */
static bool may_knock(const struct knocks *k, uint32_t flags)
{
	return !(flags & SOCKET_NONBLOCK) || k->all;
}

/* Engine lock held. 0: marked, and the acceptor will be told of the knock. */
static int knock_at(int fd, const struct target *to, uint32_t flags,
		    struct knocks *k)
{
	struct option_knock option;
	int error;

	if (!linkgroup_knock(to->port, k))
		return -EAGAIN;
	linkgroup_knock_describe(k, &option);
	error = may_knock(k, flags)
		    ? offer_mark_visitor(fd, &to->where, to->port, &option)
		    : -EAGAIN;
	if (error)
		take_back(k);
	return error == -EINVAL ? -EAGAIN : error;
}

/* Would nobody answer? */
static bool is_nobody(const struct target *to, int visit)
{
	if (visit == 0)
		no_smc_cache_drop(to->port);
	if (visit != -ENOENT && visit != -EBUSY)
		return false;
	no_smc_cache_note(to->port, visit == -EBUSY);
	return true;
}

/* Engine lock held. The connection that begins, or NULL. */
static struct connection *begin_near(int fd, const struct target *to,
				     const struct socket_history *t,
				     uint32_t flags, int *visit)
{
	struct connection *c;
	struct knocks k;
	bool knocks;

	*visit = knock_at(fd, to, flags, &k);
	knocks = *visit == 0;
	if (*visit == -EAGAIN)
		*visit = offer_mark_visitor(fd, &to->where, to->port, NULL);
	if (is_nobody(to, *visit))
		*visit = -ENOENT;
	c = *visit == -ENOENT ? NULL
			      : begin_client(fd, to, t, flags, *visit == 0);
	if (!knocks)
		return c;
	if (c && atomic_load(&c->slot->socket_flags) & SOCKET_OFFERED)
		knock_begin(c, &k);
	else
		take_back(&k);
	return c;
}

/* Does what offer_mark_visitor() does, or asks nobody; -EBUSY: it refuses, as
 * another one has been told. -EAGAIN: with the lock, as there may be a knock;
 * but a port that refuses will refuse it, too. */
static int visit_unlocked(int fd, const struct target *to)
{
	int error;

	if (no_smc_cache_has(to->port))
		return no_smc_cache_refuses(to->port) ? -EBUSY : -ENOENT;
	if (linkgroup_knock_is_likely(to->port) &&
	    !no_smc_cache_refuses(to->port))
		return -EAGAIN;
	error = offer_mark_visitor(fd, &to->where, to->port, NULL);
	return is_nobody(to, error) ? -ENOENT : error;
}

enum prospect handshake_before_connect(int fd, const struct sockaddr *a,
				       socklen_t n)
{
	struct target to = target_of(a, n);
	struct connection *c;
	struct socket_history t;
	uint32_t flags;
	bool near, marked;
	int visit = -EAGAIN;

	if (to.port == 0 || !settings_may_match(to.port))
		return PROSPECT_NOT_OURS;
	t = socket_history_of(fd);
	if (!t.tcp)
		return PROSPECT_NOT_OURS;
	near = settings_is_here(&to.where) && !t.unsuitable;
	/* This needs no lock, and is mostly the end of it. */
	if (near)
		visit = visit_unlocked(fd, &to);
	if (visit == -ENOENT)
		return PROSPECT_NOBODY;
	if (visit == -EBUSY)
		return PROSPECT_REFUSED;
	flags = file_flags(fd);
	engine_lock();
	if (near && visit == -EAGAIN)
		c = begin_near(fd, &to, &t, flags, &visit);
	else
		c = begin_client(fd, &to, &t, flags, visit == 0);
	marked = c && (atomic_load(&c->slot->socket_flags) & SOCKET_OFFERED);
	engine_unlock();
	if (visit == -ENOENT)
		return PROSPECT_NOBODY;
	if (visit == 0 && !marked)
		offer_unmark(fd);
	return c ? PROSPECT_OURS : PROSPECT_NOT_OURS;
}

/* What begins now is SMC-R's by address and port. No lock needed. */
bool handshake_is_served(const struct in6_addr *local, uint16_t server_port)
{
	uint32_t reason;

	if (settings_moved(settings_generation())) {
		engine_lock();
		settings_now(&reason);
		engine_unlock();
	}
	return settings_may_match(server_port) && settings_has_address(local);
}

bool handshake_socket_name(long call, int fd, struct sockaddr_storage *a)
{
	socklen_t n = sizeof(*a);

	memset(a, 0, sizeof(*a));
	return SYS_CALL3(call, fd, a, &n) == 0;
}

/* Many processes make one connection in their life. The first that is refused
 * is the kernel's, and no segment is made for it. */
static bool is_first_refused(void)
{
	static _Atomic bool met;

	return !segment_is_open() && !atomic_exchange(&met, true);
}

void handshake_after_passthrough(int fd, const struct sockaddr *a, socklen_t n,
				 int result, int error)
{
	struct passthrough p = {.role = STATUS_CLIENT,
				.reason = REASON_PEER_NO_SMC};
	struct target to = target_of(a, n);
	struct sockaddr_storage name;

	if (result < 0 && error != EINPROGRESS)
		no_smc_cache_drop(to.port);
	if (result < 0 && (error != EINPROGRESS ||
			   !handshake_socket_name(SYS_getpeername, fd, &name)))
		return;
	if (no_smc_cache_refuses(to.port))
		p.reason = REASON_NOT_WORTH_IT;
	no_smc_cache_confirm(to.port);
	if (p.reason == REASON_NOT_WORTH_IT && is_first_refused()) {
		socket_history_note_kernels(fd);
		return;
	}
	if (!handshake_socket_name(SYS_getsockname, fd, &name))
		return;
	connection_name(&name, &p.local, &p.local_port);
	p.peer = to.where;
	p.peer_port = to.port;
	if (handshake_is_served(&p.local, p.peer_port))
		passthrough_keep(fd, &p);
}

void handshake_after_refusal(int fd, const struct sockaddr *a, socklen_t n,
			     int result, int error)
{
	struct target to = target_of(a, n);

	if (result < 0 && error != EINPROGRESS) {
		no_smc_cache_drop(to.port);
		return;
	}
	if (settings_has_address(&to.where))
		passthrough_count(STATUS_CLIENT, REASON_NOT_WORTH_IT);
	socket_history_note_kernels(fd);
}

/* A connect that failed leaves nothing; the program may try another. */
static void forget(struct connection *c, int fd)
{
	struct fdentry *e;

	if (c->opening.offer_entry)
		registry_withdraw(c->opening.offer_entry);
	c->opening.offer_entry = 0;
	connection_drop_knock(c);
	connection_set_native(c);
	if (c->epoll.members)
		connection_on_native(c, true);
	if (fdtable_clear(fd, &e))
		connection_release(c);
}

void handshake_after_connect(int fd, int result, int error)
{
	struct connection *c = connection_of(fd);

	if (!c || connection_phase(c) != PHASE_CONNECTING ||
	    (result < 0 && (error == EINPROGRESS || error == EALREADY)))
		return;
	engine_lock();
	/* A thread that forks meanwhile has gone on with it. */
	if (connection_phase(c) != PHASE_CONNECTING) {
		engine_unlock();
		return;
	}
	if (result < 0 && error != EINTR) {
		forget(c, fd);
	} else if (result == 0) {
		c->opening.connected = true;
		handshake_connected(c, fd);
		if (connection_phase(c) == PHASE_NATIVE &&
		    c->slot->reason == REASON_ADDRESS)
			forget(c, fd);
	}
	engine_unlock();
}
