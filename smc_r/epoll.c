/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll: instances and registrations. */
#include "epoll_set.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "epoll_common.h"
#include "epoll_nested.h"
#include "epoll_order.h"
#include "epoll_ready.h"
#include "epoll_shadow.h"
#include "handshake.h"
#include "messages.h"
#include "process.h"
#include "real.h"
#include "reason.h"
#include "registrations.h"
#include "stall.h"
#include "sys.h"

#define MEMBERS_FIRST 64u
#define RETIRED       64u
/* What epoll_ctl(2) allows beside EPOLLEXCLUSIVE. */
#define EXCLUSIVE_OK                                                           \
	(EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET |    \
	 EPOLLEXCLUSIVE)

static uint32_t waiters_used = 1; /* bit 0 stands for "none" */
static uint8_t *registered;       /* by fd: was once put into an epoll */

static long ctl(int ep, int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};

	return SYS_CALL4(SYS_epoll_ctl, ep, op, fd, &e);
}

/* ---- instances ---- */

/* Of all instances of this process; those that were inherited are their maker's
 * to change. gone: the connection is about to be forgotten. */
static void leave_all(struct connection *c, bool gone)
{
	struct epoll_member *m = c->members;

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

void epoll_created(int fd)
{
	struct epoll *e;
	sigset_t saved;

	engine_lock(&saved);
	e = pool_get(sizeof(*e));
	if (e)
		e->common = epoll_common_get(&e->cookie);
	if (e && !e->common) {
		pool_put(e, sizeof(*e));
		e = NULL;
	}
	if (e) {
		e->entry.kind = FDENTRY_EPOLL;
		e->fd = fd;
		e->shadow = e->bells = e->poke = -1;
		e->forks = atomic_load(&process.forks);
		fdtable_set(fd, &e->entry);
		connection_on_native = leave_all;
	}
	engine_unlock(&saved);
}

static uint32_t take_waiter(void)
{
	for (uint32_t w = 1; w < RMB_WAITERS; w++)
		if (!(waiters_used >> w & 1)) {
			waiters_used |= 1u << w;
			return w;
		}
	return 0;
}

static void draw_cookie(struct epoll *e)
{
	uint64_t cookie;

	if (SYS_CALL3(SYS_getrandom, &cookie, sizeof(cookie), 0) ==
	    sizeof(cookie))
		/* The lowest bits tell the cookies of an instance apart. */
		e->cookie = cookie & ~(uint64_t)(EPOLL_COOKIES - 1);
	if (e->shadow >= 0) {
		ctl(e->fd, EPOLL_CTL_MOD, e->shadow, EPOLLIN | EPOLLET,
		    e->cookie);
		ctl(e->fd, EPOLL_CTL_MOD, e->bells, EPOLLIN | EPOLLET,
		    e->cookie | EPOLL_RUNG);
	}
}

static int make_hidden(long fd)
{
	return fd < 0 ? (int)fd : hidden_fd((int)fd);
}

/* fd sits in e under this cookie, edge-triggered. 0 or the first -errno. */
static int put_in(int e, int fd, uint64_t cookie)
{
	if (e < 0 || fd < 0)
		return e < 0 ? e : fd;
	return (int)ctl(e, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, cookie);
}

int epoll_make_shadow(struct epoll *e)
{
	int result;

	if (e->shadow >= 0)
		return 0;
	e->shadow =
	    make_hidden(SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0));
	e->bells =
	    make_hidden(SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0));
	e->poke = make_hidden(
	    SYS_CALL3(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK, 0));
	result = put_in(e->shadow, e->poke, 0);
	if (result == 0)
		result = put_in(e->fd, e->bells, e->cookie | EPOLL_RUNG);
	if (result == 0)
		result = put_in(e->fd, e->shadow, e->cookie);
	if (result < 0)
		epoll_drop_shadow(e);
	else
		e->waiter = take_waiter();
	return result;
}

void epoll_drop_shadow(struct epoll *e)
{
	if (e->waiter)
		waiters_used &= ~(1u << e->waiter);
	hidden_close(e->poke);
	hidden_close(e->bells);
	hidden_close(e->shadow);
	e->waiter = 0;
	e->shadow = e->bells = e->poke = -1;
}

