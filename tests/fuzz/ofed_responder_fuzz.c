/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_responder_fuzz: any packets that a peer sends to queue pairs of each
 * type, from where they are decoded on.
 *
 * Input: packets; each is what is made right (enum choice), its distance from
 * the packet that is expected (signed), the opcode, how many bytes follow
 * behind its BTH, and these. With WHOLE of them the payload is as long as a
 * packet's may be.
 *
 * A peer writes where it has a key for, and nowhere else, and what is answered
 * is a packet.
 */
#include "ofed_core/service/dispatch.h"
#include "ofed_core/verbs/qp_attr.h"
#include "tests/fuzz/core_client.h"

#define PACKETS_MAX  48
#define BATCH        8
#define MEMORY_BYTES 16384
#define GUARD_BYTES  4096
#define GUARD        0xa5
#define RECEIVES     15
#define BTH_BYTES    12
#define MTU          256
#define WHOLE        255
#define PACKET_BYTES (PACKET_HEADERS_MAX + MTU)
#define PAIRS        3
#define FIRST_PSN    0xfffff8 /* goes round soon */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum choice {
	WHICH = 3, /* the queue pair; PAIRS: none has the number */
	RIGHT_KEY = 4,
	RIGHT_PLACE = 8, /* the address is within the memory */
	WANTS_ACK = 16,
	SOLICITED = 32,
	AT_ONCE = 64, /* with those before it */
	FROM_ELSEWHERE = 128,
};

static struct {
	uint8_t before[GUARD_BYTES];
	uint8_t bytes[MEMORY_BYTES];
	uint8_t behind[GUARD_BYTES];
} memory __attribute__((aligned(4096)));
static const uint8_t peer[16] = {[10] = 0xff, [11] = 0xff, 10, 1, 2, 9};
static const enum qp_type types[PAIRS] = {QP_RC, QP_UC, QP_UD};

static struct core_client program;
static uint32_t key, pd, cq;
static uint32_t handles[PAIRS];
static struct qp *pairs[PAIRS];
static struct rxe_queue_buf *completions;

int wire_send(const struct address *to, const struct packet *p)
{
	uint8_t bytes[PACKET_HEADERS_MAX + MEMORY_BYTES];
	struct packet again;
	size_t n = packet_encode(p, bytes);

	(void)to;
	must(n <= PACKET_HEADERS_MAX && p->payload_bytes <= 4096);
	if (p->payload_bytes)
		memcpy(bytes + n, p->payload, p->payload_bytes);
	n += p->payload_bytes;
	memset(bytes + n, 0, 3);
	n += packet_pad(p->payload_bytes);
	must(packet_decode(&again, bytes, n) == 0 &&
	     again.payload_bytes == p->payload_bytes);
	return 0;
}

/* ---- what the program does ---- */

/* The request's struct follows its header; answer: its first word. */
static uint32_t command(uint32_t number, const void *body, size_t bytes,
			void *answer, size_t room)
{
	struct ib_uverbs_cmd_hdr h = {.command = number};
	uint8_t whole[sizeof(h) + 256];
	size_t came;

	h.in_words = (uint16_t)((sizeof(h) + bytes) / 4);
	h.out_words = (uint16_t)(room / 4);
	memcpy(whole, &h, sizeof(h));
	memcpy(whole + sizeof(h), body, bytes);
	must(core_client_run(&program, whole, sizeof(h) + bytes, answer, room,
			     &came) == 0);
	return room ? *(const uint32_t *)answer : 0;
}

#define COMMAND(name, request, answer)                                         \
	command(IB_USER_VERBS_CMD_##name, &(request), sizeof(request),         \
		&(answer), sizeof(answer))

static void make_memory(void)
{
	struct ib_uverbs_reg_mr m = {
	    .start = (uintptr_t)memory.bytes,
	    .length = MEMORY_BYTES,
	    .hca_va = (uintptr_t)memory.bytes,
	    .pd_handle = pd,
	    .access_flags = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE |
			    ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC};
	struct ib_uverbs_reg_mr_resp r;

	COMMAND(REG_MR, m, r);
	key = r.rkey;
}

static void modify(uint32_t handle, enum qp_state state, uint32_t mask)
{
	struct ib_uverbs_modify_qp m = {
	    .dest = {.is_global = 1, .port_num = 1, .sgid_index = 1},
	    .qp_handle = handle,
	    .attr_mask = mask | ATTR_STATE,
	    .qp_state = (uint8_t)state,
	    .port_num = 1,
	    .path_mtu = 1,
	    .rq_psn = FIRST_PSN,
	    .dest_qp_num = 0x4321,
	    .qp_access_flags = 0xf,
	    .max_dest_rd_atomic = 4,
	    .min_rnr_timer = 12};
	uint8_t none;

	memcpy(m.dest.dgid, peer, sizeof(peer));
	command(IB_USER_VERBS_CMD_MODIFY_QP, &m, sizeof(m), &none, 0);
}

static void post_receives(struct qp *qp)
{
	struct rxe_queue_buf *ring = qp->rq->shared;

	for (unsigned i = 0; i < RECEIVES; i++) {
		uint8_t *at = ring->data +
			      ((size_t)ring->producer_index << qp->rq->shift);
		struct rxe_recv_wqe w = {.wr_id = i,
					 .dma = {.length = 1024, .num_sge = 1}};
		struct rxe_sge sge = {(uintptr_t)memory.bytes + i * 512, 1024,
				      key};

		memcpy(at, &w, sizeof(w));
		memcpy(at + offsetof(struct rxe_recv_wqe, dma.sge), &sge,
		       sizeof(sge));
		ring->producer_index =
		    (ring->producer_index + 1) & qp->rq->mask;
	}
}

