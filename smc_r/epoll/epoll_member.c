/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_member: connections that an instance has as members. */
#include "smc_r/epoll/epoll_member.h"

#include <sys/mman.h>

#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_order.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/wait/stall.h"

#define QUIET_NS      20000000u
#define NS_PER_MS     1000000u
#define MEMBERS_FIRST 64u

/* ---- the table ---- */

static size_t table_bytes(uint32_t capacity)
{
	return capacity * sizeof(struct epoll_member *);
}

static void *table_get(uint32_t capacity)
{
	size_t bytes = table_bytes(capacity);
	void *table;

	if (bytes <= POOL_BYTES_MAX)
		return pool_get(bytes);
	table = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return table == MAP_FAILED ? NULL : table;
}

/* Somebody may be reading it: of a large one the memory goes, the addresses
 * stay. */
static void table_put(void *table, uint32_t capacity)
{
	size_t bytes = table_bytes(capacity);

	if (!table)
		return;
	if (bytes <= POOL_BYTES_MAX)
		pool_put_late(table, bytes);
	else
		madvise(table, bytes, MADV_DONTNEED);
}

static bool grow(struct epoll *e)
{
	uint32_t capacity = atomic_load(&e->capacity);
	uint32_t wanted = capacity ? capacity * 2 : MEMBERS_FIRST;
	struct epoll_member *_Atomic *old = atomic_load(&e->members);
	void *table = table_get(wanted);

	if (!table)
		return false;
	for (uint32_t i = 0; old && i < capacity; i++)
		atomic_store(&((struct epoll_member * _Atomic *)table)[i],
			     atomic_load(&old[i]));
	atomic_store(&e->members, table);
	atomic_store(&e->capacity, wanted);
	table_put(old, capacity);
	return true;
}

struct epoll_member *epoll_member_find(struct epoll *e, int fd)
{
	struct connection *c = connection_of(fd);

	for (struct epoll_member *m = c ? c->epoll.members : NULL; m;
	     m = m->next)
		if (m->epoll == e && m->key == fd)
			return m;
	return NULL;
}

static void put_at(struct epoll *e, uint32_t place, struct epoll_member *m)
{
	atomic_store(&m->place, place);
	atomic_store(&atomic_load(&e->members)[place], m);
}

/* Its place goes to the last of those that are looked at, or that rest. */
static void change_places(struct epoll_member *m, uint32_t place)
{
	struct epoll *e = m->epoll;
	uint32_t old = atomic_load(&m->place);
	struct epoll_member *other =
	    atomic_load(&atomic_load(&e->members)[place]);

	put_at(e, old, other);
	put_at(e, place, m);
}

void epoll_member_rest(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	uint32_t awake = epoll_awake(e);

	if (epoll_member_rests(m))
		return;
	change_places(m, awake - 1);
	atomic_store(&e->awake, awake - 1);
	/* A thread may have looked at the place of the other one already. */
	atomic_fetch_add(&e->version, 1);
}

void epoll_member_rouse(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	uint32_t awake = epoll_awake(e);

	if (!epoll_member_rests(m))
		return;
	change_places(m, awake);
	atomic_store(&e->awake, awake + 1);
	atomic_fetch_add(&e->version, 1);
}

/* Names the instance that learns that the peer of c has ended: tcp_end.h */
static void tell_asker(struct connection *c)
{
	atomic_store(&c->tcp.instance_asked,
		     c->epoll.members ? &c->epoll.members->epoll->asked_ticks
				      : NULL);
}

struct epoll_member *epoll_member_add(struct epoll *e, struct connection *c,
				      int fd, const struct epoll_event *event)
{
	uint32_t n = atomic_load(&e->count);
	struct epoll_member *m;

	if (n == atomic_load(&e->capacity) && !grow(e))
		return NULL;
	m = pool_get(sizeof(*m));
	if (!m)
		return NULL;
	m->epoll = e;
	m->connection = c;
	m->fd = m->key = fd;
	m->data = event->data.u64;
	m->added = sys_ticks();
	atomic_store(&m->events, event->events);
	atomic_store(&m->enabled, 1);
	atomic_store(&m->in_seen, EPOLL_UNTOLD);
	atomic_store(&m->out_seen, UINT32_MAX);
	atomic_store(&m->live, 1);
	m->next = c->epoll.members;
	c->epoll.members = m;
	tell_asker(c);
	put_at(e, n, m);
	atomic_store(&e->count, n + 1);
	epoll_member_rouse(m);
	if (n == 1)
		epoll_order_begin(e);
	if (n + 1 > EPOLL_READY_MIN && !e->uses_bits)
		epoll_ready_begin(e);
	return m;
}

void epoll_member_drop(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	struct epoll_member **at = &m->connection->epoll.members;
	uint32_t n = atomic_load(&e->count);

	atomic_store(&m->live, 0);
	epoll_member_detach(m);
	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
	tell_asker(m->connection);
	epoll_attach_sibling(e, m->connection);
	epoll_member_rest(m);
	change_places(m, n - 1);
	atomic_store(&e->count, n - 1);
	atomic_fetch_add(&e->version, 1);
	pool_put_late(m, sizeof(*m));
}

void epoll_members_end(struct epoll *e)
{
	while (atomic_load(&e->count) > 0)
		epoll_member_drop(atomic_load(&atomic_load(&e->members)[0]));
	epoll_ready_end(e);
	/* The pointer stays, for a thread that is about to read by it. */
	table_put(atomic_load(&e->members), atomic_load(&e->capacity));
}

/* ---- they go to the kernel ---- */