void epoll_remove_shadow(struct epoll *e)
{
	ctl(e->fd, EPOLL_CTL_DEL, e->shadow, 0, 0);
	ctl(e->fd, EPOLL_CTL_DEL, e->bells, 0, 0);
	epoll_drop_shadow(e);
}

void epoll_wake(struct epoll *e)
{
	uint64_t one = 1;

	if (e->poke >= 0 && atomic_load(&e->common->sleepers))
		SYS_CALL3(SYS_write, e->poke, &one, sizeof(one));
}

/* The marks are the same as before: differ in one that they have. */
void epoll_again(struct connection *c)
{
	for (struct epoll_member *m = c->members; m; m = m->next)
		atomic_fetch_xor(&m->in_seen, 1u);
}

void epoll_poke(struct connection *c)
{
	for (struct epoll_member *m = c->members; m; m = m->next) {
		epoll_ready_mark(m);
		epoll_wake(m->epoll);
	}
}

void epoll_stalled(struct connection *c)
{
	stall_begin(c);
	for (struct epoll_member *m = c->members; m; m = m->next)
		atomic_store(&m->epoll->stalled, 1);
}

/* ---- the table ---- */

static bool grow(struct epoll *e)
{
	uint32_t capacity = atomic_load(&e->capacity);
	uint32_t wanted = capacity ? capacity * 2 : MEMBERS_FIRST;
	struct epoll_member *_Atomic *old = atomic_load(&e->members);
	void *table = mmap(NULL, wanted * sizeof(*old), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (table == MAP_FAILED)
		return false;
	for (uint32_t i = 0; old && i < capacity; i++)
		atomic_store(&((struct epoll_member * _Atomic *)table)[i],
			     atomic_load(&old[i]));
	/* The old table stays mapped: somebody may be reading it. */
	atomic_store(&e->members, table);
	atomic_store(&e->capacity, wanted);
	return true;
}

static struct epoll_member *find(struct epoll *e, int fd)
{
	struct connection *c = connection_of(fd);

	for (struct epoll_member *m = c ? c->members : NULL; m; m = m->next)
		if (m->epoll == e && m->key == fd)
			return m;
	return NULL;
}

static struct epoll_member *add(struct epoll *e, struct connection *c, int fd,
				const struct epoll_event *event)
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
	atomic_store(&m->in_seen, UINT64_MAX);
	atomic_store(&m->out_seen, UINT32_MAX);
	atomic_store(&m->live, 1);
	m->next = c->members;
	c->members = m;
	atomic_store(&atomic_load(&e->members)[n], m);
	atomic_store(&e->count, n + 1);
	atomic_fetch_add(&e->version, 1);
	if (n == 1)
		epoll_order_begin(e);
	if (n + 1 > EPOLL_READY_MIN && !e->uses_bits)
		epoll_ready_begin(e);
	return m;
}

static void detach(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	struct connection *c = m->connection;

	/* Else another process may go on waiting for the connection. */
	if (e->shadow >= 0 && !epoll_is_anothers(e)) {
		ctl(e->shadow, EPOLL_CTL_DEL, m->fd, 0, 0);
		if (c->rmb && m->attached) {
			ctl(e->bells, EPOLL_CTL_DEL, c->bell_in, 0, 0);
			ctl(e->bells, EPOLL_CTL_DEL, c->bell_out, 0, 0);
		}
		if (c->rmb && !m->shared)
			atomic_store(&c->own_wait->waiter, 0);
	}
	epoll_ready_leave(m);
	m->attached = false;
}

/* A thread may stand on it in the middle of a look. */
static void retire(struct epoll_member *m)
{
	static struct epoll_member *waiting[RETIRED];
	static unsigned next;
	struct epoll_member *oldest = waiting[next];

	waiting[next] = m;
	next = (next + 1) % RETIRED;
	if (oldest)
		pool_put(oldest, sizeof(*oldest));
}

static void drop(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	struct epoll_member **at = &m->connection->members;
	struct epoll_member *_Atomic *table = atomic_load(&e->members);
	uint32_t n = atomic_load(&e->count);

	atomic_store(&m->live, 0);
	detach(m);
	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&table[i]) == m) {
			atomic_store(&table[i], atomic_load(&table[n - 1]));
			atomic_store(&e->count, n - 1);
			break;
		}
	atomic_fetch_add(&e->version, 1);
	retire(m);
}

