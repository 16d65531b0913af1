/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* hostile_clc: the handshake of a peer that keeps the rules. */
#include "hostile.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "smc_r/connection/proposal.h"
#include "smc_r/peer/registry.h"
#include "smc_r/protocol/reason.h"

#define PATIENCE_MS 10000
#define MTU_4096    5

/* ---- receiving ---- */

static long peek(struct line *l, uint8_t *bytes, size_t n, size_t have, int ms)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	long k;

	for (int i = 0; i < ms; i++) {
		if (poll(&p, 1, ms) != 1)
			return -1;
		k = recv(l->fd, bytes, n, MSG_PEEK);
		if (k <= 0 || (size_t)k > have)
			return k;
		line_sleep(1);
	}
	return -1;
}

int line_message(struct line *l, struct clc_message *m, int ms)
{
	uint8_t bytes[CLC_BYTES_MAX];
	long have = 0;
	int n;

	for (;;) {
		have = peek(l, bytes, sizeof(bytes), (size_t)have, ms);
		if (have <= 0)
			return 0;
		n = clc_peek_length(bytes, (size_t)have);
		if (n < 0 && have >= CLC_HEADER_BYTES)
			return 0;
		if (n > 0 && have >= n)
			break;
	}
	if (recv(l->fd, bytes, (size_t)n, 0) != n ||
	    clc_decode(m, bytes, (size_t)n) < 0)
		return 0;
	return m->type;
}

/* ---- client ---- */

int line_proposal(struct line *l, void *bytes)
{
	struct in6_addr local;

	(void)l;
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &local);
	return proposal_bytes(&local, bytes, CLC_BYTES_MAX);
}

void line_send_proposal(struct line *l)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	if (l->registry)
		return;
	n = line_proposal(l, bytes);
	must(n > 0);
	line_send(l, bytes, (size_t)n);
}

static void use_element(struct line *l)
{
	l->e = rmb_element(&l->rmb->map, l->element);
	l->size = l->rmb->map.rmbe_bytes;
	l->out = rmb_ring(&l->rmb->map, l->element, l->side);
	l->in = rmb_ring(&l->rmb->map, l->element, !l->side);
	memcpy(l->nonce, l->rmb->group->nonce, NONCE_BYTES);
	memcpy(l->proof, l->rmb->group->proof, NONCE_BYTES);
}

void line_await_accept(struct line *l)
{
	struct clc_message m;
	uint32_t reason;

	if (line_message(l, &m, PATIENCE_MS) != CLC_ACCEPT)
		line_end(EXIT_CANNOT, "no Accept");
	l->accept = m.accept_confirm;
	memcpy(l->peer_id, l->accept.peer_id, PEER_ID_BYTES);
	clc_nonce_get(&l->accept, l->nonce);
	reason = linkgroup_take_named(l->peer_id, l->nonce, l->accept.qpn,
				      l->accept.index - 1u, &l->rmb);
	if (reason)
		line_end(EXIT_WRONG, "the Accept names nothing: %s",
			 reason_name(reason));
	l->element = l->accept.index - 1u;
	use_element(l);
}

static int answer(struct line *l, int type, const uint8_t *secret, void *bytes)
{
	struct clc_accept_confirm m = l->accept;
	uint8_t copy[NONCE_BYTES];

	m.type = (uint8_t)type;
	memcpy(m.peer_id, l->own_id, PEER_ID_BYTES);
	memcpy(copy, secret, sizeof(copy));
	clc_nonce_set(&m, copy);
	return clc_encode_accept_confirm(&m, bytes, CLC_BYTES_MAX);
}

int line_confirm(struct line *l, void *bytes)
{
	return answer(l, CLC_CONFIRM, l->proof, bytes);
}

void line_send_confirm(struct line *l)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n = line_confirm(l, bytes);

	must(n > 0);
	line_send(l, bytes, (size_t)n);
}

void line_send_decline(struct line *l)
{
	struct clc_decline d = {.version = 1, .reason = REASON_PEER_DECLINED};
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	memcpy(d.peer_id, l->own_id, PEER_ID_BYTES);
	n = clc_encode_decline(&d, bytes, sizeof(bytes));
	must(n > 0);
	line_send(l, bytes, (size_t)n);
}

/* ---- server ---- */

static uint32_t claim(struct line *l, uint8_t *bytes)
{
	struct sockaddr_storage local = {0};
	struct sockaddr_storage peer = {0};
	socklen_t n = sizeof(local);

	getsockname(l->fd, (struct sockaddr *)&local, &n);
	n = sizeof(peer);
	getpeername(l->fd, (struct sockaddr *)&peer, &n);
	return registry_claim(&local, &peer, bytes);
}

void line_await_proposal(struct line *l)
{
	struct clc_message m = {0};
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];

	if (l->registry) {
		uint32_t n = claim(l, bytes);

		if (n == 0 || clc_decode(&m, bytes, n) < 0)
			line_end(EXIT_CANNOT, "no offer in the registry");
	} else if (line_message(l, &m, PATIENCE_MS) != CLC_PROPOSAL) {
		line_end(EXIT_CANNOT, "no Proposal");
	}
	memcpy(l->peer_id, m.proposal.peer_id, PEER_ID_BYTES);
}

static void describe(struct line *l, uint32_t number, uint32_t element)
{
	l->accept = (struct clc_accept_confirm){.type = CLC_ACCEPT,
						.version = 1,
						.path = CLC_PATH_SMCR,
						.first_contact = true,
						.qpn = number,
						.index = (uint8_t)(element + 1),
						.mtu = MTU_4096};
	l->accept.gid[0] = 0xfe;
	l->accept.gid[1] = 0x80;
	memcpy(l->accept.gid + 8, l->own_id, 8);
	l->accept.mac[0] = 2;
	while ((16384u << l->accept.size_code) < l->size)
		l->accept.size_code++;
}

void line_take_memory(struct line *l)
{
	struct snapshot s = {.max_memory_bytes = 64u << 20};
	bool first;
	uint32_t reason = linkgroup_take(l->peer_id, &s, RMBE_NEAR_MAX, &l->rmb,
					 &l->element, &first);

	if (reason)
		line_end(EXIT_CANNOT, "no memory: %s", reason_name(reason));
	use_element(l);
	describe(l, l->rmb->number, l->element);
}

int line_accept_message(struct line *l, void *bytes)
{
	if (!l->accept.version)
		describe(l, 1, 0);
	return answer(l, CLC_ACCEPT, l->nonce, bytes);
}

void line_send_accept(struct line *l)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n = line_accept_message(l, bytes);

	must(n > 0);
	line_send(l, bytes, (size_t)n);
}

void line_await_confirm(struct line *l)
{
	struct clc_message m;
	uint8_t proof[NONCE_BYTES];

	if (line_message(l, &m, PATIENCE_MS) != CLC_CONFIRM)
		line_end(EXIT_WRONG, "no Confirm");
	clc_nonce_get(&m.accept_confirm, proof);
	must(memcmp(proof, l->proof, NONCE_BYTES) == 0);
}

void line_handshake(struct line *l)
{
	if (l->server) {
		line_await_proposal(l);
		line_take_memory(l);
		line_send_accept(l);
		line_await_confirm(l);
		return;
	}
	line_send_proposal(l);
	line_await_accept(l);
	line_send_confirm(l);
}
