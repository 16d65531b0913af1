/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucma_channel: one open rdma_cm node, and the commands it takes.
 *
 * The kernel's rdma_ucm write() interface, version 4 (rdma_user_cm.h).
 */
#include "ofed_core/ucma/ucma_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/cm/cm_id.h"
#include "ofed_core/ucma/ucma.h"
#include "ofed_core/wire/wire.h"

int ucma_channel_create(struct cm_channel **out, struct client *c)
{
	struct cm_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return -ENOMEM;
	ch->client = c;
	*out = ch;
	return 0;
}

static struct cm_id *first_id(struct cm_channel *ch)
{
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->channel == ch)
			return id;
	return NULL;
}

void ucma_channel_destroy(struct cm_channel *ch)
{
	struct cm_id *id;

	pthread_mutex_lock(&cm_lock);
	while ((id = first_id(ch)))
		cm_id_destroy(id);
	while (ch->first) {
		struct cm_event *e = ch->first;

		ch->first = e->next;
		free(e);
	}
	pthread_mutex_unlock(&cm_lock);
	wire_flush();
	free(ch);
}

#define CMD(name) [RDMA_USER_CM_CMD_##name]

static int (*const commands[])(struct command *c) = {
    CMD(CREATE_ID) = ucma_create_id,
    CMD(DESTROY_ID) = ucma_destroy_id,
    CMD(BIND_IP) = ucma_bind_ip,
    CMD(RESOLVE_IP) = ucma_resolve_ip,
    CMD(RESOLVE_ROUTE) = ucma_resolve_route,
    CMD(QUERY_ROUTE) = ucma_query_route,
    CMD(CONNECT) = ucma_connect,
    CMD(LISTEN) = ucma_listen,
    CMD(ACCEPT) = ucma_accept,
    CMD(REJECT) = ucma_reject,
    CMD(DISCONNECT) = ucma_disconnect,
    CMD(INIT_QP_ATTR) = ucma_init_qp_attr,
    CMD(GET_EVENT) = ucma_get_event,
    CMD(SET_OPTION) = ucma_set_option,
    CMD(NOTIFY) = ucma_notify,
    CMD(JOIN_IP_MCAST) = ucma_join_ip_mcast,
    CMD(LEAVE_MCAST) = ucma_leave_mcast,
    CMD(MIGRATE_ID) = ucma_migrate_id,
};

int ucma_decode(const void *bytes, size_t count, struct rdma_ucm_cmd_hdr *h)
{
	if (count < sizeof(*h))
		return -EINVAL;
	memcpy(h, bytes, sizeof(*h));
	/* The value of an option follows its command (see the shim). */
	return h->in > count - sizeof(*h) ? -EINVAL : 0;
}

void ucma_request(const struct command *c, void *out, size_t bytes)
{
	size_t n = c->in_bytes < bytes ? c->in_bytes : bytes;

	memset(out, 0, bytes);
	memcpy(out, c->in, n);
}

int ucma_answer(struct command *c, const void *bytes, size_t count)
{
	size_t n = count < c->out_max ? count : c->out_max;

	memcpy(c->out, bytes, n);
	c->out_bytes = n;
	return 0;
}

int ucma_command(struct command *c, const void *bytes, size_t count)
{
	struct rdma_ucm_cmd_hdr h;
	int rc = ucma_decode(bytes, count, &h);

	if (rc < 0)
		return rc;
	if (h.cmd >= sizeof(commands) / sizeof(commands[0]) || !commands[h.cmd])
		return h.cmd <= RDMA_USER_CM_CMD_JOIN_MCAST ? -EOPNOTSUPP
							    : -EINVAL;
	c->in = (const unsigned char *)bytes + sizeof(h);
	c->in_bytes = count - sizeof(h);
	if (h.out < c->out_max)
		c->out_max = h.out;
	pthread_rwlock_wrlock(&core_lock);
	pthread_mutex_lock(&cm_lock);
	rc = commands[h.cmd](c);
	pthread_mutex_unlock(&cm_lock);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
	return rc;
}
