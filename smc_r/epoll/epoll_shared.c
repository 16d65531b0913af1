/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_shared: instances that several processes have. */
#include "smc_r/epoll/epoll_shared.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"

#define FIRST_WORDS 256u /* each a struct epoll_shared */
#define MORE_WORDS  64u
#define ROUSE_MS    20u /* for sleeping threads to notice */

/* ---- words ---- */

/* A child has the parent's words as well; each is taken by one of them. */
static struct words {
	struct epoll_shared *_Atomic at;
	_Atomic uint32_t count;
} words;

static bool new_words(uint32_t count)
{
	void *memory =
	    mmap(NULL, count * sizeof(struct epoll_shared),
		 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	atomic_store(&words.count, 0);
	atomic_store(&words.at, memory);
	atomic_store(&words.count, count);
	return true;
}

/* The kernel put it there for this process: it is as good as random to others,
 * and costs no call. */
static uint64_t draw(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t x[2] = {0, 0};

	if (random)
		memcpy(x, random, sizeof(x));
	x[0] = (x[0] ^ x[1] ^ x[1] >> 29) * 0xbf58476d1ce4e5b9u;
	x[0] = (x[0] ^ x[0] >> 27) * 0x94d049bb133111ebu;
	return x[0] & ~(uint64_t)(EPOLL_COOKIES - 1);
}

void epoll_shared_init(void)
{
	new_words(FIRST_WORDS);
}

static struct epoll_shared *take_word(void)
{
	struct epoll_shared *at = atomic_load(&words.at);
	uint32_t count = atomic_load(&words.count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t free = 0;

		if (atomic_compare_exchange_strong(&at[i].taken, &free, 1))
			return &at[i];
	}
	return NULL;
}

struct epoll_shared *epoll_shared_get(uint64_t *cookie)
{
	struct epoll_shared *word = take_word();

	if (!word) {
		engine_lock();
		word = new_words(MORE_WORDS) ? take_word() : NULL;
		engine_unlock();
	}
	if (!word)
		return NULL;
	atomic_store(&word->user, EPOLL_NOBODY);
	atomic_store(&word->sleepers, 0);
	*cookie = draw();
	return word;
}

/* A word stays taken if a child may have it, or if a thread still sleeps on its
 * instance, which was closed. */
void epoll_shared_put(struct epoll *e)
{
	if (e->forks == atomic_load(&process.forks) &&
	    atomic_load(&e->shared->sleepers) == 0)
		atomic_store(&e->shared->taken, 0);
}

static struct epoll_member *member_at(const struct epoll *e, uint32_t i)
{
	return atomic_load(&atomic_load(&e->members)[i]);
}

/* What TCP told of members until they became active is no news to a process
 * that is told of a member that the child gives back to TCP. */
static void attach_active(struct epoll *e)
{
	for (uint32_t i = 0; i < atomic_load(&e->count); i++) {
		struct epoll_member *m = member_at(e, i);

		if (!m->attached &&
		    connection_phase(m->connection) == PHASE_ACTIVE)
			epoll_member_attach(m);
	}
}

bool epoll_shared_has_any(void)
{
	for (int fd = 0; fd < fdtable_program_end(); fd++)
		if (epoll_of(fd) && !epoll_is_bare(epoll_of(fd)))
			return true;
	return false;
}

/* Without members there is nothing that the other one would not be told. */
void epoll_shared_before_fork(void)
{
	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct epoll *e = epoll_of(fd);

		if (!e || !epoll_is_ours(e))
			continue;
		attach_active(e);
		if (!epoll_has_members(e) &&
		    atomic_load(&e->shared->sleepers) == 0)
			atomic_store(&e->shared->user, EPOLL_NOBODY);
	}
}

/* A process may have many children; each takes words of its own when it needs
 * one. */
void epoll_shared_forked(void)
{
	atomic_store(&words.count, 0);
}

/* ---- sleeping ---- */

/* The thread may have taken signs of e before it was cancelled, or jumped. */
static void pass_on(void *e)
{
	epoll_wake(e, WAKE_PASS_ON);
}

static void begin(struct epoll *e, struct sleeper *s)
{
	epoll_rewoken(s);
	*s = (struct sleeper){
	    .count = &e->shared->sleepers, .astray = pass_on, .owner = e};
	sleeper_begin(s, NULL);
	sleeper_takes(s);
}

void epoll_begin_look(struct epoll *e, struct sleeper *s)
{
	begin(e, s);
	sleeper_owes(s);
}

/* A process that comes to e while we sleep sees the count; or we see that
 * process. */
bool epoll_begin_sleep(struct epoll *e, struct sleeper *s)
{
	begin(e, s);
	if (__builtin_expect(epoll_is_settled(e), 1))
		return true;
	epoll_rewoken(s);
	return false;
}

bool epoll_end_sleep(struct epoll *e, struct sleeper *s)
{
	sleeper_owes(s);
	if (__builtin_expect(epoll_is_ours(e) || epoll_is_bare(e), 1))
		return true;
	atomic_fetch_add(&e->shared->woken_sleepers, 1);
	return e->given;
}

void epoll_rewoken(struct sleeper *s)
{
	if (!s->begun)
		return;
	sleeper_wake(s);
	sleeper_end(s);
}

/* Makes every thread that sleeps in it look once more. Other processes may not
 * know our own shadow. */
