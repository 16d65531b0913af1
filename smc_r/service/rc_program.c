/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_program: the near half of connections. */
#include "smc_r/service/rc_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_relay.h"
#include "smc_r/service/rc_rest.h"
#include "smc_r/service/rc_service.h"

#define CONFIRM_NS 1000000000ull /* a program attaches in this time */
#define REST_NS    5000000ull /* one that sleeps in a call has woken by then */

struct rc_program {
	struct rc_program *next;
	struct rc_programs *all;
	struct rc_conn conn;
	struct rc_watch channel_watch, tcp_watch, bell_watch;
	int channel; /* until it is confirmed; else -1 */
	bool attached;
	bool hot;
	bool gone;   /* no process has the program's end */
	bool over;   /* to be freed */
	bool listed; /* among those that are looked at */
	struct rc_program *next_listed;
	uint64_t until_ns;          /* hot until then; or the next look */
	uint64_t written, consumed; /* of the program, at the last look */
	enum ends_peer end;         /* ... told to the wire half */
	uint64_t ticket;
	uid_t user;
	bool relayed; /* the rings are the relay's, not the program's */
	struct rc_relay relay;
	struct rc_watch relay_watch;
	int relay_channel; /* it asked before the outcome; else -1 */
};

static void drop_relay(struct rc_program *p);
static void hear_channel(struct rc_program *p);

static struct connection *near_of(struct rc_program *p)
{
	return &p->conn.pump.near;
}

static struct rc_program *program_of(struct rc_conn *c)
{
	return (struct rc_program *)(void *)((char *)c -
					     offsetof(struct rc_program, conn));
}

