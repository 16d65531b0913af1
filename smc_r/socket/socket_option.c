/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_option: flags and options that matter to SMC. */
#include "smc_r/socket/socket_option.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "smc_r/connection/buffer_limit.h"
#include "smc_r/connection/connection.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/os/process.h"

static void note(struct connection *c, uint32_t bit, bool on)
{
	if (on)
		atomic_fetch_or(&c->slot->socket_flags, bit);
	else
		atomic_fetch_and(&c->slot->socket_flags, ~bit);
}

/* Bytes that have reached the new mark wake every waiting thread, as on TCP. */
static void set_mark(struct connection *c)
{
	note(c, SOCKET_RCVLOWAT, true);
	epoll_wake_members(c, AGAIN_INPUT);
	connection_wake_readers(c);
}

/* Before the handshake is over it is asked for then. */
static void set_buffers(struct connection *c, int fd)
{
	bool more;

	note(c, SOCKET_BUFFERS, true);
	engine_lock();
	more = c->rmb && buffer_limit_changed(c, fd);
	engine_unlock();
	if (!more)
		return;
	epoll_wake_members(c, AGAIN_NOTHING);
	connection_wake_writers(c);
}

void socket_note_nonblock(int fd, bool on)
{
	struct connection *c = connection_of(fd);

	if (c)
		note(c, SOCKET_NONBLOCK, on);
}

void socket_note_append(int fd, bool on)
{
	struct connection *c = connection_of(fd);

	if (c)
		note(c, SOCKET_APPENDS, on);
}

void socket_note_option(int fd, int level, int name)
{
	struct connection *c = connection_of(fd);

	if (c && level == IPPROTO_TCP && name == TCP_INQ)
		note(c, SOCKET_INQ, socket_history_tells_input(fd));
	if (!c || level != SOL_SOCKET)
		return;
	if (name == SO_RCVTIMEO)
		note(c, SOCKET_RCVTIMEO, true);
	else if (name == SO_SNDTIMEO)
		note(c, SOCKET_SNDTIMEO, true);
	else if (name == SO_RCVLOWAT)
		set_mark(c);
	else if (socket_history_is_buffer(name))
		set_buffers(c, fd);
	else if (name == SO_TIMESTAMP || name == SO_TIMESTAMPNS)
		note(c, SOCKET_STAMPED, socket_history_tells_time(fd));
}

void socket_note_time_out(int fd, int name, bool never)
{
	struct connection *c = connection_of(fd);

	if (c)
		note(c, name == SO_RCVTIMEO ? SOCKET_RCVNEVER : SOCKET_SNDNEVER,
		     never);
	else
		socket_history_time_out(fd, name, never);
}

bool socket_option_demotes(int level, int name)
{
	if (level == SOL_SOCKET)
		return name == SO_TIMESTAMPING || name == SO_ATTACH_FILTER ||
		       name == SO_ATTACH_BPF;
	return level == IPPROTO_TCP && (name == TCP_REPAIR || name == TCP_ULP);
}
