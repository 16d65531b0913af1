/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_id: the communication identifiers of programs, their channels, events
 * and connections.
 *
 * Ownership: a channel owns its ids and queued events. An id whose program
 *            has gone while the peer has still to be told stays without a
 *            channel until that is done.
 * Locking:   cm_lock guards all of it; it is taken below core_lock.
 */
#ifndef OFED_CORE_CM_ID_H
#define OFED_CORE_CM_ID_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "ofed_core/pure/cm_message.h"
#include "ofed_core/verbs/client.h"

/* rdma_cma.h has these for programs, but cannot be included with the above. */
enum cm_event_kind {
	CM_EVENT_ADDR_RESOLVED,
	CM_EVENT_ADDR_ERROR,
	CM_EVENT_ROUTE_RESOLVED,
	CM_EVENT_ROUTE_ERROR,
	CM_EVENT_CONNECT_REQUEST,
	CM_EVENT_CONNECT_RESPONSE,
	CM_EVENT_CONNECT_ERROR,
	CM_EVENT_UNREACHABLE,
	CM_EVENT_REJECTED,
	CM_EVENT_ESTABLISHED,
	CM_EVENT_DISCONNECTED,
	CM_EVENT_DEVICE_REMOVAL,
	CM_EVENT_MULTICAST_JOIN,
	CM_EVENT_MULTICAST_ERROR,
	CM_EVENT_ADDR_CHANGE,
	CM_EVENT_TIMEWAIT_EXIT,
};

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_LISTEN,
	CM_REQ_SENT,
	CM_REP_RECEIVED,
	CM_REQ_RECEIVED,
	CM_REP_SENT,
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_TIMEWAIT,
	CM_CLOSED,
	CM_SIDR_SENT,
	CM_SIDR_RECEIVED,
	CM_SIDR_DONE,
};

/* The identifiers of rdma_cm's services; port space and port follow. */
#define CM_SERVICE_BASE UINT64_C(0x0000000001000000)

/* An address as RDMA sees it: IPv4 is ::ffff:a.b.c.d. Port in host order. */
struct cm_end {
	uint8_t ip[16];
	uint16_t port;
	uint32_t scope; /* interface of a link-local address, or 0 */
	bool is_ip4;
};

struct cm_mcast {
	struct cm_mcast *next;
	uint32_t number;
	uint64_t uid;
	uint8_t gid[16];
	uint32_t events_fetched;
};

struct cm_channel {
	struct client *client;
	struct cm_event *first;
	struct cm_event *last;
	unsigned waiting;   /* events queued */
	unsigned announced; /* bytes sent that no GET_EVENT has answered */
};

struct cm_id {
	struct cm_id *next; /* of all ids */
	struct cm_id *previous;
	uint32_t number;            /* what the program calls it */
	uint32_t local_id;          /* what the peer calls it */
	struct cm_channel *channel; /* NULL: the program has gone */
	struct quota *quota;        /* the quota that it counts against */
	struct cm_id *listener;     /* while a request waits for an answer */
	uint64_t uid;
	uint16_t space; /* RDMA_PS_* */
	enum cm_state state;
	bool is_passive;
	bool is_unheard; /* the event that tells of it is not fetched */

	struct cm_end source;
	struct cm_end dest;
	bool is_bound;
	bool reuse_address;
	bool v6_only;
	int tcp_holder; /* unify_tcp_port_space; -1 */
	struct device *device;
	struct address path;
	uint8_t tos;
	uint8_t ack_timeout;

	/* listening */
	uint32_t backlog;
	uint32_t requests;

	/* connecting */
	uint32_t remote_id;
	uint64_t transaction;
	uint64_t remote_guid;
	uint32_t qpn;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint32_t receive_psn; /* first expected */
	uint32_t send_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint8_t mtu;
	bool has_srq;

	struct cm_message sent; /* what is repeated until answered */
	unsigned retries_left;
	uint64_t repeat_ns;
	uint64_t look_ns;       /* to the next look for the neighbour */
	bool is_sending;        /* counts against mad_sendq_size */
	bool is_queued;         /* waits for others to be answered */
	struct cm_id *next_out; /* of the queue */
	struct timer timer;
	/* of a REQ: how the REP is repeated */
	uint64_t response_ns;
	uint8_t max_retries;
	uint32_t events_fetched;
	struct cm_mcast *groups;
};

extern pthread_mutex_t cm_lock;
extern struct cm_id *cm_ids;

