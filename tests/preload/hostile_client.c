/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile_client: attacks of a client on a server, during the handshake.
 *
 * Where the protocol says what a server then does, the attack checks that; else
 * it is enough that the server lives, which the suite looks at.
 */
#include "hostile.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void open_line(struct line *l, uint16_t port)
{
	line_connect(l, port, 0);
}

/* These need the first message to be ours to write. */
static void open_option(struct line *l, uint16_t port)
{
	open_line(l, port);
	if (l->registry)
		line_end(0, "the Proposal went by the registry");
}

/* ---- nothing, or something else ---- */

static void none(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_sleep(300);
}

static void none_for_long(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_sleep(1500);
}

/* The server cannot know that this client ever saw its answer: it is data. */
static void data_at_once(struct line *l, uint16_t port)
{
	open_option(l, port);
	line_tcp_echo(l);
}

static void garbage(struct line *l, uint16_t port)
{
	uint8_t bytes[400];
	uint8_t got[400];
	size_t have = 0;

	open_option(l, port);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(line_random() & 0x7f);
	line_send(l, bytes, sizeof(bytes));
	while (have < sizeof(got)) {
		long n = line_read(l, got + have, sizeof(got) - have, 3000);

		must(n > 0);
		have += (size_t)n;
	}
	must(memcmp(got, bytes, sizeof(got)) == 0);
}

static void send_and_wait(struct line *l, const void *bytes, size_t n)
{
	uint8_t got[256];

	line_send(l, bytes, n);
	line_read(l, got, sizeof(got), 500);
}

static void eyecatcher_then_garbage(struct line *l, uint16_t port)
{
	uint8_t bytes[64];

	open_option(l, port);
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, "\xe2\xd4\xc3\xd9", 4);
	send_and_wait(l, bytes, sizeof(bytes));
}

static void with_length(struct line *l, uint16_t port, unsigned length)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_option(l, port);
	n = line_proposal(l, bytes);
	bytes[5] = (uint8_t)(length >> 8);
	bytes[6] = (uint8_t)length;
	send_and_wait(l, bytes, (size_t)n);
}

static void length_zero(struct line *l, uint16_t port)
{
	with_length(l, port, 0);
}

static void length_of_a_header(struct line *l, uint16_t port)
{
	with_length(l, port, CLC_HEADER_BYTES);
}

static void length_too_large(struct line *l, uint16_t port)
{
	with_length(l, port, 0xffff);
}

static void length_beyond_what_comes(struct line *l, uint16_t port)
{
	with_length(l, port, CLC_BYTES_MAX);
}

static void truncated(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_option(l, port);
	n = line_proposal(l, bytes);
	line_send(l, bytes, (size_t)n / 2);
	line_sleep(300);
}

static void piece_that_stays(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_option(l, port);
	n = line_proposal(l, bytes);
	line_send(l, bytes, (size_t)n / 2);
	line_sleep(1500);
}

static void random_fields(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_option(l, port);
	n = line_proposal(l, bytes);
	/* Between the header and the eyecatcher at the end. */
	for (int i = 7; i < n - 4; i++)
		bytes[i] = (uint8_t)line_random();
	send_and_wait(l, bytes, (size_t)n);
}

static void one_byte_at_a_time(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_line(l, port);
	if (!l->registry) {
		n = line_proposal(l, bytes);
		line_send_slowly(l, bytes, (size_t)n);
	}
	line_await_accept(l);
	n = line_confirm(l, bytes);
	line_send_slowly(l, bytes, (size_t)n);
	line_ring_echo(l);
}

/* ---- Decline, and messages out of order ---- */

static void decline_first(struct line *l, uint16_t port)
{
	open_option(l, port);
	line_send_decline(l);
	line_tcp_echo(l);
}

static void decline_after_accept(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	line_send_decline(l);
	line_tcp_echo(l);
}

static void decline_and_data_at_once(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	line_sleep(50);
	line_send_decline(l);
	for (int i = 0; i < 3; i++)
		line_tcp_echo(l);
}

/* A client that declines before the Accept gets it all the same, and
 * skips it. */
