/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile_server: attacks of a server on a client, during the handshake. The
 * client has sent its words and waits for them to come back.
 */
#include "hostile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/os/process.h"
#include "smc_r/peer/rendezvous.h"

static void up_to_proposal(struct line *l, uint16_t port)
{
	line_accept(l, port);
	line_await_proposal(l);
}

static void up_to_memory(struct line *l, uint16_t port)
{
	up_to_proposal(l, port);
	line_take_memory(l);
}

/* Then it is plain TCP; what it still has to say of CLC comes first. */
static void must_fall_back(struct line *l)
{
	struct clc_message m;

	must(line_message(l, &m, 3000) == CLC_DECLINE);
	line_tcp_echo(l);
}

/* ---- no answer, or another ---- */

static void none(struct line *l, uint16_t port)
{
	up_to_proposal(l, port);
	must_fall_back(l);
}

static void silent(struct line *l, uint16_t port)
{
	up_to_proposal(l, port);
	line_sleep(1500);
}

static void accept_too_late(struct line *l, uint16_t port)
{
	struct clc_message m;

	up_to_memory(l, port);
	must(line_message(l, &m, 3000) == CLC_DECLINE);
	/* It has to skip this one. */
	line_send_accept(l);
	line_tcp_echo(l);
}

static void decline(struct line *l, uint16_t port)
{
	up_to_proposal(l, port);
	line_send_decline(l);
	line_tcp_echo(l);
}

static void decline_and_data_at_once(struct line *l, uint16_t port)
{
	char words[] = "there and back";

	up_to_proposal(l, port);
	line_send_decline(l);
	line_send(l, words, sizeof(words));
	line_sleep(300);
}

static void garbage(struct line *l, uint16_t port)
{
	uint8_t bytes[100];

	up_to_proposal(l, port);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(line_random() & 0x7f);
	line_send(l, bytes, sizeof(bytes));
	line_must_end(l);
}

static void confirm(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	up_to_memory(l, port);
	n = line_confirm(l, bytes);
	line_send(l, bytes, (size_t)n);
	line_must_end(l);
}

static void proposal(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	up_to_proposal(l, port);
	n = line_proposal(l, bytes);
	line_send(l, bytes, (size_t)n);
	line_must_end(l);
}

static void truncated(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	up_to_memory(l, port);
	n = line_accept_message(l, bytes);
	line_send(l, bytes, (size_t)n / 2);
	line_sleep(100);
}

static void one_byte_at_a_time(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	up_to_memory(l, port);
	n = line_accept_message(l, bytes);
	line_send_slowly(l, bytes, (size_t)n);
	line_await_confirm(l);
	line_ring_echo(l);
}

static void random_accept(struct line *l, uint16_t port)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	up_to_memory(l, port);
	n = line_accept_message(l, bytes);
	for (int i = 7; i < n - 4; i++)
		bytes[i] = (uint8_t)line_random();
	line_send(l, bytes, (size_t)n);
	line_sleep(400);
}

static void accept_twice(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	line_send_accept(l);
	line_send_accept(l);
	line_await_confirm(l);
	line_ring_echo(l);
}

/* As one that takes its Accept back, and never comes to the end of that. */
static void resends_for_ever(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	atomic_store(&l->e->accept, ACCEPT_RESENDS);
	line_send_accept(l);
	line_tcp_echo(l);
}

/* ---- an Accept that names what there is not ---- */

static void wrong_nonce(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	l->nonce[5] ^= 1;
	line_send_accept(l);
	must_fall_back(l);
}

static void wrong_identity(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	l->own_id[1] ^= 1;
	line_send_accept(l);
	must_fall_back(l);
}

static void wrong_number(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	l->accept.qpn += 5;
	line_send_accept(l);
	must_fall_back(l);
}

static void wrong_index(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	l->accept.index = 255;
	line_send_accept(l);
	must_fall_back(l);
}

static void no_channel(struct line *l, uint16_t port)
{
	up_to_proposal(l, port);
	memcpy(l->nonce, "no such nonce 16", NONCE_BYTES);
	line_send_accept(l);
	must_fall_back(l);
}

/* ---- memory that is not what it must be ---- */

static void with_memory(struct line *l, uint16_t port, int memfd)
{
	struct rendezvous_message m = {.magic = RENDEZVOUS_MAGIC,
				       .version = RENDEZVOUS_VERSION,
				       .rmb_number = 1,
				       .elements = 1,
				       .rmbe_bytes = 16384,
				       .bells = BELLS_APART};
	struct bells ours, theirs;
	int fds[RENDEZVOUS_FDS(1, BELLS_APART)] = {memfd};
	int channel;

	up_to_proposal(l, port);
	memcpy(l->nonce, "this very nonce.", NONCE_BYTES);
	channel = rendezvous_connect(l->peer_id);
	must(channel >= 0);
	memcpy(m.server_id, l->own_id, PEER_ID_BYTES);
	memcpy(m.client_id, l->peer_id, PEER_ID_BYTES);
	memcpy(m.nonce, l->nonce, NONCE_BYTES);
	must(bells_make(&ours, &theirs, m.bells) == 0);
	bells_to_fds(&theirs, fds + 1, m.bells);
	must(rendezvous_send(channel, &m, fds, RENDEZVOUS_FDS(1, m.bells)) ==
	     0);
	l->size = 16384;
	line_send_accept(l);
	must_fall_back(l);
	/* What was refused can now be cut; nobody may look at it. */
	if (ftruncate(memfd, 0) < 0)
		line_sleep(1);
	line_sleep(100);
}

static int make_memory(size_t bytes, int seals)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	must(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	must(!seals || fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static void unsealed_memory(struct line *l, uint16_t port)
{
	with_memory(l, port, make_memory(rmb_bytes(1, 16384), 0));
}

static void short_memory(struct line *l, uint16_t port)
{
	with_memory(l, port, make_memory(4096, F_SEAL_SHRINK));
}

static void no_memory(struct line *l, uint16_t port)
{
	with_memory(l, port, open("/dev/zero", O_RDWR | O_CLOEXEC));
}

static void flood_of_channels(struct line *l, uint16_t port)
{
	up_to_memory(l, port);
	for (int i = 0; i < 150; i++)
		rendezvous_connect(l->peer_id);
	line_send_accept(l);
	line_await_confirm(l);
	line_ring_echo(l);
}

/* ---- gone, at every stage ---- */

static void up_to(struct line *l, uint16_t port, int stage)
{
	line_accept(l, port);
	if (stage > 0)
		line_await_proposal(l);
	if (stage > 1) {
		line_take_memory(l);
		line_send_accept(l);
	}
	if (stage > 2)
		line_await_confirm(l);
}

GONE(0)
GONE(1)
GONE(2)
GONE(3)

const struct attack server_attacks[] = {
    A(none),
    A(silent),
    A(accept_too_late),
    A(decline),
    A(decline_and_data_at_once),
    A(garbage),
    A(confirm),
    A(proposal),
    A(truncated),
    A(one_byte_at_a_time),
    A(random_accept),
    A(accept_twice),
    A(resends_for_ever),
    A(wrong_nonce),
    A(wrong_identity),
    A(wrong_number),
    A(wrong_index),
    A(no_channel),
    A(unsealed_memory),
    A(short_memory),
    A(no_memory),
    A(flood_of_channels),
    A(close_0),
    A(close_1),
    A(close_2),
    A(close_3),
    A(reset_0),
    A(reset_1),
    A(reset_2),
    A(reset_3),
    A(half_close_0),
    A(half_close_1),
    A(half_close_2),
    A(half_close_3),
    {NULL, NULL},
};
