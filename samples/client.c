/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client: has a server add two numbers. The first goes into the server's
 * memory by an RDMA write, the second by a send; the sum comes back by a send.
 *
 * build:	cc -o client client.c -lrdmacm -libverbs
 * usage:	client SERVER VALUE1 VALUE2
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE            "20079"
#define RESOLVE_TIMEOUT_MS 5000

/* What the server says with its consent: where the first number goes. */
struct grant {
	uint64_t address; /* network order, as all below */
	uint32_t rkey;
	uint32_t unused;
};

/* The registered memory; network order. */
struct numbers {
	uint32_t first;
	uint32_t second;
	uint32_t sum;
};

enum work {
	WORK_SUM = 1, /* the receive */
	WORK_FIRST,
	WORK_SECOND
};

struct client {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct numbers numbers;
	struct grant grant;
};

static int failed(const char *what)
{
	fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
	return -1;
}

/* ---- Connection management ---------------------------------------------- */

/* Waits for an event; another one, which means failure, is named. */
static int wait_event(struct client *c, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	int result = 0;

	if (rdma_get_cm_event(c->channel, &event) != 0)
		return failed("rdma_get_cm_event");
	if (event->event != wanted) {
		fprintf(stderr, "client: %s (status %d) instead of %s\n",
			rdma_event_str(event->event), event->status,
			rdma_event_str(wanted));
		result = -1;
	} else if (wanted == RDMA_CM_EVENT_ESTABLISHED) {
		/* Private data is gone when the event is acknowledged. */
		if (event->param.conn.private_data_len >= sizeof(c->grant))
			memcpy(&c->grant, event->param.conn.private_data,
			       sizeof(c->grant));
		else
			result = -1;
	}
	rdma_ack_cm_event(event);
	return result;
}

/* Finds the device and the address from which the server is reached. */
static int resolve(struct client *c, struct sockaddr *server)
{
	if (rdma_create_id(c->channel, &c->id, NULL, RDMA_PS_TCP) != 0)
		return failed("rdma_create_id");
	if (rdma_resolve_addr(c->id, NULL, server, RESOLVE_TIMEOUT_MS) != 0)
		failed("rdma_resolve_addr");
	else if (wait_event(c, RDMA_CM_EVENT_ADDR_RESOLVED) == 0)
		return 0;
	rdma_destroy_id(c->id);
	c->id = NULL;
	return -1;
}

