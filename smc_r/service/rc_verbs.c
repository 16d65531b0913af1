/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_verbs: device, links and chains over libibverbs. */
#include "smc_r/service/rc_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/service/rc_paths.h"

#define CQ_ENTRIES     4096
#define RECEIVES_END   (RC_LINK_RECEIVES * RC_LINK_BYTES)
#define MEMORY_BYTES   (RECEIVES_END + RC_LINK_SLOTS * RC_LINK_MESSAGE)
#define ID_IS_SLOT     0x80000000u
/* 4.096 us * 2^16: 268 ms. Linux has 67; a software RNIC may have to wait for a
 * processor. */
#define ACK_TIMEOUT    16
#define RETRIES        7
#define RNR_TIMER      5
#define EVENTS_UNACKED 64

/* ---- the device ---- */

static void read_interface(struct rc_device *d, unsigned interface)
{
	struct ifreq r = {.ifr_flags = 0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (if_indextoname(interface, r.ifr_name))
		memcpy(d->interface, r.ifr_name, sizeof(d->interface));
	if (fd >= 0 && *d->interface && ioctl(fd, SIOCGIFHWADDR, &r) == 0)
		memcpy(d->mac, r.ifr_hwaddr.sa_data, sizeof(d->mac));
	if (fd >= 0)
		close(fd);
}

/* Link-local addresses and IPv6 are GIDs of both versions of RoCE; IPv4 is
 * looked for as version 2. */
static enum ibv_gid_type type_of(const union ibv_gid *gid)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid)
		   ? IBV_GID_TYPE_ROCE_V2
		   : IBV_GID_TYPE_ROCE_V1;
}

/* One of another version will do where there is none of its own. */
static bool find_index(struct rc_device *d, const union ibv_gid *gid)
{
	struct ibv_port_attr a;
	struct ibv_gid_entry e;
	bool found = false;

	if (ibv_query_port(d->context, d->port, &a) ||
	    a.state != IBV_PORT_ACTIVE)
		return false;
	for (uint32_t i = 0; i < (uint32_t)a.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(d->context, d->port, i, &e, 0) ||
		    memcmp(&e.gid, gid, sizeof(*gid)) != 0 ||
		    (found && e.gid_type != type_of(gid)))
			continue;
		d->gid_index = (int)i;
		d->mtu = a.active_mtu;
		d->gid = *gid;
		read_interface(d, e.ndev_ifindex);
		if (e.gid_type == type_of(gid))
			return true;
		found = true;
	}
	return found;
}

static bool find_port(struct rc_device *d, const union ibv_gid *gid)
{
	struct ibv_device_attr device;

	if (ibv_query_device(d->context, &device))
		return false;
	for (d->port = 1; d->port <= device.phys_port_cnt; d->port++)
		if (find_index(d, gid))
			return true;
	return false;
}

