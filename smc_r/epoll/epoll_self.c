/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_self: connections of a process to its own listeners, in epoll. */
#include "smc_r/epoll/epoll_self.h"

#include "smc_r/connection/connection.h"
#include "smc_r/epoll/epoll_judge.h"
#include "smc_r/epoll/epoll_kernel.h"
#include "smc_r/epoll/epoll_scan.h"
#include "smc_r/handshake/handshake.h"

/* Each of its numbers is a registration of its own. */
static int scan_names(struct epoll *e, const struct connection *c,
		      struct epoll_event *events, int max)
{
	uint32_t count = epoll_awake(e);
	int n = 0;

	for (uint32_t i = 0; i < count && n < max; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (!m || m->connection != c)
			continue;
		epoll_member_news(m);
		n += epoll_scan_one(m, events + n);
	}
	return n;
}

int epoll_self_first(struct epoll *e, struct epoll_event *events, int n,
		     int max)
{
	uint32_t count = epoll_awake(e);

	for (uint32_t i = 0; i < count && n < max; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (!epoll_waits_for_output(m) ||
		    !handshake_tells_first(m->connection))
			continue;
		return n + scan_names(e, m->connection, events + n, max - n);
	}
	return n;
}

static bool has_own(struct epoll *e)
{
	uint32_t count = epoll_awake(e);

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (epoll_waits_for_output(m) &&
		    handshake_is_own(m->connection))
			return true;
	}
	return false;
}

int epoll_self_alone(struct epoll *e, struct epoll_event *events, int max)
{
	int n;

	if (connections_starting() == 0 || !has_own(e))
		return 0;
	n = epoll_kernel(e, events, max);
	return n == 0 && epoll_tell_hidden(e, handshake_tells_alone)
		   ? epoll_scan(e, events, max)
		   : n;
}
