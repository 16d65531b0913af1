/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_rest: members in their handshake cost the others nothing. */
#include "smc_r/epoll/epoll_rest.h"

#include "smc_r/epoll/epoll_edge.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define QUIET_NS  20000000u
#define NS_PER_MS 1000000u

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
static uint64_t quiet_until(const struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint64_t deadline = connection_clc(c)->deadline_ms * NS_PER_MS;
	uint64_t now = sys_now_ns();
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
void epoll_note_quiet(struct epoll_member *m, uint32_t news)
{
	struct connection *c = m->connection;

	if (connection_phase(c) != PHASE_HANDSHAKE || c->offer_entry)
		return;
	atomic_store(&m->quiet_until_ns, quiet_until(m));
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
	sigset_t saved;

	engine_lock(&saved);
	for (uint32_t i = epoll_awake(e); i > 0; i--) {
		struct epoll_member *m = epoll_member_at(e, i - 1);

		if (m && may_rest(m))
			epoll_member_rest(m);
	}
	engine_unlock(&saved);
}
