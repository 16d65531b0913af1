/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * holders: counts the connections of each process.
 */
#include "smc_r/status/holders.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/status/status_connections.h"

struct holder_list {
	struct holder *list; /* by growing pid */
	size_t count, room;
};

static int add_holder(struct holder_list *l, pid_t pid, const char *program)
{
	struct holder *more;
	size_t at = 0;

	while (at < l->count && l->list[at].pid < pid)
		at++;
	if (at < l->count && l->list[at].pid == pid) {
		l->list[at].connections++;
		return 0;
	}
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 16;
		more = reallocarray(l->list, l->room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->list = more;
	}
	memmove(&l->list[at + 1], &l->list[at],
		(l->count - at) * sizeof(*l->list));
	l->count++;
	l->list[at].pid = pid;
	l->list[at].connections = 1;
	memcpy(l->list[at].program, program, STATUS_PROGRAM_MAX);
	return 0;
}

static int add_holders(void *owner, const struct status_connection *c)
{
	uint32_t state = c->slot.state;
	int i, error = 0;

	if (state != STATUS_INIT && state != STATUS_ACTIVE &&
	    state != STATUS_CLOSING)
		return 0;
	for (i = 0; i < c->holder_count && !error; i++)
		error = add_holder(owner, c->holder[i], c->program);
	return error;
}

int holders_list(const char *rundir, struct holder *out, int max)
{
	struct holder_list l = {.list = NULL};
	int error = status_connections_each(rundir, add_holders, &l);
	size_t shown = max > 0 ? (size_t)max : 0;

	if (shown > l.count)
		shown = l.count;
	if (!error && shown)
		memcpy(out, l.list, shown * sizeof(*out));
	free(l.list);
	return error ? error : (int)l.count;
}
