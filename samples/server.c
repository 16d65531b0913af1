/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * server: adds numbers for clients. The first number arrives in our memory by
 * an RDMA write, which we do not notice; the second by a send, which we do.
 *
 * build:	cc -o server server.c -lrdmacm -libverbs -lpthread
 * usage:	server [CLIENTS]	(ends after so many clients)
 *
 * Each client has a thread and an event channel of its own, so that one that
 * keeps us waiting does not keep the others waiting.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT    20079
#define BACKLOG 16

/* Goes out with our consent: where the client may write. */
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

struct client {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct numbers numbers;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_left = PTHREAD_COND_INITIALIZER;
static unsigned clients_now; /* by lock */

static int failed(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
	return -1;
}

/* ---- Before the connection is there ------------------------------------- */

static int make_queues(struct client *c)
{
	struct ibv_context *device = c->id->verbs;
	struct ibv_qp_init_attr attr = {
	    .qp_type = IBV_QPT_RC,
	    .cap = {.max_send_wr = 1,
		    .max_send_sge = 1,
		    .max_recv_wr = 1,
		    .max_recv_sge = 1},
	};

	c->pd = ibv_alloc_pd(device);
	if (!c->pd)
		return failed("ibv_alloc_pd");
	c->mr = ibv_reg_mr(c->pd, &c->numbers, sizeof(c->numbers),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!c->mr)
		return failed("ibv_reg_mr");
	c->completions = ibv_create_comp_channel(device);
	if (!c->completions)
		return failed("ibv_create_comp_channel");
	c->cq = ibv_create_cq(device, 2, NULL, c->completions, 0);
	if (!c->cq)
		return failed("ibv_create_cq");
	attr.send_cq = attr.recv_cq = c->cq;
	return rdma_create_qp(c->id, c->pd, &attr) ? failed("rdma_create_qp")
						   : 0;
}

/* The receive is there before the client can send. */
static int accept_client(struct client *c)
{
	struct ibv_sge sge = {.addr = (uintptr_t)&c->numbers.second,
			      .length = sizeof(c->numbers.second),
			      .lkey = c->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};
	struct grant grant = {.address = htobe64((uintptr_t)&c->numbers.first),
			      .rkey = htonl(c->mr->rkey)};
	struct rdma_conn_param param = {.private_data = &grant,
					.private_data_len = sizeof(grant),
					.responder_resources = 1,
					.rnr_retry_count = 7};

	errno = ibv_post_recv(c->id->qp, &wr, &bad);
	if (errno)
		return failed("ibv_post_recv");
	return rdma_accept(c->id, &param) ? failed("rdma_accept") : 0;
}

/* ---- Serving ------------------------------------------------------------ */

static int send_sum(struct client *c)
{
	struct ibv_sge sge = {.addr = (uintptr_t)&c->numbers.sum,
			      .length = sizeof(c->numbers.sum),
			      .lkey = c->mr->lkey};
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND,
				       .send_flags = IBV_SEND_SIGNALED,
				       .sg_list = &sge,
				       .num_sge = 1};
	uint32_t first = ntohl(c->numbers.first);
	uint32_t second = ntohl(c->numbers.second);

	c->numbers.sum = htonl(first + second);
	printf("%" PRIu32 " + %" PRIu32 " = %" PRIu32 "\n", first, second,
	       first + second);
	fflush(stdout);
	errno = ibv_post_send(c->id->qp, &wr, &bad);
	return errno ? failed("ibv_post_send") : 0;
}

static int take_completions(struct client *c)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(c->cq, 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "server: %s\n",
				ibv_wc_status_str(wc.status));
			return -1;
		}
		if (wc.opcode == IBV_WC_RECV && send_sum(c) != 0)
			return -1;
	}
	return n < 0 ? failed("ibv_poll_cq") : 0;
}

static int take_wake_up(struct client *c)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(c->completions, &cq, &context) != 0)
		return failed("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	errno = ibv_req_notify_cq(cq, 0);
	return errno ? failed("ibv_req_notify_cq") : take_completions(c);
}