static void wake_all(struct epoll *e)
{
	uint64_t cookie = e->cookie | (EPOLL_COOKIES - 1);
	uint32_t sleepers = atomic_load(&e->shared->sleepers);
	uint32_t before = atomic_load(&e->shared->woken_sleepers);
	struct pollfd nothing = {.fd = -1};
	int fd = (int)SYS_CALL3(SYS_eventfd2, 1, EFD_CLOEXEC, 0);

	if (fd < 0)
		return;
	sys_epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, EPOLLIN, cookie);
	for (uint32_t i = 0; i < ROUSE_MS; i++) {
		if (atomic_load(&e->shared->woken_sleepers) - before >=
		    sleepers)
			break;
		SYS_CALL3(SYS_poll, &nothing, 1, 1);
	}
	sys_epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, 0, 0);
	sys_close(fd);
}

/* ---- ours ---- */

static void renew_member(struct epoll_member *m)
{
	struct connection *c = m->connection;

	epoll_ready_leave(m);
	if (c->rmb && m->attached && !m->shared)
		atomic_store(&c->own_wait->waiter, 0);
	m->attached = m->watched = false;
	if (atomic_load(&m->late) || atomic_load(&m->parked) ||
	    connection_phase(c) == PHASE_NATIVE)
		epoll_member_to_kernel(m);
	else
		epoll_member_attach(m);
}

static bool make_ours(struct epoll *e)
{
	if (!epoll_has_members(e))
		return true;
	epoll_remove_shadow(e);
	if (epoll_make_shadow(e) < 0)
		return false;
	/* The loop goes downwards, as members that leave are replaced by the
	 * last. */
	for (uint32_t i = atomic_load(&e->count); i > 0; i--)
		renew_member(member_at(e, i - 1));
	return true;
}

/* No process has used it since the fork, or the one that did has ended. */
static bool is_free(uint32_t user)
{
	return user == EPOLL_NOBODY ||
	       (user != EPOLL_MANY && process_start_time((pid_t)user) == 0);
}

/* A process that found the instance bare sleeps in it as it is, and would not
 * hear of what another one puts into it. A thread that is about to sleep sees
 * the new user, or is seen here. */
static bool is_slept_in(const struct epoll *e, uint32_t user)
{
	return user == EPOLL_NOBODY &&
	       e->forks != atomic_load(&process.forks) &&
	       atomic_load(&e->shared->sleepers) > 0;
}

static bool take_over(struct epoll *e)
{
	uint32_t user = atomic_load(&e->shared->user);
	bool ours;

	engine_lock();
	ours = epoll_is_ours(e);
	if (!ours && is_free(user))
		ours = atomic_compare_exchange_strong(&e->shared->user, &user,
						      (uint32_t)process.pid) &&
		       !is_slept_in(e, user) && make_ours(e);
	if (!ours)
		user = atomic_exchange(&e->shared->user, EPOLL_MANY);
	engine_unlock();
	if (!ours && user != EPOLL_MANY &&
	    atomic_load(&e->shared->sleepers) > 0)
		wake_all(e);
	return ours;
}

/* ---- the kernel's ---- */

static struct epoll_member *next_member(struct epoll *e)
{
	struct epoll_member *m = NULL;

	engine_lock();
	for (uint32_t i = atomic_load(&e->count); i > 0 && !m; i--) {
		m = member_at(e, i - 1);
		if (m->given || atomic_load(&m->parked))
			m = NULL;
		else
			m->given = true;
	}
	engine_unlock();
	return m;
}

void epoll_shared_join(struct connection *c, int fd, uint32_t reason)
{
	int error = errno;

	demote_for_successor(c, fd, reason, SUCCESSOR_BESIDE);
	errno = error;
}

/* The first reason stands. False: it had one. */
static bool note_given(struct epoll *e, uint32_t reason)
{
	uint32_t none = REASON_NONE;

	return atomic_compare_exchange_strong(&e->given, &none, reason);
}

void epoll_release_to_kernel(struct epoll *e, uint32_t reason)
{
	struct epoll_member *m;

	while ((m = next_member(e)) != NULL)
		epoll_shared_join(m->connection, m->fd, reason);
	engine_lock();
	for (uint32_t i = atomic_load(&e->count); i > 0; i--) {
		m = member_at(e, i - 1);
		/* Bytes that cannot come over TCP any more stay with us. */
		if (connection_phase(m->connection) == PHASE_NATIVE ||
		    atomic_load(&m->parked))
			epoll_member_to_kernel(m);
	}
	if (!epoll_has_members(e) && e->shadow >= 0)
		epoll_remove_shadow(e);
	note_given(e, reason);
	engine_unlock();
}

void epoll_claim(struct epoll *e)
{
	int error = errno;

	if (!take_over(e))
		epoll_release_to_kernel(e, REASON_DEMOTED_EPOLL);
	errno = error;
}

/* A thread that adds a connection at the same time has it counted before it
 * looks whether e is given. */
void epoll_release_unseen(struct epoll *e, uint32_t reason)
{
	uint32_t user;

	if (!epoll_is_settled(e))
		epoll_claim(e);
	if (!note_given(e, reason))
		return;
	user = atomic_exchange(&e->shared->user, EPOLL_MANY);
	if (user != EPOLL_NOBODY && atomic_load(&e->shared->sleepers) > 0)
		wake_all(e);
	if (atomic_load(&e->count) > 0 || e->shadow >= 0)
		epoll_release_to_kernel(e, reason);
}

void epoll_nest(struct epoll *e)
{
	int error = errno;

	e->is_polled = true;
	epoll_release_unseen(e, REASON_DEMOTED_NESTED);
	if (epoll_has_members(e))
		epoll_wake(e, WAKE_PASS_ON);
	errno = error;
}
