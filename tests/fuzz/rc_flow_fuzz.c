/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_flow_fuzz: bytes as what happens to a link group: messages, time,
 * requests of our own, links that fail. The first byte says the role, the
 * version and the number of links. Each request of ours has one result; at
 * most one is out; nothing follows the end.
 */
#include "smc_r/service/rc_flow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX 256

static struct rc_flow flow;
static uint8_t open_ids[IDS_MAX];
static int64_t sent_id; /* the request that is out; -1: none */
static int next_id;
static bool has_ended;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void judge_send(const struct rc_flow_action *a)
{
	static struct llc_message m;

	must(llc_decode(&m, a->bytes, sizeof(a->bytes)) == 0);
	must(m.version == flow.terms.version);
	if (m.response)
		return;
	if (m.type != LLC_CONFIRM_RKEY && m.type != LLC_DELETE_RKEY)
		return;
	must(sent_id < 0);
	sent_id = m.type == LLC_CONFIRM_RKEY ? m.confirm_rkey.rkey
					     : m.delete_rkey.rkey[0];
	must(sent_id < IDS_MAX && open_ids[sent_id]);
}

static void pull(void)
{
	struct rc_flow_action a;
	int count = 0;

	while (rc_flow_next(&flow, &a)) {
		must(!has_ended &&
		     ++count <= RC_FLOW_ACTIONS_MAX + 2 * RC_KEYS_ROWS);
		must(a.row >= 0 && a.row < RC_KEYS_ROWS);
		switch (a.type) {
		case RC_FLOW_SEND:
			judge_send(&a);
			break;
		case RC_FLOW_RESULT:
			must(a.id < IDS_MAX && open_ids[a.id]);
			open_ids[a.id] = 0;
			if (sent_id == a.id)
				sent_id = -1;
			break;
		case RC_FLOW_ENDED:
			has_ended = true;
			for (int i = 0; i < IDS_MAX; i++)
				must(!open_ids[i]);
			break;
		case RC_FLOW_KEY_REMOVED:
		case RC_FLOW_KEY_ADDED:
		case RC_FLOW_CONFIRMED:
		case RC_FLOW_READY:
		case RC_FLOW_LINK_DEAD:
			break;
		}
	}
}

static void ask(uint8_t what, uint64_t now)
{
	struct rc_flow_key key[RC_FLOW_KEYS_MAX] = {0};
	int id = next_id;
	int r;

	for (int i = 0; i < RC_LINKS_MAX; i++)
		key[0].rkey[i] = (uint32_t)id; /* judge_send() reads it */
	if (id == IDS_MAX)
		return;
	open_ids[id] = 1;
	if (what & 1)
		r = rc_flow_confirm_rkey(&flow, (uint32_t)id, key, now);
	else
		r = rc_flow_delete_rkeys(&flow, (uint32_t)id, key,
					 1 + (what >> 1) % RC_FLOW_KEYS_MAX,
					 now);
	if (r != 0)
		open_ids[id] = 0;
	else
		next_id++;
}

static void receive(int link, const uint8_t *bytes, size_t n, uint64_t now)
{
	static struct llc_message m;

	if (llc_decode(&m, bytes, n) == 0)
		rc_flow_receive(&flow, link, &m, now);
}

static void begin(uint8_t how)
{
	struct rc_flow_terms terms = {
	    .role = how & 1 ? RC_FLOW_SERVER : RC_FLOW_CLIENT,
	    .version = how & 2 ? 2 : 1,
	    .links_max = how & 4 ? 2 : 1,
	    .test_link_ns = how & 8 ? 0 : 30000000000ULL};

	rc_flow_init(&flow, &terms);
	memset(open_ids, 0, sizeof(open_ids));
	sent_id = -1;
	next_id = 0;
	has_ended = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rc_flow_port port[RC_LINKS_MAX] = {
	    {.number = 1, .qpn = 17}, {.number = 2, .qpn = 18}};
	uint64_t now = 1;
	size_t at = 1;

	if (size == 0)
		return 0;
	begin(data[0]);
	while (at + 2 <= size) {
		uint8_t event = data[at];
		uint8_t value = data[at + 1];
		int link = event >> 7;
		size_t rest = size - at - 2;

		at += 2;
		switch (event & 7) {
		case 0:
			rc_flow_open_link(&flow, link, &port[link], now);
			break;
		case 1:
		case 2:
			rest = rest < LLC_BYTES ? rest : LLC_BYTES;
			receive(link, data + at, rest, now);
			at += rest;
			break;
		case 3:
			ask(value, now);
			break;
		case 4:
			now += (uint64_t)value << 26;
			rc_flow_time(&flow, now);
			break;
		case 5:
			if (rc_flow_next_ns(&flow) != UINT64_MAX)
				now = rc_flow_next_ns(&flow);
			rc_flow_time(&flow, now);
			break;
		case 6:
			rc_flow_fail_link(&flow, link, now);
			break;
		case 7:
			if (value == 0)
				rc_flow_end(&flow, LLC_DELETE_PROGRAM, true);
			break;
		}
		pull();
	}
	return 0;
}
