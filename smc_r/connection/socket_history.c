/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_history: what we saw a program do to a socket before. */
#include "smc_r/connection/socket_history.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "smc_r/connection/connection.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/sys.h"

#define KNOWN      1u
#define UNSUITABLE 2u /* may be set: ask */
#define KEPT       4u /* what slot->socket_flags repeats may be set: ask */
#define LINGERS    8u
#define STREAM     16u /* stdio has it; of a listener: IDLE */
#define RCVNEVER   32u /* SOCKET_RCVNEVER */
#define SNDNEVER   64u
#define BUFFERS    128u /* their sizes may be set: ask */
#define IDLE       SOCKET_HISTORY_LISTENERS
#define OTHER      SOCKET_HISTORY_OTHER

_Alignas(64) uint8_t socket_history_table[SOCKET_HISTORY_SIZE];
FORK_PAGE uint8_t socket_history_low[SOCKET_HISTORY_LOW];

static uint8_t bits_of(int fd)
{
	const uint8_t *bits = socket_history_bits(fd);

	return bits ? *bits : 0;
}

static void put(int fd, uint8_t value)
{
	uint8_t *bits = socket_history_bits(fd);

	if (bits)
		*bits = value;
}

static void switch_bit(int fd, uint8_t bit, bool on)
{
	uint8_t seen = bits_of(fd);

	put(fd, (uint8_t)(on ? seen | bit : seen & ~bit));
}

void socket_history_made(int fd, int domain, int type, int protocol)
{
	bool tcp = (domain == AF_INET || domain == AF_INET6) &&
		   (type & 0xf) == SOCK_STREAM &&
		   (protocol == 0 || protocol == IPPROTO_TCP);

	put(fd, tcp ? KNOWN : OTHER);
}

void socket_history_copied(int from, int to)
{
	if (from != to)
		put(to, bits_of(from));
}

bool socket_history_is_tcp(int fd)
{
	return bits_of(fd) & KNOWN;
}

bool socket_history_is_other(int fd)
{
	return bits_of(fd) == OTHER;
}

void socket_history_note_kernels(int fd)
{
	put(fd, OTHER);
}

void socket_history_note_idle(int fd, bool idle)
{
	if (!socket_history_is_other(fd))
		switch_bit(fd, IDLE, idle);
}

bool socket_history_is_idle(int fd)
{
	return bits_of(fd) & IDLE;
}

void socket_history_stream(int fd)
{
	switch_bit(fd, STREAM, true);
}

bool socket_history_is_buffer(int name)
{
	return name == SO_SNDBUF || name == SO_RCVBUF ||
	       name == SO_SNDBUFFORCE || name == SO_RCVBUFFORCE ||
	       name == SO_BUF_LOCK;
}

void socket_history_option(int fd, int level, int name)
{
	uint8_t bit = 0;

	if (level == SOL_SOCKET) {
		if (name == SO_RCVTIMEO || name == SO_SNDTIMEO ||
		    name == SO_RCVLOWAT || name == SO_TIMESTAMP ||
		    name == SO_TIMESTAMPNS)
			bit = KEPT;
		else if (socket_history_is_buffer(name))
			bit = BUFFERS;
		else if (name == SO_LINGER)
			bit = LINGERS;
		else if (name == SO_TIMESTAMPING || name == SO_PEEK_OFF)
			bit = UNSUITABLE;
	} else if (level == IPPROTO_TCP && name == TCP_INQ) {
		bit = KEPT;
	} else if (level == IPPROTO_TCP &&
		   (name == TCP_FASTOPEN_CONNECT || name == TCP_FASTOPEN)) {
		bit = UNSUITABLE;
	}
	if (bit)
		switch_bit(fd, bit, true);
}

void socket_history_time_out(int fd, int name, bool never)
{
	uint8_t bit = name == SO_RCVTIMEO ? RCVNEVER : SNDNEVER;

	if (!socket_history_is_other(fd))
		switch_bit(fd, bit, never);
}

/* ---- asking ---- */

static int integer_option(int fd, int level, int name)
{
	int value = 0;

	if (sys_getsockopt(fd, level, name, &value, sizeof(value)) < 0)
		return -1;
	return value;
}

static bool ask_unsuitable(int fd)
{
	return integer_option(fd, SOL_SOCKET, SO_TIMESTAMPING) > 0 ||
	       integer_option(fd, SOL_SOCKET, SO_PEEK_OFF) >= 0 ||
	       integer_option(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT) > 0;
}

bool socket_history_is_deferred(int fd)
{
	return integer_option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT) > 0;
}

static uint32_t ask_time(int fd, int name, uint32_t bit)
{
	struct timeval t = {0, 0};

	sys_getsockopt(fd, SOL_SOCKET, name, &t, sizeof(t));
	return t.tv_sec || t.tv_usec ? bit : 0;
}

bool socket_history_tells_input(int fd)
{
	return integer_option(fd, IPPROTO_TCP, TCP_INQ) > 0;
}

bool socket_history_tells_time(int fd)
{
	return integer_option(fd, SOL_SOCKET, SO_TIMESTAMP) > 0 ||
	       integer_option(fd, SOL_SOCKET, SO_TIMESTAMPNS) > 0;
}

static uint32_t ask_options(int fd, uint8_t seen)
{
	uint32_t options = ask_time(fd, SO_RCVTIMEO, SOCKET_RCVTIMEO) |
			   ask_time(fd, SO_SNDTIMEO, SOCKET_SNDTIMEO);

	if (seen & RCVNEVER)
		options |= SOCKET_RCVNEVER;
	if (seen & SNDNEVER)
		options |= SOCKET_SNDNEVER;
	if (integer_option(fd, SOL_SOCKET, SO_RCVLOWAT) > 1)
		options |= SOCKET_RCVLOWAT;
	if (socket_history_tells_input(fd))
		options |= SOCKET_INQ;
	if (socket_history_tells_time(fd))
		options |= SOCKET_STAMPED;
	return options;
}

struct socket_history socket_history_of(int fd)
{
	uint8_t seen = bits_of(fd);
	bool known = seen & KNOWN;
	struct socket_history t = {.tcp = known};

	if (!known)
		t.tcp =
		    integer_option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP;
	if (!t.tcp)
		return t;
	if (!known || (seen & UNSUITABLE))
		t.unsuitable = ask_unsuitable(fd);
	if (seen & STREAM)
		t.unsuitable = true;
	if (!known || (seen & KEPT))
		t.options = ask_options(fd, seen);
	if (!known || (seen & BUFFERS))
		t.options |= SOCKET_BUFFERS;
	t.lingers = !known || (seen & LINGERS);
	return t;
}
