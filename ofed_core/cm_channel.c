/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_channel: rdma_cm is not served: opening its node is refused.
 */
#include "cm_channel.h"

#include <errno.h>
#include <stddef.h>

#include "client.h"
#include "cm.h"

int cm_channel_create(struct cm_channel **out, struct client *c)
{
	(void)c;
	*out = NULL;
	return -EOPNOTSUPP;
}

void cm_channel_destroy(struct cm_channel *ch)
{
	(void)ch;
}

int ucma_command(struct command *c, const void *bytes, size_t count)
{
	(void)c;
	(void)bytes;
	(void)count;
	return -EOPNOTSUPP;
}

void cm_receive(const struct arrival *a)
{
	(void)a;
}
