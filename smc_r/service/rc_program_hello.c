/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_program: hellos, and what a relay begins with. */
#include "smc_r/service/rc_program_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/os/process.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_service.h"

static void answer(int channel, const struct far_answer *a)
{
	send(channel, a, sizeof(*a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void rc_program_refuse(int channel, int tcp, uint32_t reason)
{
	struct far_answer a = {
	    .magic = FAR_MAGIC, .version = FAR_VERSION, .reason = reason};

	answer(channel, &a);
	close(channel);
	close(tcp);
}

static bool name_of(int tcp, int (*call)(int, struct sockaddr *, socklen_t *),
		    struct in6_addr *address, uint16_t *port)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	memset(&a, 0, sizeof(a));
	if (call(tcp, (struct sockaddr *)&a, &n) < 0)
		return false;
	connection_name(&a, address, port);
	return *port != 0;
}

/* A program may bring any descriptor. */
static uint32_t check_socket(struct rc_conn *c)
{
	int protocol = 0;
	socklen_t n = sizeof(protocol);

	if (getsockopt(c->tcp, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) < 0 ||
	    protocol != IPPROTO_TCP)
		return REASON_INTERNAL;
	if (!name_of(c->tcp, getsockname, &c->local, &c->local_port) ||
	    !name_of(c->tcp, getpeername, &c->peer, &c->peer_port))
		return REASON_CLOSED;
	return rc_service_serves(c->service, &c->local) ? REASON_NONE
							: REASON_NO_SMCR_DEVICE;
}

/* Engine lock held. */
#define USER_PART 2 /* of max_memory, for one user */

/* Bytes of rings that a user's programs have. */
static uint64_t held_by(const struct rc_programs *all, uid_t user)
{
	uint64_t bytes = 0;

	for (const struct rc_program *p = all->first; p; p = p->next)
		if (p->user == user && !p->over)
			bytes += 2ull * p->conn.pump.near.out.ring[0].bytes;
	return bytes;
}

static uint32_t take_element(struct rc_program *p,
			     const struct far_hello *hello,
			     struct far_answer *a)
{
	uint32_t reason, element;
	const struct snapshot *s = settings_now(&reason);
	struct rmb *rmb;
	bool first;

	if (!s)
		return reason;
	if (held_by(p->all, p->user) > s->max_memory_bytes / USER_PART)
		return REASON_MEMORY;
	reason = linkgroup_take(hello->process_id, s, RMBE_FAR_MAX, &rmb,
				&element, &first);
	if (reason)
		return reason;
	rc_pump_init(&p->conn.pump, rmb, element);
	/* The rendezvous socket is that of another process. */
	if (rmb->group->peer_pid != p->pid) {
		connection_detach(rc_program_near(p), false);
		return REASON_RENDEZVOUS;
	}
	a->rmb_number = rmb->number;
	a->element = element;
	memcpy(a->service_id, identity_own(), PEER_ID_BYTES);
	memcpy(a->nonce, rmb->group->nonce, NONCE_BYTES);
	return REASON_NONE;
}

static uint32_t open_element(struct rc_program *p,
			     const struct far_hello *hello,
			     struct far_answer *a)
{
	struct rmb_element *e;
	uint32_t reason;

	if (identity_random(&a->ticket, sizeof(a->ticket)) < 0)
		return REASON_INTERNAL;
	engine_lock();
	reason = take_element(p, hello, a);
	engine_unlock();
	if (reason)
		return reason;
	e = rc_program_near(p)->control;
	atomic_store(&e->ticket, a->ticket);
	atomic_store(&e->confirmed, atomic_load(&e->epoch));
	return REASON_NONE;
}

static void begin(struct rc_programs *all, int channel, int tcp,
		  const struct far_hello *hello, const struct ucred *caller)
{
	struct far_answer a = {.magic = FAR_MAGIC, .version = FAR_VERSION};
	struct rc_program *p = calloc(1, sizeof(*p));
	uint32_t reason = REASON_MEMORY;

	if (p) {
		p->all = all;
		p->user = caller->uid;
		p->pid = caller->pid;
		p->relay.fd = p->relay_channel = -1;
		p->channel = channel;
		p->conn.service = all->service;
		p->conn.near = &rc_program_calls;
		p->conn.server = hello->server;
		p->conn.tcp = tcp;
		reason = check_socket(&p->conn);
	}
	if (!reason)
		reason = open_element(p, hello, &a);
	if (reason) {
		free(p);
		rc_program_refuse(channel, tcp, reason);
		return;
	}
	p->ticket = a.ticket;
	p->next = all->first;
	all->first = p;
	all->count++;
	p->until_ns = all->now_ns + RC_CONFIRM_NS;
	rc_program_list(p);
	rc_program_watch(p, channel, &p->channel_watch, RC_WATCH_CHANNEL,
			 EPOLLIN);
	rc_program_watch_bells(p);
	answer(channel, &a);
}

/* ---- a relay ---- */

static struct rc_program *find(const struct rc_programs *all, uint64_t ticket,
			       uid_t user)
{
	struct rc_program *p = all->first;

	while (p && (p->ticket != ticket || p->over || p->relay.fd >= 0 ||
		     (p->user != user && user != 0)))
		p = p->next;
	return p;
}

void rc_program_start_relay(struct rc_program *p)
{
	struct far_answer a = {.magic = FAR_MAGIC, .version = FAR_VERSION};
	int one = 1;

	p->relayed = true;
	/* Urgent data goes on as ordinary bytes. */
	setsockopt(p->relay.fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
	rc_program_watch(p, p->relay.fd, &p->relay_watch, RC_WATCH_RELAY,
			 EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	answer(p->relay_channel, &a);
	close(p->relay_channel);
	p->relay_channel = -1;
	rc_program_heat(p);
}

static void ask_relay(struct rc_programs *all, int channel, int tcp,
		      const struct far_hello *hello, const struct ucred *caller)
{
	struct rc_program *p = find(all, hello->ticket, caller->uid);
	uint64_t read = hello->read;

	/* Its word that it is attached was first, on another socket. */
	if (p && p->channel >= 0)
		rc_program_hear_channel(p);
	if (!p || !p->attached || p->over ||
	    (p->conn.state != RC_CONN_SETUP &&
	     p->conn.state != RC_CONN_ACTIVE) ||
	    read > p->conn.pump.stream.received) {
		rc_program_refuse(channel, tcp, REASON_SYNC);
		return;
	}
	p->relay = (struct rc_relay){.fd = tcp};
	p->relay_channel = channel;
	atomic_store(&rc_program_near(p)->out_consumer->cursor, read);
	if (p->conn.state == RC_CONN_ACTIVE)
		rc_program_start_relay(p);
}

void rc_program_hello(struct rc_programs *all, int channel, int tcp,
		      const struct far_hello *hello, const struct ucred *caller)
{
	if (hello->kind == FAR_RELAY)
		ask_relay(all, channel, tcp, hello, caller);
	else
		begin(all, channel, tcp, hello, caller);
}

/* ---- the program is attached ---- */

/* The program is attached; without that it goes on by itself, and nothing was
 * said on its stream. */
void rc_program_hear_channel(struct rc_program *p)
{
	char taken;

	/* A relay that was asked for has heard it. */
	if (p->channel < 0)
		return;
	if (recv(p->channel, &taken, 1, MSG_DONTWAIT) != 1) {
		rc_program_finish(p);
		return;
	}
	p->attached = true;
	rc_program_close_channel(p);
	rc_program_watch(p, p->conn.tcp, &p->tcp_watch, RC_WATCH_TCP,
			 EPOLLIN | EPOLLRDHUP | EPOLLET);
	rc_program_heat(p);
	rc_service_begin(p->conn.service, &p->conn, p->all->now_ns);
}

void rc_program_give_up(struct rc_program *p)
{
	shutdown(p->channel, SHUT_RD);
	rc_program_hear_channel(p);
}
