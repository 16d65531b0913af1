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

#define NO_ID SIZE_MAX

struct entry {
	int (*run)(struct command *c);
	size_t id_at; /* in the request: the id that it is about */
};

#define CMD(name) [RDMA_USER_CM_CMD_##name]
#define ID(name)  offsetof(struct rdma_ucm_##name, id)

static const struct entry entries[] = {
    CMD(CREATE_ID) = {ucma_create_id, NO_ID},
    CMD(DESTROY_ID) = {ucma_destroy_id, ID(destroy_id)},
    CMD(BIND_IP) = {ucma_bind_ip, ID(bind_ip)},
    CMD(RESOLVE_IP) = {ucma_resolve_ip, ID(resolve_ip)},
    CMD(RESOLVE_ROUTE) = {ucma_resolve_route, ID(resolve_route)},
    CMD(QUERY_ROUTE) = {ucma_query_route, ID(query)},
    CMD(CONNECT) = {ucma_connect, ID(connect)},
    CMD(LISTEN) = {ucma_listen, ID(listen)},
    CMD(ACCEPT) = {ucma_accept, ID(accept)},
    CMD(REJECT) = {ucma_reject, ID(reject)},
    CMD(DISCONNECT) = {ucma_disconnect, ID(disconnect)},
    CMD(INIT_QP_ATTR) = {ucma_init_qp_attr, ID(init_qp_attr)},
    CMD(GET_EVENT) = {ucma_get_event, NO_ID},
    CMD(SET_OPTION) = {ucma_set_option, ID(set_option)},
    CMD(NOTIFY) = {ucma_notify, ID(notify)},
    CMD(JOIN_IP_MCAST) = {ucma_join_ip_mcast, ID(join_ip_mcast)},
    CMD(LEAVE_MCAST) = {ucma_leave_mcast, NO_ID},
    CMD(MIGRATE_ID) = {ucma_migrate_id, NO_ID},
};

/* The longest request that is known, with the value of an option behind it. */
#define REQUEST_BYTES 512

_Static_assert(sizeof(struct rdma_ucm_accept) < REQUEST_BYTES, "it fits");

int ucma_decode(const void *bytes, size_t count, struct rdma_ucm_cmd_hdr *h)
{
	if (count < sizeof(*h))
		return -EINVAL;
	memcpy(h, bytes, sizeof(*h));
	/* The value of an option follows its command (see the shim). */
	return h->in > count - sizeof(*h) ? -EINVAL : 0;
}

int ucma_answer(struct command *c, const void *bytes, size_t count)
{
	size_t n = count < c->out_max ? count : c->out_max;

	memcpy(c->out, bytes, n);
	c->out_bytes = n;
	return 0;
}

static int run(struct command *c, const struct entry *e)
{
	uint32_t number;

	if (e->id_at != NO_ID) {
		memcpy(&number, (const char *)c->in + e->id_at, sizeof(number));
		c->object = cm_id_find(c->client->cm, number);
		if (!c->object)
			return -EINVAL;
	}
	return e->run(c);
}

int ucma_command(struct command *c, const void *bytes, size_t count)
{
	_Alignas(8) unsigned char request[REQUEST_BYTES] = {0};
	struct rdma_ucm_cmd_hdr h;
	int rc = ucma_decode(bytes, count, &h);

	if (rc < 0)
		return rc;
	if (h.cmd >= sizeof(entries) / sizeof(entries[0]) ||
	    !entries[h.cmd].run)
		return h.cmd <= RDMA_USER_CM_CMD_JOIN_MCAST ? -EOPNOTSUPP
							    : -EINVAL;
	c->in = request;
	c->in_bytes = count - sizeof(h);
	memcpy(request, (const char *)bytes + sizeof(h),
	       c->in_bytes < sizeof(request) ? c->in_bytes : sizeof(request));
	if (h.out < c->out_max)
		c->out_max = h.out;
	pthread_rwlock_wrlock(&core_lock);
	pthread_mutex_lock(&cm_lock);
	rc = run(c, &entries[h.cmd]);
	pthread_mutex_unlock(&cm_lock);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
	return rc;
}
