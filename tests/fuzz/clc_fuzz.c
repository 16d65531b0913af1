/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_fuzz: any bytes as a handshake message, and as the stream that both
 * sides of the handshake machine read.
 */
#include "smc_r/protocol/clc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

/* What can be decoded means the same after encoding it. */
static void decode_and_back(const uint8_t *data, size_t size)
{
	struct clc_message m;
	struct clc_message again;
	uint8_t bytes[CLC_BYTES_MAX];
	uint8_t nonce[CLC_NONCE_BYTES];
	int n = -1;

	memset(&m, 0, sizeof(m));
	memset(&again, 0, sizeof(again));
	if (clc_decode(&m, data, size) != 0)
		return;
	must(clc_peek_length(data, size) == (int)size);
	must(size <= CLC_BYTES_MAX);
	if (m.type == CLC_PROPOSAL)
		n = clc_encode_proposal(&m.proposal, bytes, sizeof(bytes));
	else if (m.type == CLC_DECLINE)
		n = clc_encode_decline(&m.decline, bytes, sizeof(bytes));
	else
		n = clc_encode_accept_confirm(&m.accept_confirm, bytes,
					      sizeof(bytes));
	/* SMC-D is understood, but not spoken. */
	if (n < 0)
		return;
	must(clc_decode(&again, bytes, (size_t)n) == 0);
	must(memcmp(&m, &again, sizeof(m)) == 0);
	if (m.type == CLC_ACCEPT && m.accept_confirm.token) {
		clc_nonce_get(&m.accept_confirm, nonce);
		clc_nonce_set(&again.accept_confirm, nonce);
		must(memcmp(&m, &again, sizeof(m)) == 0);
	}
}

/* Bits of the first byte of a script say what the machine meets. */
enum {
	SERVER = 1,
	OURS = 2,
	LINK = 4,
	ABORT = 8,
	GIVE_UP = 16,
	WROTE = 32,
};

static void answer(struct clc *c, int script, uint64_t now)
{
	if (script & LINK)
		clc_want_link(c);
	if (script & GIVE_UP)
		clc_abort(c, 1, now);
	else
		clc_commit(c, now);
}

/* Feeds the stream in pieces of one length. */
static void drive(int script, size_t piece, const uint8_t *data, size_t size)
{
	static const struct clc_proposal offer = {.version = 1,
						  .path_v2 = CLC_PATH_NONE};
	struct clc_config config = {.server = script & SERVER,
				    .peer_is_ours = script & OURS,
				    .answer_ms = 50,
				    .confirm_ms = 50,
				    .link_ms = 50};
	struct clc_action a;
	struct clc_message m;
	struct clc c;
	size_t taken = 0;
	uint64_t now = 0;

	clc_init(&c, &config, now);
	if (!config.server)
		clc_start(&c, &offer, now);
	if (script & ABORT)
		clc_abort(&c, 1, now);
	for (size_t shown = 0; shown <= size; shown += piece) {
		now++;
		a = clc_feed(&c, data + taken, shown - taken, &m, now);
		must(a.take <= shown - taken);
		taken += a.take;
		if (a.next == CLC_PREPARE)
			answer(&c, script, now);
		if ((script & WROTE) && clc_can_write(&c))
			clc_wrote(&c);
		clc_time(&c, now);
		must(c.state < CLC_STATE_COUNT);
	}
	clc_closed(&c);
	must(clc_is_over(&c));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode_and_back(data, size);
	for (size_t n = 0; n <= size && n <= CLC_HEADER_BYTES; n++)
		must(clc_peek_length(data, n) <= CLC_BYTES_MAX);
	if (size < 2)
		return 0;
	/* As it is, so that a corpus of messages reaches the machine too. */
	drive(0, 3, data, size);
	drive(SERVER, size, data, size);
	drive(data[0], data[1] ? data[1] : 1, data + 2, size - 2);
	return 0;
}