/* One instance may own a connection's waiter word; a second one is served by
 * the connection's own bells. */
static void take_waiter_word(struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint32_t none = 0;

	m->shared = m->epoll->waiter == 0 ||
		    !atomic_compare_exchange_strong(&c->own_wait->waiter, &none,
						    m->epoll->waiter);
	/* From here on writers without fences see the word and fence. */
	if (!m->shared && atomic_load(&c->in_producer->unfenced))
		barrier_all();
}

/* It may be there already, under a member that another process made. */
static void watch(int ep, int fd, uint32_t events, uint64_t data)
{
	if (ctl(ep, EPOLL_CTL_ADD, fd, events, data) == -EEXIST)
		ctl(ep, EPOLL_CTL_MOD, fd, events, data);
}

static void attach_bells(struct epoll_member *m)
{
	struct connection *c = m->connection;
	int bells = m->epoll->bells;
	uint64_t data = (uint64_t)(uintptr_t)m;

	take_waiter_word(m);
	epoll_order_join(m);
	watch(bells, c->bell_in, EPOLLIN | EPOLLET, data);
	if (m->shared)
		watch(bells, c->bell_out, EPOLLIN | EPOLLET, data);
	m->attached = true;
	if (!m->shared)
		epoll_ready_join(m);
}

void epoll_member_attach(struct epoll_member *m)
{
	struct connection *c = m->connection;
	int shadow = m->epoll->shadow;
	bool ring = connection_phase(c) == PHASE_ACTIVE;
	/* All of it: half demoted, one direction is TCP's. */
	uint32_t tcp = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;
	uint64_t data = (uint64_t)(uintptr_t)m;

	watch(shadow, m->fd, tcp, data);
	if (ring && !m->attached)
		attach_bells(m);
	/* That it is ready now is no edge of the kernel's. */
	if (atomic_load(&m->events) & EPOLLET) {
		epoll_harvest_locked(m->epoll);
		epoll_wake(m->epoll);
	}
}

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
		ctl(e->fd, EPOLL_CTL_ADD, m->fd, events, m->data);
	e->moved = true;
	drop(m);
}

void epoll_give_all(struct epoll *e)
{
	sigset_t saved;

	engine_lock(&saved);
	for (uint32_t i = atomic_load(&e->count); i > 0; i--) {
		struct epoll_member *m =
		    atomic_load(&atomic_load(&e->members)[i - 1]);

		if (atomic_load(&m->late))
			epoll_member_to_kernel(m);
	}
	engine_unlock(&saved);
}

/* ---- epoll_ctl ---- */

static bool belongs_to_kernel(struct connection *c)
{
	return !c || c->watched_by_kernel ||
	       connection_phase(c) == PHASE_NATIVE;
}

static void set_wanted(struct epoll_member *m, const struct epoll_event *event)
{
	m->data = event->data.u64;
	atomic_store(&m->in_seen, UINT64_MAX);
	atomic_store(&m->out_seen, UINT32_MAX);
	atomic_store(&m->bits_seen, 0);
	atomic_store(&m->events, event->events);
	atomic_store(&m->enabled, 1);
	epoll_member_news(m);
	epoll_ready_mark(m);
	epoll_note_late(m);
	atomic_fetch_add(&m->epoll->version, 1);
}

static int control_member(struct epoll *e, int op, int fd,
			  struct epoll_event *event)
{
	struct connection *c = connection_of(fd);
	struct epoll_member *m = find(e, fd);

	if (m && atomic_load(&m->parked)) {
		drop(m);
		m = NULL;
	}
	if (op == EPOLL_CTL_ADD && m)
		return -EEXIST;
	if (op != EPOLL_CTL_ADD && !m)
		return -ENOENT;
	if (op == EPOLL_CTL_DEL) {
		drop(m);
		return 0;
	}
	if (!event)
		return -EFAULT;
	if (op == EPOLL_CTL_MOD &&
	    ((event->events | atomic_load(&m->events)) & EPOLLEXCLUSIVE))
		return -EINVAL;
	if ((event->events & EPOLLEXCLUSIVE) &&
	    (event->events & ~(uint32_t)EXCLUSIVE_OK))
		return -EINVAL;
	if (op == EPOLL_CTL_ADD) {
		int result = epoll_make_shadow(e);

		if (result < 0)
			return result;
		m = add(e, c, fd, event);
		if (!m)
			return -ENOMEM;
		epoll_member_attach(m);
		if (e->is_nested && atomic_load(&e->count) == 1)
			epoll_nested_adopt(e);
		if (e->is_nested)
			epoll_arm(e);
	} else {
		set_wanted(m, event);
	}
	epoll_wake(e);
	return 0;
}