/* ---- cm_id.c ---- */
int cm_id_create(struct cm_id **out, struct cm_channel *ch, uint64_t uid,
		 uint16_t space);
/* Tells the peer when there is one; the id may outlive this. */
void cm_id_destroy(struct cm_id *id);
/* A request is not one of its listener's backlog any more. */
void cm_id_answered(struct cm_id *id);
/* NULL unless the number names an id of the channel that it has heard of. */
struct cm_id *cm_id_find(struct cm_channel *ch, uint32_t number);
struct cm_id *cm_id_by_local(uint32_t local_id);
/* Numbers of multicast memberships come from the same table. */
int64_t cm_number_add(void *entry);
void cm_number_remove(uint32_t number);
/* Ids without a program that are done. Under cm_lock. */
void cm_id_release(struct cm_id *id);

/* ---- cm_event.c ---- */
struct cm_event {
	struct cm_event *next;
	struct cm_id *id;    /* counted for this one */
	struct cm_id *child; /* of a CONNECT_REQUEST */
	struct cm_mcast *mcast;
	struct rdma_ucm_event_resp resp;
};
/* A zeroed event for the id; NULL without memory or without a channel. */
struct cm_event *cm_event_new(struct cm_id *id, enum cm_event_kind kind,
			      int status);
void cm_event_post(struct cm_event *e);
void cm_event_simple(struct cm_id *id, enum cm_event_kind kind, int status);
struct cm_event *cm_event_take(struct cm_channel *ch);
/* Drops what is queued for an id (and its children's requests). */
void cm_event_drop(struct cm_channel *ch, struct cm_id *id);
void cm_event_drop_mcast(struct cm_channel *ch, struct cm_mcast *m);
void cm_event_move(struct cm_channel *from, struct cm_channel *to,
		   struct cm_id *id);

/* ---- cm_address.c ---- */
int cm_end_from_sockaddr(struct cm_end *out, const struct sockaddr_in6 *in);
void cm_end_to_sockaddr(const struct cm_end *in, struct sockaddr_in6 *out);
int cm_bind(struct cm_id *id, const struct cm_end *to);
/* The path begins at that GID of the device. */
void cm_path_init(struct cm_id *id, struct device *d, unsigned index,
		  uint8_t hop_limit);
/* Finds device, source address and path to dest. */
int cm_resolve(struct cm_id *id);
struct cm_id *cm_find_listener(uint16_t space, const struct cm_end *to);
bool cm_ip_is_any(const uint8_t ip[16]);

/* ---- cm_send.c ---- */
/* -EHOSTUNREACH when version 1 does not know the neighbour yet. */
int cm_send(const struct address *to, const struct cm_message *m);
/*
 * Sends id->sent and repeats it until it is answered. At most mad_sendq_size
 * messages wait for answers; others wait for their turn.
 */
void cm_send_repeated(struct cm_id *id, unsigned retries, uint64_t every_ns);
/* The timer fired: sends it again. */
void cm_send_again(struct cm_id *id);
/* Nothing is waited for any more; also stops the id's timer. */
void cm_send_answered(struct cm_id *id);
/* receive gets what waited, on the thread of the CM. */
struct arrival;
void cm_send_init(void (*receive)(const struct arrival *a));

/*
 * Handles a message again, on the thread of the CM; false when the queue is
 * full. The payload is copied.
 */
bool cm_receive_later(const struct arrival *a,
		      const uint8_t bytes[CM_MESSAGE_BYTES]);

/* ---- cm_hold_request.c ---- */
void cm_hold_request_init(void);
/* Somebody listens at the port, of either port space: perftest changes it. */
void cm_release_requests(uint16_t port);
/* True when the request waits; from: the program that sent it, 0 elsewhere. */
bool cm_hold_request(uint16_t port, pid_t from, const struct arrival *a);

/* ---- cm_connect.c ---- */
int cm_connect(struct cm_id *id, const struct rdma_ucm_conn_param *p);
int cm_accept(struct cm_id *id, const struct rdma_ucm_conn_param *p);
int cm_reject(struct cm_id *id, const void *data, size_t bytes, uint8_t reason);
int cm_disconnect(struct cm_id *id);
void cm_established(struct cm_id *id);
void cm_timer(struct timer *t);
void cm_timewait(struct cm_id *id);
/* The event parameters a datagram service tells. */
void cm_fill_ud(const struct cm_id *id, struct rdma_ucm_ud_param *ud);
void cm_fill_ah(const struct address *a, struct ib_uverbs_ah_attr *out);

#endif