static int find_server(struct client *c, const char *name)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int error = getaddrinfo(name, SERVICE, &hints, &list);
	int result = -1;

	if (error) {
		fprintf(stderr, "client: %s: %s\n", name, gai_strerror(error));
		return -1;
	}
	c->channel = rdma_create_event_channel();
	if (!c->channel)
		failed("rdma_create_event_channel");
	for (struct addrinfo *a = list; c->channel && a && result;
	     a = a->ai_next)
		result = resolve(c, a->ai_addr);
	freeaddrinfo(list);
	if (result == 0 && rdma_resolve_route(c->id, RESOLVE_TIMEOUT_MS) != 0)
		return failed("rdma_resolve_route");
	return result ? result : wait_event(c, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* The device is known now: c->id->verbs. */
static int make_queues(struct client *c)
{
	struct ibv_context *device = c->id->verbs;
	struct ibv_qp_init_attr attr = {
	    .qp_type = IBV_QPT_RC,
	    .cap = {.max_send_wr = 2,
		    .max_send_sge = 1,
		    .max_recv_wr = 1,
		    .max_recv_sge = 1},
	};

	c->pd = ibv_alloc_pd(device);
	if (!c->pd)
		return failed("ibv_alloc_pd");
	c->mr = ibv_reg_mr(c->pd, &c->numbers, sizeof(c->numbers),
			   IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		return failed("ibv_reg_mr");
	c->completions = ibv_create_comp_channel(device);
	if (!c->completions)
		return failed("ibv_create_comp_channel");
	c->cq = ibv_create_cq(device, 3, NULL, c->completions, 0);
	if (!c->cq)
		return failed("ibv_create_cq");
	attr.send_cq = attr.recv_cq = c->cq;
	return rdma_create_qp(c->id, c->pd, &attr) ? failed("rdma_create_qp")
						   : 0;
}

/* ---- The numbers -------------------------------------------------------- */

static struct ibv_sge place(const struct client *c, const uint32_t *number)
{
	return (struct ibv_sge){.addr = (uintptr_t)number,
				.length = sizeof(*number),
				.lkey = c->mr->lkey};
}

static int expect_sum(struct client *c)
{
	struct ibv_sge sge = place(c, &c->numbers.sum);
	struct ibv_recv_wr *bad,
	    wr = {.wr_id = WORK_SUM, .sg_list = &sge, .num_sge = 1};

	errno = ibv_post_recv(c->id->qp, &wr, &bad);
	return errno ? failed("ibv_post_recv") : 0;
}

/* Both in one list: the write arrives before the send. */
static int send_numbers(struct client *c)
{
	struct ibv_sge first = place(c, &c->numbers.first);
	struct ibv_sge second = place(c, &c->numbers.second);
	struct ibv_send_wr *bad;
	struct ibv_send_wr send = {.wr_id = WORK_SECOND,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED,
				   .sg_list = &second,
				   .num_sge = 1};
	struct ibv_send_wr write = {
	    .wr_id = WORK_FIRST,
	    .next = &send,
	    .opcode = IBV_WR_RDMA_WRITE,
	    .sg_list = &first,
	    .num_sge = 1,
	    .wr.rdma = {.remote_addr = be64toh(c->grant.address),
			.rkey = ntohl(c->grant.rkey)}};

	errno = ibv_post_send(c->id->qp, &write, &bad);
	return errno ? failed("ibv_post_send") : 0;
}

/* 1: the sum is there; 0: not yet; -1: something failed. */
static int look_at_queue(struct client *c)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(c->cq, 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr,
				"client: work request %" PRIu64 ": %s\n",
				wc.wr_id, ibv_wc_status_str(wc.status));
			return -1;
		}
		if (wc.wr_id == WORK_SUM)
			return 1;
	}
	return n < 0 ? failed("ibv_poll_cq") : 0;
}

/* Asks to be woken up, and looks before sleeping: nothing is missed. */
static int wait_for_sum(struct client *c)
{
	struct ibv_cq *cq;
	void *context;
	int done;

	for (;;) {
		errno = ibv_req_notify_cq(c->cq, 0);
		if (errno)
			return failed("ibv_req_notify_cq");
		done = look_at_queue(c);
		if (done)
			return done > 0 ? 0 : -1;
		if (ibv_get_cq_event(c->completions, &cq, &context) != 0)
			return failed("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
}

static int add(struct client *c, const char *server)
{
	struct rdma_conn_param param = {.initiator_depth = 1, .retry_count = 7};

	if (find_server(c, server) != 0 || make_queues(c) != 0 ||
	    expect_sum(c) != 0)
		return -1;
	if (rdma_connect(c->id, &param) != 0)
		return failed("rdma_connect");
	if (wait_event(c, RDMA_CM_EVENT_ESTABLISHED) != 0 ||
	    send_numbers(c) != 0 || wait_for_sum(c) != 0)
		return -1;
	return rdma_disconnect(c->id) ? failed("rdma_disconnect") : 0;
}

static void clean_up(struct client *c)
{
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->completions)
		ibv_destroy_comp_channel(c->completions);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->id)
		rdma_destroy_id(c->id);
	if (c->channel)
		rdma_destroy_event_channel(c->channel);
}

static bool parse(const char *text, uint32_t *out)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	*out = (uint32_t)value;
	return !errno && end != text && !*end && *text != '-' &&
	       value <= UINT32_MAX;
}

int main(int argc, char **argv)
{
	struct client c = {.channel = NULL};
	uint32_t first, second;
	int result;

	if (argc != 4 || !parse(argv[2], &first) || !parse(argv[3], &second)) {
		fprintf(stderr, "usage: client SERVER VALUE1 VALUE2\n");
		return 2;
	}
	c.numbers.first = htonl(first);
	c.numbers.second = htonl(second);
	result = add(&c, argv[1]);
	if (result == 0)
		printf("%" PRIu32 " + %" PRIu32 " = %" PRIu32 "\n", first,
		       second, ntohl(c.numbers.sum));
	clean_up(&c);
	return result ? 1 : 0;
}
