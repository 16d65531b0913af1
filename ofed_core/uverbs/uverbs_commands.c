/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_commands: dispatch of the uverbs commands.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <string.h>

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
};

#define CMD(n)     IB_USER_VERBS_CMD_##n
#define IN(n)      sizeof(struct ib_uverbs_##n)
#define OUT(n)     sizeof(struct ib_uverbs_##n##_resp)
#define HEAD(t, f) offsetof(struct ib_uverbs_##t, f)

static const struct entry plain[] = {
    [CMD(GET_CONTEXT)] = {uverbs_get_context, IN(get_context), OUT(get_context),
			  LOCK_WRITE},
    [CMD(QUERY_DEVICE)] = {uverbs_query_device, IN(query_device),
			   OUT(query_device), LOCK_READ},
    [CMD(QUERY_PORT)] = {uverbs_query_port, IN(query_port), OUT(query_port),
			 LOCK_READ},
    [CMD(ALLOC_PD)] = {uverbs_alloc_pd, IN(alloc_pd), OUT(alloc_pd),
		       LOCK_WRITE},
    [CMD(DEALLOC_PD)] = {uverbs_dealloc_pd, IN(dealloc_pd), 0, LOCK_WRITE},
    [CMD(CREATE_AH)] = {uverbs_create_ah, IN(create_ah), OUT(create_ah),
			LOCK_WRITE},
    [CMD(DESTROY_AH)] = {uverbs_destroy_ah, IN(destroy_ah), 0, LOCK_WRITE},
    [CMD(REG_MR)] = {uverbs_reg_mr, IN(reg_mr), OUT(reg_mr), LOCK_WRITE},
    [CMD(DEREG_MR)] = {uverbs_dereg_mr, IN(dereg_mr), 0, LOCK_WRITE},
    [CMD(ALLOC_MW)] = {uverbs_alloc_mw, IN(alloc_mw), OUT(alloc_mw),
		       LOCK_WRITE},
    [CMD(DEALLOC_MW)] = {uverbs_dealloc_mw, IN(dealloc_mw), 0, LOCK_WRITE},
    [CMD(CREATE_COMP_CHANNEL)] = {uverbs_create_channel,
				  IN(create_comp_channel),
				  OUT(create_comp_channel), LOCK_WRITE},
    [CMD(CREATE_CQ)] = {uverbs_create_cq, IN(create_cq), OUT(create_cq),
			LOCK_WRITE},
    [CMD(RESIZE_CQ)] = {uverbs_resize_cq, IN(resize_cq),
			HEAD(resize_cq_resp, reserved), LOCK_WRITE},
    [CMD(DESTROY_CQ)] = {uverbs_destroy_cq, IN(destroy_cq), OUT(destroy_cq),
			 LOCK_WRITE},
    [CMD(REQ_NOTIFY_CQ)] = {uverbs_req_notify_cq, IN(req_notify_cq), 0,
			    LOCK_READ},
    [CMD(CREATE_QP)] = {uverbs_create_qp, IN(create_qp), OUT(create_qp),
			LOCK_WRITE},
    [CMD(QUERY_QP)] = {uverbs_query_qp, IN(query_qp), OUT(query_qp),
		       LOCK_WRITE},
    [CMD(MODIFY_QP)] = {uverbs_modify_qp, IN(modify_qp), 0, LOCK_WRITE},
    [CMD(DESTROY_QP)] = {uverbs_destroy_qp, IN(destroy_qp), OUT(destroy_qp),
			 LOCK_WRITE},
    [CMD(ATTACH_MCAST)] = {uverbs_attach_mcast, IN(attach_mcast), 0,
			   LOCK_WRITE},
    [CMD(DETACH_MCAST)] = {uverbs_detach_mcast, IN(detach_mcast), 0,
			   LOCK_WRITE},
    [CMD(CREATE_SRQ)] = {uverbs_create_srq, IN(create_srq), OUT(create_srq),
			 LOCK_WRITE},
    [CMD(MODIFY_SRQ)] = {uverbs_modify_srq, IN(modify_srq), 0, LOCK_WRITE},
    [CMD(QUERY_SRQ)] = {uverbs_query_srq, IN(query_srq), OUT(query_srq),
			LOCK_READ},
    [CMD(DESTROY_SRQ)] = {uverbs_destroy_srq, IN(destroy_srq), OUT(destroy_srq),
			  LOCK_WRITE},
};

static const struct entry extended[] = {
    [CMD(QUERY_DEVICE)] = {uverbs_ex_query_device, IN(ex_query_device),
			   HEAD(ex_query_device_resp, odp_caps), LOCK_READ},
    [CMD(CREATE_CQ)] = {uverbs_ex_create_cq, IN(ex_create_cq),
			OUT(ex_create_cq), LOCK_WRITE},
    [CMD(CREATE_QP)] = {uverbs_ex_create_qp, HEAD(ex_create_qp, comp_mask),
			OUT(ex_create_qp), LOCK_WRITE},
    [CMD(MODIFY_QP)] = {uverbs_ex_modify_qp, IN(modify_qp), 0, LOCK_WRITE},
};

static const struct entry *find_entry(const struct uverbs_header *h)
{
	const struct entry *list = h->is_extended ? extended : plain;
	size_t count = h->is_extended ? sizeof(extended) / sizeof(extended[0])
				      : sizeof(plain) / sizeof(plain[0]);

	return h->number < count && list[h->number].run ? &list[h->number]
							: NULL;
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
	c->driver_in = c->in + h.in_bytes;
	c->driver_in_bytes = h.driver_in_bytes;
	c->is_extended = h.is_extended;
	c->driver_at = h.out_bytes;
	if (h.out_bytes + h.driver_out_bytes < c->out_max)
		c->out_max = h.out_bytes + h.driver_out_bytes;
	if (e->lock == LOCK_WRITE)
		pthread_rwlock_wrlock(&core_lock);
	else
		pthread_rwlock_rdlock(&core_lock);
	rc = e->run(c);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
	return rc;
}
