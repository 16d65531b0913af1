/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* target: the flags that name a device. */
#include "target.h"

#include <errno.h>

#include "database.h"

int target_take(const struct cmd *cmd, struct target *t, int flag,
		const char *argument)
{
	switch (flag) {
	case 'a':
		if (assign_add(&t->assign, argument) != 0)
			return message_usage(cmd, "-a needs Attribute=Value.");
		break;
	case 'l':
		t->name = argument;
		break;
	case 'p':
		t->parent = argument;
		break;
	case 'w':
		t->connection = argument;
		break;
	default:
		return EXIT_REFUSED;
	}
	return EXIT_DONE;
}

void target_fini(struct target *t)
{
	assign_fini(&t->assign);
}

int target_find(const struct method *m, const struct target *t,
		struct attrdb_device *out)
{
	int error = m->db ? attrdb_device_get(m->db, t->name, out) : -ENOENT;

	if (error == -ENOENT)
		return message_command(m->cmd, MESSAGE_NO_DEVICE, t->name);
	return error ? database_error(m->cmd, m->db, error) : EXIT_DONE;
}