void epoll_member_to_kernel(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	uint32_t events = atomic_load(&m->events);

	if (!atomic_load(&m->live))
		return;
	/* Disabled by EPOLLONESHOT: registered, but silent. */
	if (!atomic_load(&m->enabled))
		events &= EPOLLET | EPOLLONESHOT;
	if (!atomic_load(&m->parked))
		sys_epoll_ctl(e->fd, EPOLL_CTL_ADD, m->fd, events, m->data);
	e->moved = true;
	epoll_member_drop(m);
}

void epoll_give_all(struct epoll *e)
{
	engine_lock();
	for (uint32_t i = atomic_load(&e->count); i > 0; i--) {
		struct epoll_member *m =
		    atomic_load(&atomic_load(&e->members)[i - 1]);

		if (atomic_load(&m->late))
			epoll_member_to_kernel(m);
	}
	engine_unlock();
}

/* Takes c out of all instances of this process; inherited ones are for the
 * process that made them to change. gone: the connection is about to be
 * forgotten. */
void epoll_members_leave(struct connection *c, bool gone)
{
	struct epoll_member *m = c->epoll.members;

	while (m) {
		struct epoll_member *next = m->next;

		if (gone)
			epoll_member_to_kernel(m);
		/* One that is silent stays until it is asked for again: the
		 * kernel would tell of errors and ends all the same. */
		else if (!epoll_is_anothers(m->epoll) &&
			 atomic_load(&m->enabled))
			epoll_member_leave(m);
		m = next;
	}
}

/* ---- what happens to a connection ---- */

void epoll_wake_members(struct connection *c, enum epoll_again again)
{
	for (struct epoll_member *m = c->epoll.members; m; m = m->next) {
		if (again)
			atomic_fetch_xor(&m->in_seen, (uint64_t)again);
		epoll_ready_mark(m);
		epoll_wake(m->epoll, WAKE_CHANGE);
	}
}

void epoll_stalled(struct connection *c)
{
	stall_begin(c);
	for (struct epoll_member *m = c->epoll.members; m; m = m->next) {
		/* The next look says that somebody waits for room. */
		epoll_ready_mark(m);
		atomic_store(&m->epoll->stalled, 1);
	}
}

void epoll_refused(struct connection *c)
{
	atomic_store(&c->stall.refused_at,
		     atomic_load(&c->slot->tx.position) + 1);
	epoll_stalled(c);
	/* A thread that sleeps has looked already, and knows of no stall. */
	for (struct epoll_member *m = c->epoll.members; m; m = m->next)
		if (atomic_load(&m->enabled) &&
		    (atomic_load(&m->events) & EPOLL_OUTPUT))
			epoll_wake(m->epoll, WAKE_CHANGE);
}

static int another_number(const struct connection *c, int fd)
{
	for (int i = 0; i < fdtable_program_end(); i++)
		if (i != fd && connection_of(i) == c)
			return i;
	return -1;
}

/* The kernel keeps a registration until the last descriptor of the file goes;
 * so do we, under a number that still names it. But one that was taken out must
 * not be found under its old number, which may be given to a file anew. */
void epoll_forget(struct connection *c, int fd)
{
	struct epoll_member *m = c->epoll.members;
	int other = -1;

	if (m && atomic_load(&c->entry.references) > 1)
		other = another_number(c, fd);
	while (m) {
		struct epoll_member *next = m->next;

		if (other < 0 || (m->fd == fd && atomic_load(&m->parked)))
			epoll_member_drop(m);
		else if (m->fd == fd)
			m->fd = other;
		m = next;
	}
}

/* ---- members in their handshake ---- */

/* The shadow hears all that could move it, but for the clock. */
static bool is_heard(const struct epoll_member *m)
{
	return !knock_is_pending(m->connection) && !epoll_is_anothers(m->epoll);
}

bool epoll_is_quiet(const struct epoll_member *m, uint64_t *now)
{
	uint64_t until;

	if (connection_phase(m->connection) != PHASE_HANDSHAKE ||
	    atomic_load(&m->news) != atomic_load(&m->news_seen) ||
	    knock_has_answer(m->connection))
		return false;
	until = atomic_load(&m->quiet_until_ns);
	if (until == UINT64_MAX)
		return true;
	if (*now == 0)
		*now = sys_now_ns();
	return *now < until;
}

/* When a look may find something though TCP told nothing. */
static uint64_t quiet_until(const struct epoll_member *m, uint64_t now)
{
	struct connection *c = m->connection;
	uint64_t deadline = connection_clc(c)->deadline_ms * NS_PER_MS;
	uint64_t next = handshake_changes_ns(c, now);
	uint64_t until = is_heard(m) ? UINT64_MAX : now + QUIET_NS;

	/* The clock wakes nobody after this time. */
	if (next > now && next < until)
		until = next;
	if (deadline && deadline < until)
		until = deadline > now + QUIET_NS ? deadline : now + QUIET_NS;
	return until;
}

/* An offer in the registry is answered there. */
void epoll_note_quiet(struct epoll_member *m, uint32_t news, uint64_t now)
{
	struct connection *c = m->connection;

	if (connection_phase(c) != PHASE_HANDSHAKE || c->opening.offer_entry)
		return;
	atomic_store(&m->quiet_until_ns, quiet_until(m, now));
	atomic_store(&m->news_seen, news);
}

/* Its program asks for nothing that time could bring. */
static bool may_rest(struct epoll_member *m)
{
	uint64_t now = 0;

	return handshake_is_silent(m->connection,
				   atomic_load(&m->events) & EPOLL_OUTPUT) &&
	       is_heard(m) && epoll_is_quiet(m, &now);
}

void epoll_rest(struct epoll *e)
{
	engine_lock();
	for (uint32_t i = epoll_awake(e); i > 0; i--) {
		struct epoll_member *m = epoll_member_at(e, i - 1);

		if (m && may_rest(m))
			epoll_member_rest(m);
	}
	engine_unlock();
}
