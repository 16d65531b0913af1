/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_connections: walks the slots of all segments.
 */
#include "status_connections.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "status_file.h"

#define SLOTS_AT_ONCE 32

struct walk {
	int (*each)(void *owner, const struct status_connection *c);
	void *owner;
};

static int show_slot(const struct walk *w, const struct status_file *file,
		     uint64_t living, const struct status_slot *slot)
{
	const struct status_holder *holder = file->header.holders;
	struct status_connection c = {.slot = *slot};
	uint64_t holders = slot->holders & living;
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
	return w->each(w->owner, &c);
}

static int show_segment(void *owner, struct status_file *file)
{
	struct status_slot slot[SLOTS_AT_ONCE];
	uint64_t living = status_file_living(file);
	int i, n, result = 0;
	uint32_t first;

	if (!living)
		return 0;
	for (first = 0;; first += (uint32_t)n) {
		n = status_file_slots(file, first, slot, SLOTS_AT_ONCE);
		/* A file that is cut short ends here; the others go on. */
		if (n <= 0)
			return 0;
		for (i = 0; i < n && !result; i++)
			result = show_slot(owner, file, living, &slot[i]);
		if (result)
			return result;
	}
}

int status_connections_each(const char *rundir,
			    int (*each)(void *owner,
					const struct status_connection *c),
			    void *owner)
{
	struct walk w = {.each = each, .owner = owner};
	int result, dir = status_dir_open(rundir);

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	result = status_file_each(dir, show_segment, &w);
	close(dir);
	return result;
}
