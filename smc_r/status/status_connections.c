/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_connections: walks the slots of all segments.
 */
#include "smc_r/status/status_connections.h"

#include <errno.h>
#include <string.h>

#include "smc_r/status/status_file.h"
#include "smc_r/status/user_directory.h"

struct walk {
	int (*each)(void *owner, const struct status_connection *c);
	void *owner;
	int result; /* of each() */
	const struct status_file *file;
	uint64_t living;
};

static int show_slot(void *owner, const struct status_slot *slot)
{
	struct walk *w = owner;
	const struct status_file *file = w->file;
	const struct status_holder *holder = file->header.holders;
	struct status_connection c = {.slot = *slot};
	uint64_t holders = slot->holders & w->living;
	int i;

	if (slot->state == STATUS_FREE || !holders)
		return 0;
	c.uid = file->uid;
	c.maker = file->header.pid;
	c.maker_start = file->header.start;
	memcpy(c.program, file->header.program, sizeof(c.program));
	for (i = 0; i < STATUS_HOLDERS_MAX; i++) {
		if (holders >> i & 1)
			c.holder[c.holder_count++] =
			    holder[i].pid ? holder[i].pid : c.maker;
	}
	w->result = w->each(w->owner, &c);
	return w->result;
}

static int show_segment(void *owner, struct status_file *file)
{
	struct walk *w = owner;

	w->file = file;
	w->living = status_file_living(file);
	/* A file that is cut short ends there; the others go on. */
	if (w->living)
		status_file_each_slot(file, show_slot, w);
	return w->result;
}

static int show_user(void *owner, const struct user_directory *u)
{
	return status_file_each(u->status, show_segment, owner);
}

int status_connections_each(const char *rundir,
			    int (*each)(void *owner,
					const struct status_connection *c),
			    void *owner)
{
	struct walk w = {.each = each, .owner = owner};
	int result = user_directory_each(rundir, show_user, &w);

	return result == -ENOENT ? 0 : result;
}