static void watch(struct rc_program *p, int fd, struct rc_watch *w,
		  enum rc_watch_kind kind, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	w->kind = kind;
	w->program = p;
	epoll_ctl(p->all->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* Other processes have the file, so that a close alone would leave it. */
static void forget(const struct rc_program *p, int fd)
{
	epoll_ctl(p->all->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void watch_bells(struct rc_program *p)
{
	const struct bells *b = &near_of(p)->bells;

	watch(p, b->data, &p->bell_watch, RC_WATCH_BELL, EPOLLIN | EPOLLET);
	if (!bells_are_one(b))
		watch(p, b->room, &p->bell_watch, RC_WATCH_BELL,
		      EPOLLIN | EPOLLET);
}

static void forget_bells(const struct rc_program *p)
{
	const struct bells *b = &p->conn.pump.near.bells;

	forget(p, b->data);
	if (!bells_are_one(b))
		forget(p, b->room);
}

static void close_channel(struct rc_program *p)
{
	if (p->channel < 0)
		return;
	forget(p, p->channel);
	close(p->channel);
	p->channel = -1;
}

static void close_tcp(struct rc_program *p)
{
	if (p->conn.tcp < 0)
		return;
	forget(p, p->conn.tcp);
	close(p->conn.tcp);
	p->conn.tcp = -1;
}

/* It is looked at in each round, from the next one on. */
static void list(struct rc_program *p)
{
	if (p->listed)
		return;
	p->listed = true;
	p->next_listed = p->all->listed;
	p->all->listed = p;
}

static void heat(struct rc_program *p)
{
	list(p);
	p->until_ns = p->all->now_ns + RC_QUIET_NS;
	if (p->hot)
		return;
	p->hot = true;
	rc_pump_disarm(&p->conn.pump);
}

static void drop_relay(struct rc_program *p)
{
	if (p->relay_channel >= 0)
		close(p->relay_channel);
	p->relay_channel = -1;
	if (p->relay.fd < 0)
		return;
	if (p->relayed)
		forget(p, p->relay.fd);
	close(p->relay.fd);
	p->relay.fd = -1;
}

/* The element goes back: used again if the program said that it closes. */
static void finish(struct rc_program *p)
{
	if (p->over)
		return;
	p->over = true;
	p->hot = false;
	list(p);
	p->all->ended++;
	close_channel(p);
	close_tcp(p);
	drop_relay(p);
	forget_bells(p);
	engine_lock();
	connection_detach(near_of(p),
			  connection_peer(near_of(p)) == PEER_CLOSED &&
			      p->attached);
	engine_unlock();
}

static void signal_both(struct rc_program *p)
{
	connection_signal_data(near_of(p));
	connection_signal_room(near_of(p));
}

/* ---- hello ---- */

static void answer(int channel, const struct far_answer *a)
{
	send(channel, a, sizeof(*a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void refuse(int channel, int tcp, uint32_t reason)
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
	reason = linkgroup_take(hello->process_id, s, &rmb, &element, &first);
	if (reason)
		return reason;
	rc_pump_init(&p->conn.pump, rmb, element);
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
	e = near_of(p)->control;
	atomic_store(&e->ticket, a->ticket);
	atomic_store(&e->confirmed, atomic_load(&e->epoch));
	return REASON_NONE;
}

static void begin(struct rc_programs *all, int channel, int tcp,
		  const struct far_hello *hello, uid_t user)
{
	struct far_answer a = {.magic = FAR_MAGIC, .version = FAR_VERSION};
	struct rc_program *p = calloc(1, sizeof(*p));
	uint32_t reason = REASON_MEMORY;

	if (p) {
		p->all = all;
		p->user = user;
		p->relay.fd = p->relay_channel = -1;
		p->channel = channel;
		p->conn.service = all->service;
		p->conn.server = hello->server;
		p->conn.tcp = tcp;
		reason = check_socket(&p->conn);
	}
	if (!reason)
		reason = open_element(p, hello, &a);
	if (reason) {
		free(p);
		refuse(channel, tcp, reason);
		return;
	}
	p->ticket = a.ticket;
	p->next = all->first;
	all->first = p;
	all->count++;
	p->until_ns = all->now_ns + CONFIRM_NS;
	list(p);
	watch(p, channel, &p->channel_watch, RC_WATCH_CHANNEL, EPOLLIN);
	watch_bells(p);
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

static void start_relay(struct rc_program *p)
{
	struct far_answer a = {.magic = FAR_MAGIC, .version = FAR_VERSION};

	p->relayed = true;
	watch(p, p->relay.fd, &p->relay_watch, RC_WATCH_RELAY,
	      EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	answer(p->relay_channel, &a);
	close(p->relay_channel);
	p->relay_channel = -1;
	heat(p);
}

static void ask_relay(struct rc_programs *all, int channel, int tcp,
		      const struct far_hello *hello, uid_t user)
{
	struct rc_program *p = find(all, hello->ticket, user);
	uint64_t read = hello->read;

	/* Its word that it is attached was first, on another socket. */
	if (p && p->channel >= 0)
		hear_channel(p);
	if (!p || !p->attached || p->over ||
	    (p->conn.state != RC_CONN_SETUP &&
	     p->conn.state != RC_CONN_ACTIVE) ||
	    read > p->conn.pump.stream.received) {
		refuse(channel, tcp, REASON_SYNC);
		return;
	}
	p->relay = (struct rc_relay){.fd = tcp};
	p->relay_channel = channel;
	atomic_store(&near_of(p)->out_consumer->cursor, read);
	if (p->conn.state == RC_CONN_ACTIVE)
		start_relay(p);
}

void rc_program_hello(struct rc_programs *all, int channel, int tcp,
		      const struct far_hello *hello, uid_t user)
{
	if (hello->kind == FAR_RELAY)
		ask_relay(all, channel, tcp, hello, user);
	else
		begin(all, channel, tcp, hello, user);
}

/* ---- the program tells ---- */

/* The program is attached; without that it goes on by itself, and nothing was
 * said on its stream. */
static void hear_channel(struct rc_program *p)
{
	char taken;

	if (recv(p->channel, &taken, 1, MSG_DONTWAIT) != 1) {
		finish(p);
		return;
	}
	p->attached = true;
	close_channel(p);
	watch(p, p->conn.tcp, &p->tcp_watch, RC_WATCH_TCP,
	      EPOLLIN | EPOLLRDHUP | EPOLLET);
	heat(p);
	rc_service_begin(p->conn.service, &p->conn, p->all->now_ns);
}

/* ---- the wire half tells ---- */

static void fall_back(struct rc_program *p, uint32_t reason,
		      uint32_t peer_reason)
{
	struct connection *near = near_of(p);

	atomic_store(&near->control->reason, reason);
	atomic_store(&near->control->peer_reason, peer_reason);
	connection_end(near, ENDS_FREEZES);
	connection_end(near, ENDS_ASKS_REST);
	connection_end(near, ENDS_ASKS_SEAL);
	connection_end(near, ENDS_SEALS);
	drop_relay(p);
	signal_both(p);
	forget(p, p->conn.tcp);
	heat(p);
	p->until_ns = p->all->now_ns + REST_NS;
}

static void abort_near(struct rc_program *p)
{
	connection_end(near_of(p), ENDS_ABORTS);
	signal_both(p);
}

void rc_near_outcome(struct rc_conn *c, enum rc_outcome outcome,
		     uint32_t reason, uint32_t peer_reason)
{
	struct rc_program *p = program_of(c);

	switch (outcome) {
	case RC_OUTCOME_SMC:
		close_tcp(p);
		if (p->relay.fd >= 0)
			start_relay(p);
		heat(p);
		break;
	case RC_OUTCOME_TCP:
		fall_back(p, reason, peer_reason);
		break;
	case RC_OUTCOME_BROKEN:
		abort_near(p);
		shutdown(c->tcp, SHUT_RDWR);
		finish(p);
		break;
	}
}

void rc_near_moved(struct rc_conn *c)
{
	heat(program_of(c));
}

void rc_near_peer(struct rc_conn *c, int error)
{
	struct rc_program *p = program_of(c);

	(void)error;
	switch (rc_stream_peer(&c->pump.stream)) {
	case RC_STREAM_OPEN:
		return;
	case RC_STREAM_FIN:
		connection_end(near_of(p), ENDS_SHUTS_OUT);
		break;
	case RC_STREAM_CLOSED:
		connection_end(near_of(p), ENDS_SHUTS_OUT);
		connection_end(near_of(p), ENDS_CLOSES);
		break;
	case RC_STREAM_RESET:
		connection_end(near_of(p), ENDS_ABORTS);
		break;
	}
	signal_both(p);
}

void rc_near_over(struct rc_conn *c)
{
	finish(program_of(c));
}

/* ---- the program tells ---- */

/* It did not read to the end, or wants no end in order. */
static bool breaks_off(struct rc_program *p)
{
	struct ends_words w = connection_ends(near_of(p));

	if (p->relayed && p->relay.reset)
		return true;
	return ends_was_aborted(&w) ||
	       atomic_load(&near_of(p)->out_consumer->cursor) <
		   p->conn.pump.stream.received;
}

/* A program that died has closed. */
static enum ends_peer end_of(struct rc_program *p)
{
	enum ends_peer end = connection_peer(near_of(p));

	if (p->relayed)
		return p->relay.gone          ? PEER_CLOSED
		       : p->relay.input_ended ? PEER_HALF
					      : PEER_OPEN;
	if (p->gone)
		return PEER_CLOSED;
	return end == PEER_HALF_FIN ? PEER_HALF : end;
}

static bool tell_end(struct rc_program *p)
{
	enum ends_peer end = end_of(p);

	if (end <= p->end)
		return false;
	p->end = end;
	if (end >= PEER_CLOSED)
		rc_stream_end(&p->conn.pump.stream, CLOSE_RELEASE,
			      breaks_off(p));
	else
		rc_stream_end(&p->conn.pump.stream,
			      end == PEER_SHUT ? CLOSE_SHUTDOWN_BOTH
					       : CLOSE_SHUTDOWN_WRITE,
			      false);
	return true;
}

static bool has_moved(struct rc_program *p)
{
	uint64_t written = atomic_load(&near_of(p)->in_producer->cursor);
	uint64_t consumed = atomic_load(&near_of(p)->out_consumer->cursor);
	bool moved = written != p->written || consumed != p->consumed;

	p->written = written;
	p->consumed = consumed;
	return moved;
}

/* What the peer sent goes first. */
static void move_relay(struct rc_program *p)
{
	struct rc_stream *s = &p->conn.pump.stream;
	enum rc_stream_end end = rc_stream_peer(s);

	rc_relay_move(&p->relay, near_of(p), rc_stream_released(s),
		      s->received);
	if (end != RC_STREAM_OPEN)
		rc_relay_end(&p->relay, near_of(p), s->received,
			     end == RC_STREAM_RESET);
}

static bool work_active(struct rc_program *p)
{
	bool ended;

	if (p->relayed)
		move_relay(p);
	ended = tell_end(p);
	if (!has_moved(p) && !ended)
		return false;
	if (rc_service_work(&p->conn, p->all->now_ns) < 0)
		abort_near(p);
	return true;
}

/* Until the program has sealed, or all that it wrote is sent and it is gone. */
static void work_tcp(struct rc_program *p)
{
	struct ends_words w = connection_ends(near_of(p));

	if (ends_is_sealed(&w)) {
		finish(p);
		return;
	}
	p->until_ns = p->all->now_ns + REST_NS;
	rc_pump_arm(&p->conn.pump);
	if (rc_rest_send(near_of(p), p->conn.tcp) == RC_REST_LEFT)
		return;
	p->hot = false;
	if (end_of(p) >= PEER_CLOSED)
		finish(p);
}

/* One that moves when it is armed stays hot. */
static void cool(struct rc_program *p)
{
	bool sure = p->relayed || rc_pump_arm(&p->conn.pump);

	if (sure && !work_active(p)) {
		p->hot = false;
		return;
	}
	rc_pump_disarm(&p->conn.pump);
	p->until_ns = p->all->now_ns + RC_QUIET_NS;
}

static bool work(struct rc_program *p)
{
	bool is_due = p->all->now_ns >= p->until_ns;

	switch (p->conn.state) {
	case RC_CONN_SETUP:
		/* Nothing can be said before the outcome. */
		if (!p->attached && is_due)
			finish(p);
		else if (p->attached && is_due)
			p->hot = false;
		return false;
	case RC_CONN_ACTIVE:
		if (work_active(p)) {
			p->until_ns = p->all->now_ns + RC_QUIET_NS;
			return true;
		}
		if (is_due)
			cool(p);
		return false;
	case RC_CONN_TCP:
		if (is_due || p->gone)
			work_tcp(p);
		return false;
	case RC_CONN_OVER:
		break;
	}
	return false;
}

static void hear_bell(struct rc_program *p)
{
	bool gone = bell_drain(near_of(p)->bells.data);

	if (!bells_are_one(&near_of(p)->bells))
		bell_drain(near_of(p)->bells.room);
	p->gone |= gone;
	if (p->relayed)
		return;
	if (gone && !p->attached)
		finish(p);
	else
		heat(p);
}

void rc_program_event(struct rc_watch *w, uint32_t events)
{
	struct rc_program *p = w->program;

	(void)events;
	if (p->over)
		return;
	switch (w->kind) {
	case RC_WATCH_CHANNEL:
		hear_channel(p);
		break;
	case RC_WATCH_TCP:
		if (p->conn.state == RC_CONN_SETUP)
			rc_service_readable(&p->conn, p->all->now_ns);
		break;
	case RC_WATCH_BELL:
		hear_bell(p);
		break;
	case RC_WATCH_RELAY:
		heat(p);
		break;
	case RC_WATCH_LISTENER:
	case RC_WATCH_DEATHS:
	case RC_WATCH_WIRE:
	case RC_WATCH_HELLO:
		break;
	}
}

/* ---- all ---- */

bool rc_programs_work(struct rc_programs *all, uint64_t *until)
{
	struct rc_program **at = &all->listed;
	bool moved = false;

	*until = UINT64_MAX;
	while (*at) {
		struct rc_program *p = *at;

		if (!p->over)
			moved |= work(p);
		if (p->over || (p->attached && !p->hot)) {
			*at = p->next_listed;
			p->listed = false;
			continue;
		}
		if (p->until_ns < *until)
			*until = p->until_ns;
		at = &p->next_listed;
	}
	return moved;
}

bool rc_programs_are_hot(const struct rc_programs *all)
{
	for (const struct rc_program *p = all->listed; p; p = p->next_listed)
		if (p->hot && p->conn.state == RC_CONN_ACTIVE)
			return true;
	return false;
}

void rc_programs_sweep(struct rc_programs *all)
{
	struct rc_program **at = &all->first;

	while (all->ended && *at) {
		struct rc_program *p = *at;

		if (!p->over || p->listed) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		all->count--;
		all->ended--;
		free(p);
	}
}
