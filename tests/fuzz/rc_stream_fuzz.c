/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_stream: a hostile peer's CDC messages between what the program does. */
#include "smc_r/service/rc_stream.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What holds at any time, whatever the peer says. */
static void check(const struct rc_stream *s, const struct rc_stream_view *v)
{
	assert(s->completed <= s->posted && s->posted <= v->written);
	assert(s->consumed <= s->posted);
	assert(s->posted - s->consumed <= s->peer_size);
	assert(s->told <= v->consumed && v->consumed <= s->received);
	assert(s->received - s->told <= s->own_size);
	assert(s->count <= RC_STREAM_CDCS);
}

static void post(struct rc_stream *s, const struct rc_stream_view *v)
{
	struct rc_stream_post p;

	if (!rc_stream_next(s, v, &p))
		return;
	assert(p.writes <= 2);
	for (unsigned i = 0; i < p.writes; i++) {
		assert(p.write[i].bytes > 0);
		assert(p.write[i].offset + p.write[i].bytes <= s->peer_size);
		assert(p.write[i].position >= rc_stream_released(s));
	}
	assert(p.message.producer.count < s->peer_size);
	assert(p.message.consumer.count < s->own_size);
}

static void receive(struct rc_stream *s, const uint8_t *bytes, size_t n)
{
	struct rc_stream before = *s;
	struct rc_stream_news news;
	struct cdc_message m;

	if (cdc_decode(&m, bytes, n) < 0)
		return;
	if (rc_stream_receive(s, &m, &news) < 0) {
		assert(memcmp(&before, s, sizeof(before)) == 0);
		rc_stream_abort(s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rc_stream_view v = {0};
	struct rc_stream s;
	size_t at = 2;

	if (size < 2)
		return 0;
	rc_stream_init(&s, 16384u << data[0] % 7, 16384u << data[1] % 7, 1);
	while (at + 3 <= size) {
		unsigned what = data[at],
			 n = data[at + 1] * 256u + data[at + 2];

		at += 3;
		switch (what % 8) {
		case 0:
			v.written += n;
			break;
		case 1:
			v.consumed += s.received - v.consumed < n
					  ? s.received - v.consumed
					  : n;
			break;
		case 2:
			post(&s, &v);
			break;
		case 3:
			rc_stream_completed(&s, (uint16_t)n);
			break;
		case 4:
			rc_stream_end(&s, (enum close_local)(n % 3), n & 4);
			break;
		default:
			receive(&s, data + at, size - at);
			at += CDC_BYTES;
			break;
		}
		check(&s, &v);
	}
	return 0;
}
