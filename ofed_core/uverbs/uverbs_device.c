/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_device: context, device and port attributes, protection domains,
 * address handles and completion channels.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/verbs/address.h"
#include "ofed_core/verbs/object.h"

#define VENDOR_ID       0xb3151310u /* what AIX reports for ent devices */
#define VENDOR_PART_ID  336656132u
#define PAGE_SIZE_CAP   0xfffff000u
#define ATOMIC_HCA      1
#define LOCAL_ACK_DELAY 16
#define PORT_CAP_CM     0x10000u
#define LINK_ETHERNET   2
#define STATE_DOWN      1
#define STATE_ACTIVE    4
#define PHYS_DISABLED   3
#define PHYS_LINK_UP    5
#define WIDTH_1X        1
#define WIDTH_4X        2

#define DEVICE_CAPS                                                            \
	(IB_UVERBS_DEVICE_BAD_QKEY_CNTR | IB_UVERBS_DEVICE_CURR_QP_STATE_MOD | \
	 IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT |                                  \
	 IB_UVERBS_DEVICE_SYS_IMAGE_GUID | IB_UVERBS_DEVICE_RC_RNR_NAK_GEN |   \
	 IB_UVERBS_DEVICE_SRQ_RESIZE | IB_UVERBS_DEVICE_MEM_WINDOW |           \
	 IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B)