static void decline_before_accept(struct line *l, uint16_t port)
{
	struct clc_message m;

	open_option(l, port);
	line_send_proposal(l);
	line_send_decline(l);
	/* Answered, unless the server saw both at once. */
	line_message(l, &m, 300);
	line_tcp_echo(l);
}

static void decline_twice(struct line *l, uint16_t port)
{
	open_option(l, port);
	line_send_decline(l);
	line_send_decline(l);
	line_sleep(200);
}

static void decline_after_confirm(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_handshake(l);
	line_send_decline(l);
	line_ring_echo(l);
}

static void confirm_first(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_option(l, port);
	memcpy(l->proof, "0123456789abcdef", NONCE_BYTES);
	l->accept = (struct clc_accept_confirm){
	    .version = 1, .index = 1, .qpn = 1, .mtu = 5};
	n = line_confirm(l, bytes);
	must(n > 0);
	send_and_wait(l, bytes, (size_t)n);
}

static void proposal_twice(struct line *l, uint16_t port)
{
	open_option(l, port);
	line_send_proposal(l);
	line_send_proposal(l);
	line_sleep(200);
}

/* ---- a Confirm that cannot be ---- */

static void wrong_proof(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	l->proof[3] ^= 1;
	line_send_confirm(l);
	line_must_end(l);
	/* And it never used the ring. */
	must(atomic_load(&l->e->side[SIDE_SERVER].producer.cursor) == 0);
}

static void wrong_peer(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	l->own_id[0] ^= 1;
	line_send_confirm(l);
	line_must_end(l);
}

static void random_confirm(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	n = line_confirm(l, bytes);
	for (int i = 7; i < n - 4; i++)
		bytes[i] = (uint8_t)line_random();
	line_send(l, bytes, (size_t)n);
	line_must_end(l);
}

static void no_memory_taken(struct line *l, uint16_t port)
{
	struct clc_message m;

	open_line(l, port);
	line_send_proposal(l);
	/* Confirms without ever having looked at its door. */
	if (line_message(l, &m, 3000) != CLC_ACCEPT)
		line_end(EXIT_CANNOT, "no Accept");
	l->accept = m.accept_confirm;
	line_send_confirm(l);
	line_must_end(l);
}

static void late_confirm(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	line_sleep(1500);
	line_send_confirm(l);
	line_ring_echo(l);
}

static void never_confirms(struct line *l, uint16_t port)
{
	open_line(l, port);
	line_send_proposal(l);
	line_await_accept(l);
	line_sleep(1500);
}

/* ---- gone, at every stage ---- */

static void up_to(struct line *l, uint16_t port, int stage)
{
	open_line(l, port);
	if (stage > 0)
		line_send_proposal(l);
	if (stage > 1)
		line_await_accept(l);
	if (stage > 2)
		line_send_confirm(l);
	if (stage > 3)
		line_ring_echo(l);
}

GONE(0)
GONE(1)
GONE(2)
GONE(3)
GONE(4)

const struct attack client_attacks[] = {
    A(none),
    A(none_for_long),
    A(data_at_once),
    A(garbage),
    A(eyecatcher_then_garbage),
    A(length_zero),
    A(length_of_a_header),
    A(length_too_large),
    A(length_beyond_what_comes),
    A(truncated),
    A(piece_that_stays),
    A(random_fields),
    A(one_byte_at_a_time),
    A(decline_first),
    A(decline_after_accept),
    A(decline_and_data_at_once),
    A(decline_before_accept),
    A(decline_twice),
    A(decline_after_confirm),
    A(confirm_first),
    A(proposal_twice),
    A(wrong_proof),
    A(wrong_peer),
    A(random_confirm),
    A(no_memory_taken),
    A(late_confirm),
    A(never_confirms),
    A(close_0),
    A(close_1),
    A(close_2),
    A(close_3),
    A(close_4),
    A(reset_0),
    A(reset_1),
    A(reset_2),
    A(reset_3),
    A(reset_4),
    A(half_close_0),
    A(half_close_1),
    A(half_close_2),
    A(half_close_3),
    A(half_close_4),
    {NULL, NULL},
};