static int make_queue(struct rc_device *d)
{
	d->channel = ibv_create_comp_channel(d->context);
	if (!d->channel)
		return -errno;
	if (fcntl(d->channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	d->cq = ibv_create_cq(d->context, CQ_ENTRIES, NULL, d->channel, 0);
	return d->cq ? 0 : -errno;
}

int rc_device_open(struct rc_device *d, const union ibv_gid *gid)
{
	struct ibv_device **list;
	int error = -ENODEV;
	int n = 0;

	memset(d, 0, sizeof(*d));
	list = ibv_get_device_list(&n);
	if (!list)
		return -errno;
	for (int i = 0; i < n && error == -ENODEV; i++) {
		d->context = ibv_open_device(list[i]);
		if (d->context && find_port(d, gid))
			error = make_queue(d);
		if (error)
			rc_device_close(d);
		else
			strncpy(d->name, ibv_get_device_name(list[i]),
				sizeof(d->name) - 1);
	}
	ibv_free_device_list(list);
	return error;
}

struct wanted {
	const struct in6_addr *local;
	unsigned interface;
	enum ibv_gid_type type;
};

static bool fits(const struct wanted *w, const struct ibv_gid_entry *e)
{
	if (e->gid_type != (uint32_t)w->type)
		return false;
	if (w->type == IBV_GID_TYPE_ROCE_V1)
		return e->ndev_ifindex == w->interface;
	return memcmp(&e->gid, w->local, sizeof(e->gid)) == 0;
}

static bool find_gid(struct ibv_context *context, const struct wanted *w,
		     union ibv_gid *gid)
{
	struct ibv_device_attr device;
	struct ibv_port_attr a;
	struct ibv_gid_entry e;

	if (ibv_query_device(context, &device))
		return false;
	for (uint8_t port = 1; port <= device.phys_port_cnt; port++) {
		if (ibv_query_port(context, port, &a) ||
		    a.state != IBV_PORT_ACTIVE)
			continue;
		for (uint32_t i = 0; i < (uint32_t)a.gid_tbl_len; i++) {
			if (ibv_query_gid_ex(context, port, i, &e, 0) ||
			    !fits(w, &e))
				continue;
			*gid = e.gid;
			return true;
		}
	}
	return false;
}

int rc_device_find(const struct in6_addr *local, int roce_version,
		   union ibv_gid *gid)
{
	struct wanted w = {local, rc_interface(local),
			   roce_version == 1 ? IBV_GID_TYPE_ROCE_V1
					     : IBV_GID_TYPE_ROCE_V2};
	struct ibv_device **list;
	bool found = false;
	int n = 0;

	list = w.interface ? ibv_get_device_list(&n) : NULL;
	if (!list)
		return -ENODEV;
	for (int i = 0; i < n && !found; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		if (!context)
			continue;
		found = find_gid(context, &w, gid);
		ibv_close_device(context);
	}
	ibv_free_device_list(list);
	return found ? 0 : -ENODEV;
}

void rc_device_close(struct rc_device *d)
{
	if (d->cq) {
		ibv_ack_cq_events(d->cq, d->unacked);
		ibv_destroy_cq(d->cq);
	}
	if (d->channel)
		ibv_destroy_comp_channel(d->channel);
	if (d->context)
		ibv_close_device(d->context);
	memset(d, 0, sizeof(*d));
}

int rc_device_arm(struct rc_device *d, bool solicited_only)
{
	return -ibv_req_notify_cq(d->cq, solicited_only);
}

int rc_device_heard(struct rc_device *d)
{
	struct ibv_cq *cq;
	void *context;

	/* At the end of file, where a core was killed, none is set. */
	errno = 0;
	/* An armed queue tells once. */
	if (ibv_get_cq_event(d->channel, &cq, &context) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -ENODEV;
	/* Each acknowledgement takes a lock. */
	if (++d->unacked < EVENTS_UNACKED)
		return 0;
	ibv_ack_cq_events(d->cq, d->unacked);
	d->unacked = 0;
	return 0;
}

/* ---- a link ---- */

static int post_receive(struct rc_link *l, uint32_t i)
{
	struct ibv_sge piece = {.addr =
				    (uintptr_t)(l->memory + i * RC_LINK_BYTES),
				.length = RC_LINK_BYTES,
				.lkey = l->mr->lkey};
	struct ibv_recv_wr r = {.wr_id = i, .sg_list = &piece, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(l->qp, &r, &bad);
}

static int make_pair(struct rc_link *l)
{
	struct ibv_qp_init_attr a = {
	    .send_cq = l->device->cq,
	    .recv_cq = l->device->cq,
	    .qp_type = IBV_QPT_RC,
	    .cap = {.max_send_wr = RC_LINK_SLOTS * (1 + RC_LINK_WRITES),
		    .max_recv_wr = RC_LINK_RECEIVES,
		    .max_send_sge = RC_WRITE_PIECES,
		    .max_recv_sge = 1}};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = l->device->port,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	l->qp = ibv_create_qp(l->pd, &a);
	if (!l->qp)
		return -errno;
	return -ibv_modify_qp(l->qp, &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS);
}

static int make_link(struct rc_link *l)
{
	int error;

	l->pd = ibv_alloc_pd(l->device->context);
	if (!l->pd)
		return -errno;
	l->memory = calloc(1, MEMORY_BYTES);
	if (!l->memory)
		return -ENOMEM;
	l->mr =
	    ibv_reg_mr(l->pd, l->memory, MEMORY_BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!l->mr)
		return -errno;
	error = make_pair(l);
	for (uint32_t i = 0; i < RC_LINK_RECEIVES && !error; i++)
		error = post_receive(l, i);
	return error;
}

int rc_link_open(struct rc_link *l, struct rc_device *d, uint32_t psn)
{
	int error;

	memset(l, 0, sizeof(*l));
	l->device = d;
	l->psn = psn;
	l->free_slots = (1u << RC_LINK_SLOTS) - 1;
	error = make_link(l);
	if (error)
		rc_link_close(l);
	return error;
}

void rc_link_close(struct rc_link *l)
{
	if (l->qp)
		ibv_destroy_qp(l->qp);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	if (l->pd)
		ibv_dealloc_pd(l->pd);
	free(l->memory);
	memset(l, 0, sizeof(*l));
}

struct rc_link_name rc_link_name(const struct rc_link *l)
{
	return (struct rc_link_name){.gid = l->device->gid,
				     .qpn = l->qp->qp_num,
				     .psn = l->psn,
				     .mtu = l->device->mtu};
}

static int become_ready_to_receive(struct rc_link *l,
				   const struct rc_link_name *peer)
{
	struct ibv_qp_attr a = {
	    .qp_state = IBV_QPS_RTR,
	    .path_mtu = peer->mtu < l->device->mtu ? peer->mtu : l->device->mtu,
	    .dest_qp_num = peer->qpn,
	    .rq_psn = peer->psn,
	    .max_dest_rd_atomic = 1,
	    .min_rnr_timer = RNR_TIMER,
	    .ah_attr = {.is_global = 1,
			.port_num = l->device->port,
			.grh = {.dgid = peer->gid,
				.sgid_index = (uint8_t)l->device->gid_index,
				.hop_limit = 64}}};

	return -ibv_modify_qp(l->qp, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER);
}

int rc_link_connect(struct rc_link *l, const struct rc_link_name *peer)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.timeout = ACK_TIMEOUT,
				.retry_cnt = RETRIES,
				.rnr_retry = RETRIES,
				.sq_psn = l->psn,
				.max_rd_atomic = 1};
	int error = become_ready_to_receive(l, peer);

	if (error)
		return error;
	return -ibv_modify_qp(l->qp, &a,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC);
}

/* ---- regions ---- */

int rc_region_make(struct rc_region *r, struct rc_link *l, void *at,
		   size_t bytes, bool remote)
{
	int access =
	    remote ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;

	r->mr = ibv_reg_mr(l->pd, at, bytes, access);
	if (!r->mr)
		return -errno;
	r->lkey = r->mr->lkey;
	r->rkey = remote ? r->mr->rkey : 0;
	r->address = (uintptr_t)at;
	return 0;
}

void rc_region_drop(struct rc_region *r)
{
	if (r->mr)
		ibv_dereg_mr(r->mr);
	memset(r, 0, sizeof(*r));
}

/* ---- chains ---- */

struct chain {
	struct ibv_send_wr wr[RC_LINK_WRITES + 1];
	struct ibv_sge piece[RC_LINK_WRITES][RC_WRITE_PIECES];
	struct ibv_sge message;
};

static void put_write(struct chain *c, unsigned i, const struct rc_write *w)
{
	for (unsigned k = 0; k < w->pieces; k++)
		c->piece[i][k] =
		    (struct ibv_sge){.addr = (uintptr_t)w->piece[k].at,
				     .length = w->piece[k].bytes,
				     .lkey = w->lkey};
	c->wr[i] = (struct ibv_send_wr){
	    .next = &c->wr[i + 1],
	    .sg_list = c->piece[i],
	    .num_sge = (int)w->pieces,
	    .opcode = IBV_WR_RDMA_WRITE,
	    .wr.rdma = {.remote_addr = w->remote, .rkey = w->rkey}};
}

static void put_message(struct chain *c, unsigned i, const struct rc_link *l,
			const void *at, uint32_t bytes, uint32_t slot)
{
	c->message = (struct ibv_sge){
	    .addr = (uintptr_t)at, .length = bytes, .lkey = l->mr->lkey};
	c->wr[i] = (struct ibv_send_wr){.wr_id = ID_IS_SLOT | slot,
					.sg_list = &c->message,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED |
						      IBV_SEND_SOLICITED};
}

int rc_link_post(struct rc_link *l, const struct rc_write *writes,
		 unsigned count, const void *message, uint32_t bytes,
		 uint64_t tag)
{
	uint32_t slot = (uint32_t)__builtin_ctz(l->free_slots | ID_IS_SLOT);
	uint8_t *at = l->memory + RECEIVES_END + slot * RC_LINK_MESSAGE;
	struct ibv_send_wr *bad;
	struct chain c;
	int error;

	if (l->free_slots == 0)
		return -EAGAIN;
	memcpy(at, message, bytes);
	for (unsigned i = 0; i < count; i++)
		put_write(&c, i, &writes[i]);
	put_message(&c, count, l, at, bytes, slot);
	error = ibv_post_send(l->qp, c.wr, &bad);
	if (error)
		return -error;
	l->free_slots &= ~(1u << slot);
	l->awaited &= ~(1u << slot);
	l->tag[slot] = tag;
	return 0;
}

int rc_device_poll(struct rc_device *d, struct rc_done *out, int most)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(d->cq, most < 16 ? most : 16, wc);

	for (int i = 0; i < n; i++)
		out[i] = (struct rc_done){
		    .what = wc[i].status               ? RC_DONE_FAILED
			    : wc[i].wr_id & ID_IS_SLOT ? RC_DONE_SENT
						       : RC_DONE_RECEIVED,
		    .qpn = wc[i].qp_num,
		    .id = wc[i].wr_id,
		    .bytes = wc[i].status ? 0 : wc[i].byte_len,
		    .status = wc[i].status};
	return n < 0 ? -EIO : n;
}

int rc_link_done(struct rc_link *l, const struct rc_done *done, uint64_t *tag,
		 void *out)
{
	uint32_t i = (uint32_t)done->id & ~ID_IS_SLOT;

	switch (done->what) {
	case RC_DONE_SENT:
		l->free_slots |= 1u << i;
		*tag = l->tag[i];
		return 0;
	case RC_DONE_RECEIVED:
		memcpy(out, l->memory + i * RC_LINK_BYTES, done->bytes);
		return post_receive(l, i);
	case RC_DONE_FAILED:
		break;
	}
	return -EIO;
}