int uverbs_get_context(struct command *c)
{
	struct ib_uverbs_get_context_resp r = {.num_comp_vectors = 1};
	struct client *k = c->client;
	int rc;

	if (k->has_context)
		return -EINVAL;
	rc = quota_take(k->quota, QUOTA_FILES, NOTIFIER_FILES);
	if (rc < 0)
		return rc;
	rc = notifier_open(&k->async, k->worker,
			   sizeof(struct ib_uverbs_async_event_desc));
	if (rc < 0) {
		quota_give(k->quota, QUOTA_FILES, NOTIFIER_FILES);
		return rc;
	}
	k->has_context = true;
	c->fd_out = k->async.reader;
	c->fd_offset = offsetof(struct ib_uverbs_get_context_resp, async_fd);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

static void fill_device(const struct device *d,
			struct ib_uverbs_query_device_resp *r)
{
	*r = (struct ib_uverbs_query_device_resp){
	    .node_guid = d->node_guid,
	    .sys_image_guid = d->node_guid,
	    .max_mr_size = UINT64_MAX,
	    .page_size_cap = PAGE_SIZE_CAP,
	    .vendor_id = VENDOR_ID,
	    .vendor_part_id = VENDOR_PART_ID,
	    .max_qp = MAX_QP,
	    .max_qp_wr = MAX_QP_WR,
	    .device_cap_flags = DEVICE_CAPS,
	    .max_sge = MAX_SGE,
	    .max_sge_rd = MAX_SGE,
	    .max_cq = MAX_CQ,
	    .max_cqe = MAX_CQE,
	    .max_mr = MAX_MR,
	    .max_mw = MAX_MR,
	    .max_pd = MAX_PD,
	    .max_qp_rd_atom = MAX_RD_ATOM,
	    .max_res_rd_atom = MAX_RD_ATOM * MAX_QP,
	    .max_qp_init_rd_atom = MAX_RD_ATOM,
	    .atomic_cap = ATOMIC_HCA,
	    .max_mcast_grp = MAX_MCAST_GRP,
	    .max_mcast_qp_attach = MAX_MCAST_QP,
	    .max_total_mcast_qp_attach = MAX_MCAST_GRP * MAX_MCAST_QP,
	    .max_ah = MAX_AH,
	    .max_srq = MAX_SRQ,
	    .max_srq_wr = MAX_SRQ_WR,
	    .max_srq_sge = MAX_SGE,
	    .max_pkeys = 1,
	    .local_ca_ack_delay = LOCAL_ACK_DELAY,
	    .phys_port_cnt = 1,
	};
}

int uverbs_query_device(struct command *c)
{
	struct ib_uverbs_query_device_resp r;

	fill_device(c->client->device, &r);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_ex_query_device(struct command *c)
{
	struct ib_uverbs_ex_query_device_resp r = {0};
	const struct ib_uverbs_ex_query_device *q = c->in;

	if (q->comp_mask || q->reserved)
		return -EINVAL;
	fill_device(c->client->device, &r.base);
	r.response_length =
	    (uint32_t)(sizeof(r) < c->driver_at ? sizeof(r) : c->driver_at);
	r.device_cap_flags_ex = r.base.device_cap_flags;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

/* enum of the verbs: 1 2.5, 2 5, 4 10, 8 QDR, 32 EDR (25 Gb/s) per lane. */
static void fill_speed(const struct device *d,
		       struct ib_uverbs_query_port_resp *r)
{
	r->active_width = WIDTH_4X;
	if (d->speed_mbps && d->speed_mbps <= 2500) {
		r->active_width = WIDTH_1X;
		r->active_speed = 1;
	} else if (d->speed_mbps <= 10000) {
		r->active_speed = 1;
	} else if (d->speed_mbps <= 40000) {
		r->active_speed = 4;
	} else {
		r->active_speed = 32;
	}
}

int uverbs_query_port(struct command *c)
{
	const struct device *d = c->client->device;
	const struct ib_uverbs_query_port *q = c->in;
	bool is_up = d->is_up && !d->is_gone;
	struct ib_uverbs_query_port_resp r = {
	    .port_cap_flags = PORT_CAP_CM,
	    .max_msg_sz = MAX_MSG_BYTES,
	    .gid_tbl_len = GIDS_MAX,
	    .pkey_tbl_len = 1,
	    .state = is_up ? STATE_ACTIVE : STATE_DOWN,
	    .phys_state = is_up ? PHYS_LINK_UP : PHYS_DISABLED,
	    .max_mtu = 5,
	    .active_mtu = (uint8_t)device_mtu(d),
	    .max_vl_num = 1,
	    .lid = device_lid(d),
	    .link_layer = LINK_ETHERNET,
	};

	if (q->port_num != 1)
		return -EINVAL;
	fill_speed(d, &r);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

static void pd_destroy(struct object *o)
{
	free(o);
}

int uverbs_alloc_pd(struct command *c)
{
	struct ib_uverbs_alloc_pd_resp r = {0};
	struct pd *pd = calloc(1, sizeof(*pd));
	int rc =
	    pd ? object_add(c->client, &pd->o, OBJECT_PD, pd_destroy) : -ENOMEM;

	if (rc < 0) {
		free(pd);
		return rc;
	}
	r.pd_handle = pd->o.handle;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

/* The program has its end; the core keeps the other. */
#define CHANNEL_FILES (NOTIFIER_FILES - 1)

/* No command tells that a program gives up a channel: it closes it. */
static void channel_ended(struct source *s, uint32_t events)
{
	struct channel *ch =
	    (struct channel *)((char *)s - offsetof(struct channel, end));

	(void)events;
	pthread_rwlock_wrlock(&core_lock);
	worker_remove_source(ch->o.client->worker, s);
	ch->has_ended = true;
	if (!atomic_load(&ch->o.refs))
		object_destroy(&ch->o);
	pthread_rwlock_unlock(&core_lock);
}

/* Half made, too. */
static void channel_free(struct client *c, struct channel *ch)
{
	if (ch->notifier.record)
		worker_remove_source(c->worker, &ch->end);
	notifier_close(&ch->notifier);
	quota_give(c->quota, QUOTA_FILES, CHANNEL_FILES);
	free(ch);
}

static void channel_destroy(struct object *o)
{
	channel_free(o->client, (struct channel *)o);
}

int uverbs_create_channel(struct command *c)
{
	struct ib_uverbs_create_comp_channel_resp r = {0};
	struct client *k = c->client;
	struct channel *ch;
	int rc = quota_take(k->quota, QUOTA_FILES, CHANNEL_FILES);

	if (rc < 0)
		return rc;
	ch = calloc(1, sizeof(*ch));
	if (!ch) {
		quota_give(k->quota, QUOTA_FILES, CHANNEL_FILES);
		return -ENOMEM;
	}
	rc = notifier_open(&ch->notifier, k->worker,
			   sizeof(struct ib_uverbs_comp_event_desc));
	ch->end = (struct source){ch->notifier.fd, channel_ended};
	if (rc == 0)
		rc = worker_await_end(k->worker, &ch->end);
	if (rc == 0)
		rc = object_add(k, &ch->o, OBJECT_CHANNEL, channel_destroy);
	if (rc < 0) {
		channel_free(k, ch);
		return rc;
	}
	c->fd_out = ch->notifier.reader;
	c->is_given = true;
	ch->notifier.reader = -1;
	c->fd_offset = 0;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

static void ah_destroy(struct object *o)
{
	struct ah *ah = (struct ah *)o;

	object_drop(&ah->pd->o);
	free(ah);
}

int uverbs_create_ah(struct command *c)
{
	const struct ib_uverbs_create_ah *q = c->in;
	const struct ib_uverbs_ah_attr *a = &q->attr;
	struct ib_uverbs_create_ah_resp r = {0};
	struct rxe_create_ah_resp driver = {0};
	struct ib_uverbs_qp_dest dest = {.flow_label = a->grh.flow_label,
					 .sgid_index = a->grh.sgid_index,
					 .hop_limit = a->grh.hop_limit,
					 .traffic_class = a->grh.traffic_class,
					 .sl = a->sl,
					 .dlid = a->dlid,
					 .is_global = a->is_global,
					 .port_num = a->port_num};
	struct ah *ah;
	int rc;

	if (a->port_num != 1)
		return -EINVAL;
	memcpy(dest.dgid, a->grh.dgid, sizeof(dest.dgid));
	ah = calloc(1, sizeof(*ah));
	rc = ah ? address_from_dest(c->client->device, &dest, &ah->address)
		: -ENOMEM;
	if (rc == 0)
		rc = object_add(c->client, &ah->o, OBJECT_AH, ah_destroy);
	if (rc < 0) {
		free(ah);
		return rc;
	}
	ah->pd = c->object;
	object_hold(&ah->pd->o);
	r.ah_handle = ah->o.handle;
	/* Zero would make the provider resolve the address by itself. */
	driver.ah_num = ah->o.handle + 1;
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}