/* An fd that is registered with the kernel may become a candidate later. */
static void remember_registration(int fd)
{
	if (!registered) {
		void *table =
		    mmap(NULL, FDTABLE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (table == MAP_FAILED)
			return;
		registered = table;
	}
	if ((unsigned)fd < FDTABLE_SIZE)
		registered[fd] = 1;
}

static int control_kernel(struct epoll *e, int op, int fd,
			  struct epoll_event *event)
{
	sigset_t saved;
	int result;

	/* The program drew our cookie: nobody may mistake one for the other. */
	if (event && op != EPOLL_CTL_DEL &&
	    epoll_is_cookie(e, event->data.u64)) {
		engine_lock(&saved);
		draw_cookie(e);
		epoll_nested_redraw(e);
		engine_unlock(&saved);
	}
	if (!epoll_of(fd) || op < EPOLL_CTL_ADD || op > EPOLL_CTL_MOD)
		return real.epoll_ctl(e->fd, op, fd, event);
	result = epoll_nested_control(e, op, fd, event);
	if (result < 0) {
		errno = -result;
		return -1;
	}
	return 0;
}

/*
 * Loops change what they wait for with every message, and many take a
 * descriptor out and put it back. For a member in the ring that costs a few
 * stores, no lock and no system call: one that was taken out stays attached,
 * parked, until its connection ends. 0, -errno, or 1: the long way.
 */
static int control_at_once(struct epoll *e, int op, int fd,
			   const struct epoll_event *event)
{
	struct connection *c = connection_of(fd);
	struct epoll_member *m = c ? c->members : NULL;
	uint32_t parked = 0;

	while (m && (m->epoll != e || m->key != fd))
		m = m->next;
	if (!m || !m->attached || connection_phase(c) != PHASE_ACTIVE)
		return 1;
	if (op == EPOLL_CTL_DEL) {
		if (!atomic_compare_exchange_strong(&m->parked, &parked, 1))
			return -ENOENT;
		atomic_store(&m->enabled, 0);
		return 0;
	}
	if (!event ||
	    ((event->events | atomic_load(&m->events)) & EPOLLEXCLUSIVE))
		return 1;
	parked = op == EPOLL_CTL_ADD;
	if (atomic_load(&m->parked) != parked)
		return parked ? -EEXIST : -ENOENT;
	set_wanted(m, event);
	atomic_store(&m->parked, 0);
	if (e->is_nested)
		epoll_arm(e);
	epoll_wake(e);
	return 0;
}

/*
 * The program has no descriptor left that an instance with members would need,
 * and epoll_ctl() needs none. A connection that can still be had on TCP is
 * registered with the kernel then.
 */
static void leave_to_kernel(struct epoll *e, struct connection *c, int fd)
{
	sigset_t saved;
	bool possible;

	if (e->shadow >= 0 || connection_phase(c) >= PHASE_ACTIVE)
		return;
	engine_lock(&saved);
	possible =
	    epoll_make_shadow(e) == -EMFILE && !messages_await_confirm(c);
	c->watched_by_kernel = possible;
	engine_unlock(&saved);
	if (possible)
		handshake_abort(c, fd, REASON_DESCRIPTORS);
}

int epoll_control(int ep, int op, int fd, struct epoll_event *event)
{
	struct epoll *e = epoll_of(ep);
	struct connection *c = connection_of(fd);
	struct epoll_member *m;
	sigset_t saved;
	bool native;
	int result;

	if (!e || op < EPOLL_CTL_ADD || op > EPOLL_CTL_MOD)
		return real.epoll_ctl(ep, op, fd, event);
	if (__builtin_expect(!epoll_is_settled(e), 0))
		epoll_meet(e);
	result = control_at_once(e, op, fd, event);
	if (result < 0) {
		errno = -result;
		return -1;
	}
	if (result == 0)
		return 0;
	if (!c) {
		if (op == EPOLL_CTL_ADD)
			remember_registration(fd);
		return control_kernel(e, op, fd, event);
	}
	if (op == EPOLL_CTL_ADD && e->given)
		epoll_common_join(c, fd);
	else if (op == EPOLL_CTL_ADD)
		leave_to_kernel(e, c, fd);
	engine_lock(&saved);
	m = find(e, fd);
	native = belongs_to_kernel(c);
	if (!native)
		result = control_member(e, op, fd, event);
	else if (m && op == EPOLL_CTL_ADD && !atomic_load(&m->parked))
		result = -EEXIST;
	else if (m)
		epoll_member_to_kernel(m);
	engine_unlock(&saved);
	if (native && result >= 0)
		return control_kernel(e, op, fd, event);
	if (result == 0)
		return 0;
	errno = -result;
	return -1;
}

/* ---- registrations made before connect ---- */

/* The list knows numbers only, and ours may be another file in a parent. */
static bool is_registered(struct epoll *e, int fd, struct epoll_event *event)
{
	long result;

	if (!registrations_find(e->fd, fd, event))
		return false;
	result = ctl(e->fd, EPOLL_CTL_ADD, fd, 0, 0);
	if (result == 0)
		ctl(e->fd, EPOLL_CTL_DEL, fd, 0, 0);
	return result == -EEXIST;
}

/* True: it is registered in one that is not ours alone. */
static bool adopt_one(struct epoll *e, struct connection *c, int fd)
{
	struct epoll_event event;
	struct epoll_member *m;

	if (epoll_is_anothers(e) || !is_registered(e, fd, &event))
		return false;
	if (e->given || epoll_make_shadow(e) < 0)
		return e->given;
	m = add(e, c, fd, &event);
	if (!m)
		return false;
	/* The kernel adds these to all but what EPOLLONESHOT has silenced. */
	if (!(event.events & (EPOLLERR | EPOLLHUP)))
		atomic_store(&m->enabled, 0);
	ctl(e->fd, EPOLL_CTL_DEL, fd, 0, 0);
	epoll_member_attach(m);
	if (e->is_nested)
		epoll_nested_adopt(e);
	epoll_wake(e);
	return false;
}

bool epoll_adopt(struct connection *c, int fd)
{
	struct epoll_event event;
	bool common = false;
	sigset_t saved;

	if (!registered || !registered[fd])
		return false;
	registered[fd] = 0;
	for (int ep = 0; ep < fdtable_end(); ep++) {
		struct epoll *e = epoll_of(ep);

		if (e && epoll_user(e) == EPOLL_NOBODY &&
		    is_registered(e, fd, &event))
			epoll_meet(e);
	}
	engine_lock(&saved);
	for (int ep = 0; ep < fdtable_end(); ep++)
		if (epoll_of(ep))
			common |= adopt_one(epoll_of(ep), c, fd);
	engine_unlock(&saved);
	return common;
}

/* ---- descriptors that go ---- */

static int another_number(const struct connection *c, int fd)
{
	for (int i = 0; i < fdtable_end(); i++)
		if (i != fd && connection_of(i) == c)
			return i;
	return -1;
}

/* The kernel keeps a registration until the last descriptor of the file goes;
 * so do we, under a number that still names it. But one that was taken out must
 * not be found under its old number, which may be given to a file anew. */
void epoll_forget(struct connection *c, int fd)
{
	struct epoll_member *m = c->members;
	int other = -1;

	if (m && atomic_load(&c->entry.references) > 1)
		other = another_number(c, fd);
	while (m) {
		struct epoll_member *next = m->next;

		if (other < 0 || (m->fd == fd && atomic_load(&m->parked)))
			drop(m);
		else if (m->fd == fd)
			m->fd = other;
		m = next;
	}
}

void epoll_closing(int fd)
{
	struct epoll *e = epoll_of(fd);
	struct fdentry *entry;

	if (!e || !fdtable_clear(fd, &entry))
		return;
	epoll_nested_forget(e);
	while (atomic_load(&e->count) > 0)
		drop(atomic_load(&atomic_load(&e->members)[0]));
	epoll_drop_shadow(e);
	epoll_common_put(e);
	/* Who sleeps on it comes back to it. */
	e->fd = -1;
	if (atomic_load(&e->common->sleepers) == 0)
		pool_put(e, sizeof(*e));
}