static void make_pair(int which)
{
	struct ib_uverbs_create_qp q = {.pd_handle = pd,
					.send_cq_handle = cq,
					.recv_cq_handle = cq,
					.max_send_wr = 1,
					.max_recv_wr = RECEIVES,
					.max_send_sge = 1,
					.max_recv_sge = 1,
					.qp_type = types[which]};
	struct {
		struct ib_uverbs_create_qp_resp r;
		struct rxe_create_qp_resp driver;
	} made;

	handles[which] = COMMAND(CREATE_QP, q, made);
	pairs[which] = qp_find(made.r.qpn);
	must(pairs[which] != NULL);
}

/* It forgets all, and is as ready to receive as a new one. */
static void renew_pair(int which)
{
	uint32_t handle = handles[which];

	modify(handle, QP_RESET, 0);
	post_receives(pairs[which]);
	if (types[which] == QP_UD) {
		modify(handle, QP_INIT,
		       ATTR_PKEY_INDEX | ATTR_PORT | ATTR_QKEY);
		modify(handle, QP_RTR, 0);
		return;
	}
	modify(handle, QP_INIT,
	       ATTR_PKEY_INDEX | ATTR_PORT | ATTR_ACCESS_FLAGS);
	modify(handle, QP_RTR,
	       ATTR_AV | ATTR_PATH_MTU | ATTR_DEST_QPN | ATTR_RQ_PSN |
		   (types[which] == QP_RC
			? ATTR_MAX_DEST_RD_ATOMIC | ATTR_MIN_RNR_TIMER
			: 0));
}

static void start(void)
{
	struct ib_uverbs_get_context context = {0};
	struct ib_uverbs_get_context_resp context_made;
	struct ib_uverbs_alloc_pd domain = {0};
	struct ib_uverbs_alloc_pd_resp domain_made;
	struct ib_uverbs_create_cq queue = {.cqe = 255, .comp_channel = -1};
	struct {
		struct ib_uverbs_create_cq_resp r;
		struct rxe_create_cq_resp driver;
	} queue_made;

	core_client_open(&program, core_client_listen());
	COMMAND(GET_CONTEXT, context, context_made);
	pd = COMMAND(ALLOC_PD, domain, domain_made);
	cq = COMMAND(CREATE_CQ, queue, queue_made);
	make_memory();
	for (int i = 0; i < PAIRS; i++)
		make_pair(i);
	completions = pairs[0]->recv_cq->ring->shared;
}

static void begin(void)
{
	for (int i = 0; i < PAIRS; i++)
		renew_pair(i);
	completions->consumer_index = completions->producer_index;
	memset(&memory, GUARD, sizeof(memory));
}

/* ---- what the peer does ---- */

/* So many go at once with it, before it. */
static bool make_packet(struct arrival *a, uint8_t *bytes, const uint8_t *from,
			size_t n, unsigned before)
{
	uint8_t choice = from[0];
	unsigned which = choice & WHICH;
	struct qp *qp = which < PAIRS ? pairs[which] : NULL;

	memset(bytes, 0, PACKET_BYTES);
	bytes[0] = from[2];
	if (qp)
		bytes[0] |= qp->ops->transport;
	bytes[1] = choice & SOLICITED ? 0x80 : 0;
	bytes[8] = choice & WANTS_ACK ? 0x80 : 0;
	memcpy(bytes + BTH_BYTES, from + 4, n);
	if (from[3] == WHOLE)
		n = packet_header_bytes(bytes[0]) - BTH_BYTES + MTU;
	*a = (struct arrival){.device = &devices[0]};
	if (packet_decode(&a->p, bytes, BTH_BYTES + n) != 0)
		return false;
	a->p.dest_qpn = qp ? qp->qpn : 0x123456;
	if (qp)
		a->p.psn = (qp->resp.psn + before + (uint32_t)(int8_t)from[1]) &
			   PSN_MASK;
	if (choice & RIGHT_KEY)
		a->p.rkey = key;
	if (choice & RIGHT_PLACE)
		a->p.address =
		    (uintptr_t)memory.bytes + a->p.address % (MEMORY_BYTES + 8);
	memcpy(a->sgid, peer, sizeof(peer));
	a->sgid[15] ^= choice & FROM_ELSEWHERE ? 1 : 0;
	memcpy(a->dgid, devices[0].gids[1].raw, sizeof(a->dgid));
	return true;
}

static void send_all(const uint8_t *data, size_t size)
{
	static uint8_t bytes[BATCH][PACKET_BYTES];
	struct arrival batch[BATCH];
	unsigned count = 0;

	for (int i = 0; i < PACKETS_MAX && size >= 4; i++) {
		size_t n = data[3] < size - 4 ? data[3] : size - 4;

		if (count == BATCH || (count && !(data[0] & AT_ONCE))) {
			dispatch(batch, count);
			idle_worker_run();
			count = 0;
		}
		count +=
		    make_packet(&batch[count], bytes[count], data, n, count);
		data += 4 + n;
		size -= 4 + n;
	}
	dispatch(batch, count);
	for (int i = 0; i < 4; i++)
		idle_worker_run();
}

static void check_guards(void)
{
	for (size_t i = 0; i < GUARD_BYTES; i++)
		must(memory.before[i] == GUARD && memory.behind[i] == GUARD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!completions)
		start();
	begin();
	send_all(data, size);
	check_guards();
	return 0;
}
