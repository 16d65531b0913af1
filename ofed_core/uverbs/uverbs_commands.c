/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_commands: dispatch of the uverbs commands.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/verbs/object.h"
#include "ofed_core/wire/wire.h"

enum lock_kind {
	LOCK_READ,
	LOCK_WRITE
};

struct entry {
	int (*run)(struct command *c);
	size_t in_min;
	size_t out_min;
	enum lock_kind lock;
	enum object_type type; /* of what the request names; 0: of nothing */
	size_t handle_at;      /* in the request */
};

#define CMD(n)         IB_USER_VERBS_CMD_##n
#define IN(n)          sizeof(struct ib_uverbs_##n)
#define OUT(n)         sizeof(struct ib_uverbs_##n##_resp)
#define BOTH(n)        IN(n), OUT(n)
#define HEAD(t, f)     offsetof(struct ib_uverbs_##t, f)
#define NOTHING        (enum object_type)0, 0
#define NAMES(t, n, f) OBJECT_##t, offsetof(struct ib_uverbs_##n, f)

/* Destroys what nothing else needs. */
static int destroy(struct command *c)
{
	struct object *o = c->object;

	if (atomic_load(&o->refs))
		return -EBUSY;
	object_destroy(o);
	return 0;
}

/* Destroys what has events, too, and tells how many were taken. */
static int destroy_reporting(struct command *c)
{
	struct ib_uverbs_destroy_qp_resp r = {0};
	struct object *o = c->object;

	if (atomic_load(&o->refs))
		return -EBUSY;
	r.events_reported = event_reported(o);
	object_destroy(o);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

_Static_assert(sizeof(struct ib_uverbs_destroy_qp_resp) ==
		   sizeof(struct ib_uverbs_destroy_srq_resp),
	       "one answer for both");

static const struct entry plain[] = {
    [CMD(GET_CONTEXT)] = {uverbs_get_context, BOTH(get_context), LOCK_WRITE,
			  NOTHING},
    [CMD(QUERY_DEVICE)] = {uverbs_query_device, BOTH(query_device), LOCK_READ,
			   NOTHING},
    [CMD(QUERY_PORT)] = {uverbs_query_port, BOTH(query_port), LOCK_READ,
			 NOTHING},
    [CMD(ALLOC_PD)] = {uverbs_alloc_pd, BOTH(alloc_pd), LOCK_WRITE, NOTHING},
    [CMD(DEALLOC_PD)] = {destroy, IN(dealloc_pd), 0, LOCK_WRITE,
			 NAMES(PD, dealloc_pd, pd_handle)},
    [CMD(CREATE_AH)] = {uverbs_create_ah, BOTH(create_ah), LOCK_WRITE,
			NAMES(PD, create_ah, pd_handle)},
    [CMD(DESTROY_AH)] = {destroy, IN(destroy_ah), 0, LOCK_WRITE,
			 NAMES(AH, destroy_ah, ah_handle)},
    [CMD(REG_MR)] = {uverbs_reg_mr, BOTH(reg_mr), LOCK_WRITE,
		     NAMES(PD, reg_mr, pd_handle)},
    [CMD(DEREG_MR)] = {uverbs_dereg_mr, IN(dereg_mr), 0, LOCK_WRITE,
		       NAMES(MR, dereg_mr, mr_handle)},
    [CMD(ALLOC_MW)] = {uverbs_alloc_mw, BOTH(alloc_mw), LOCK_WRITE,
		       NAMES(PD, alloc_mw, pd_handle)},
    [CMD(DEALLOC_MW)] = {destroy, IN(dealloc_mw), 0, LOCK_WRITE,
			 NAMES(MW, dealloc_mw, mw_handle)},
    [CMD(CREATE_COMP_CHANNEL)] = {uverbs_create_channel,
				  BOTH(create_comp_channel), LOCK_WRITE,
				  NOTHING},
    [CMD(CREATE_CQ)] = {uverbs_create_cq, BOTH(create_cq), LOCK_WRITE, NOTHING},
    [CMD(RESIZE_CQ)] = {uverbs_resize_cq, IN(resize_cq),
			HEAD(resize_cq_resp, reserved), LOCK_WRITE,
			NAMES(CQ, resize_cq, cq_handle)},
    [CMD(DESTROY_CQ)] = {uverbs_destroy_cq, BOTH(destroy_cq), LOCK_WRITE,
			 NAMES(CQ, destroy_cq, cq_handle)},
    [CMD(REQ_NOTIFY_CQ)] = {uverbs_req_notify_cq, IN(req_notify_cq), 0,
			    LOCK_READ, NAMES(CQ, req_notify_cq, cq_handle)},
    [CMD(CREATE_QP)] = {uverbs_create_qp, BOTH(create_qp), LOCK_WRITE, NOTHING},
    [CMD(QUERY_QP)] = {uverbs_query_qp, BOTH(query_qp), LOCK_WRITE,
		       NAMES(QP, query_qp, qp_handle)},
    [CMD(MODIFY_QP)] = {uverbs_modify_qp, IN(modify_qp), 0, LOCK_WRITE,
			NAMES(QP, modify_qp, qp_handle)},
    [CMD(DESTROY_QP)] = {destroy_reporting, BOTH(destroy_qp), LOCK_WRITE,
			 NAMES(QP, destroy_qp, qp_handle)},
    [CMD(ATTACH_MCAST)] = {uverbs_attach_mcast, IN(attach_mcast), 0, LOCK_WRITE,
			   NAMES(QP, attach_mcast, qp_handle)},
    [CMD(DETACH_MCAST)] = {uverbs_detach_mcast, IN(detach_mcast), 0, LOCK_WRITE,
			   NAMES(QP, detach_mcast, qp_handle)},
    [CMD(CREATE_SRQ)] = {uverbs_create_srq, BOTH(create_srq), LOCK_WRITE,
			 NAMES(PD, create_srq, pd_handle)},
    [CMD(MODIFY_SRQ)] = {uverbs_modify_srq, IN(modify_srq), 0, LOCK_WRITE,
			 NAMES(SRQ, modify_srq, srq_handle)},
    [CMD(QUERY_SRQ)] = {uverbs_query_srq, BOTH(query_srq), LOCK_READ,
			NAMES(SRQ, query_srq, srq_handle)},
    [CMD(DESTROY_SRQ)] = {destroy_reporting, BOTH(destroy_srq), LOCK_WRITE,
			  NAMES(SRQ, destroy_srq, srq_handle)},
};

static const struct entry extended[] = {
    [CMD(QUERY_DEVICE)] = {uverbs_ex_query_device, IN(ex_query_device),
			   HEAD(ex_query_device_resp, odp_caps), LOCK_READ,
			   NOTHING},
    [CMD(CREATE_CQ)] = {uverbs_ex_create_cq, BOTH(ex_create_cq), LOCK_WRITE,
			NOTHING},
    [CMD(CREATE_QP)] = {uverbs_ex_create_qp, HEAD(ex_create_qp, comp_mask),
			OUT(ex_create_qp), LOCK_WRITE, NOTHING},
    [CMD(MODIFY_QP)] = {uverbs_ex_modify_qp, IN(modify_qp), 0, LOCK_WRITE,
			NAMES(QP, modify_qp, qp_handle)},
};

static const struct entry *find_entry(const struct uverbs_header *h)
{
	const struct entry *list = h->is_extended ? extended : plain;
	size_t count = h->is_extended ? sizeof(extended) / sizeof(extended[0])
				      : sizeof(plain) / sizeof(plain[0]);

	return h->number < count && list[h->number].run ? &list[h->number]
							: NULL;
}

/* What the request names; false when it should name something and does not. */
static bool find_object(struct command *c, const struct entry *e)
{
	uint32_t handle;

	if (!e->type)
		return true;
	memcpy(&handle, (const char *)c->in + e->handle_at, sizeof(handle));
	c->object = object_find(c->client, handle, e->type);
	return c->object;
}

int command_answer(struct command *c, const void *core, size_t core_bytes,
		   const void *driver, size_t driver_bytes)
{
	size_t at = c->is_extended ? c->driver_at : core_bytes;

	if (core_bytes > at)
		core_bytes = at;
	if (at > c->out_max || driver_bytes > c->out_max - at)
		return -ENOSPC;
	memcpy(c->out, core, core_bytes);
	if (driver_bytes)
		memcpy(c->out + at, driver, driver_bytes);
	c->out_bytes = at + driver_bytes;
	return 0;
}

int uverbs_command(struct command *c, const void *bytes, size_t count)
{
	struct uverbs_header h;
	const struct entry *e;
	int rc = uverbs_decode(&h, bytes, count);

	if (rc < 0)
		return rc;
	e = find_entry(&h);
	if (!e)
		return -EOPNOTSUPP;
	if (!c->client->has_context && e->run != uverbs_get_context)
		return -EINVAL;
	if (h.in_bytes < e->in_min || h.out_bytes < e->out_min)
		return -ENOSPC;
	c->in = (const unsigned char *)bytes + h.in_at;
	c->in_bytes = h.in_bytes;
	c->is_extended = h.is_extended;
	c->driver_at = h.out_bytes;
	if (h.out_bytes + h.driver_out_bytes < c->out_max)
		c->out_max = h.out_bytes + h.driver_out_bytes;
	if (e->lock == LOCK_WRITE)
		pthread_rwlock_wrlock(&core_lock);
	else
		pthread_rwlock_rdlock(&core_lock);
	rc = find_object(c, e) ? e->run(c) : -EINVAL;
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
	return rc;
}