/* 1 when the client has gone. */
static int take_event(struct client *c)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	if (rdma_get_cm_event(c->channel, &event) != 0)
		return failed("rdma_get_cm_event");
	type = event->event;
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		return 0;
	if (type == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_disconnect(c->id);
		return 1;
	}
	fprintf(stderr, "server: %s\n", rdma_event_str(type));
	return -1;
}

static int serve(struct client *c)
{
	struct pollfd fds[2] = {{.fd = c->channel->fd, .events = POLLIN},
				{.fd = c->completions->fd, .events = POLLIN}};
	int result = 0;

	while (result == 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return failed("poll");
		if (fds[1].revents)
			result = take_wake_up(c);
		if (result == 0 && fds[0].revents)
			result = take_event(c);
	}
	return result;
}

/* ---- Clients ------------------------------------------------------------ */

static void destroy_client(struct client *c)
{
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->completions)
		ibv_destroy_comp_channel(c->completions);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	rdma_destroy_id(c->id);
	if (c->channel)
		rdma_destroy_event_channel(c->channel);
	free(c);
}

static void *client_thread(void *owner)
{
	struct client *c = owner;

	c->channel = rdma_create_event_channel();
	if (!c->channel)
		failed("rdma_create_event_channel");
	else if (rdma_migrate_id(c->id, c->channel) != 0)
		failed("rdma_migrate_id");
	else if (make_queues(c) != 0 || ibv_req_notify_cq(c->cq, 0) != 0 ||
		 accept_client(c) != 0)
		rdma_reject(c->id, NULL, 0);
	else
		serve(c);
	destroy_client(c);
	pthread_mutex_lock(&lock);
	clients_now--;
	pthread_cond_signal(&one_left);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void begin_client(struct rdma_cm_id *id)
{
	struct client *c = calloc(1, sizeof(*c));
	pthread_t thread;

	if (!c) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	c->id = id;
	pthread_mutex_lock(&lock);
	clients_now++;
	pthread_mutex_unlock(&lock);
	errno = pthread_create(&thread, NULL, client_thread, c);
	if (!errno) {
		pthread_detach(thread);
		return;
	}
	failed("pthread_create");
	rdma_reject(id, NULL, 0);
	destroy_client(c);
	pthread_mutex_lock(&lock);
	clients_now--;
	pthread_mutex_unlock(&lock);
}

static int listen_for(struct rdma_event_channel *channel, unsigned long count)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6,
				   .sin6_port = htons(PORT)};
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;

	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) != 0)
		return failed("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&any) != 0)
		return failed("rdma_bind_addr");
	if (rdma_listen(listener, BACKLOG) != 0)
		return failed("rdma_listen");
	for (unsigned long i = 0; i < count;) {
		struct rdma_cm_id *id;

		if (rdma_get_cm_event(channel, &event) != 0)
			return failed("rdma_get_cm_event");
		id = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id
								   : NULL;
		/* The id cannot move to another channel before this. */
		rdma_ack_cm_event(event);
		if (!id)
			continue;
		begin_client(id);
		i++;
	}
	return rdma_destroy_id(listener) ? failed("rdma_destroy_id") : 0;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	unsigned long count = ~0ul;
	char *end = NULL;
	int result;

	if (argc == 2)
		count = strtoul(argv[1], &end, 10);
	if (argc > 2 || (end && (*end || end == argv[1]))) {
		fprintf(stderr, "usage: server [CLIENTS]\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (!channel)
		return -failed("rdma_create_event_channel");
	result = listen_for(channel, count);
	pthread_mutex_lock(&lock);
	while (result == 0 && clients_now)
		pthread_cond_wait(&one_left, &lock);
	pthread_mutex_unlock(&lock);
	if (result == 0)
		rdma_destroy_event_channel(channel);
	return result ? 1 : 0;
}
