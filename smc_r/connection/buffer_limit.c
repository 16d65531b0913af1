/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* buffer_limit: how far a writer may get ahead of its reader. */
#include "smc_r/connection/buffer_limit.h"

#include <sys/socket.h>

#include "smc_r/connection/socket_history.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define LOCKED_SNDBUF 1 /* the kernel's SOCK_SNDBUF_LOCK */
#define LOCKED_RCVBUF 2

/* A reader that never said how much takes so many bytes, having read nothing.
 */
#define RECEIVES 131072u
/* Another end that changes its size all the time keeps nobody busy. */
#define ATTEMPTS 8

uint32_t buffer_limit_of(uint32_t sndbuf, uint32_t rcvbuf)
{
	uint64_t sum = (uint64_t)sndbuf + (rcvbuf ? rcvbuf / 2 : RECEIVES);

	if (sndbuf == 0 || sum >= RMB_RMBE_MAX)
		return 0;
	return sum < RMB_LIMIT_MIN ? RMB_LIMIT_MIN : (uint32_t)sum;
}

static uint32_t size_of(int fd, int name)
{
	int value = sys_socket_option(fd, name);

	return value > 0 ? (uint32_t)value : 0;
}

static uint32_t now(struct rmb_producer *p, struct rmb_consumer *r)
{
	return buffer_limit_of(atomic_load(&p->sndbuf),
			       atomic_load(&r->rcvbuf));
}

/* The other end may do the same: the last one that stores has seen both. True:
 * it is more than it was. */
static bool settle(struct connection *c, struct rmb_producer *p,
		   struct rmb_consumer *r)
{
	uint32_t before = connection_limit(c->size, p);
	uint32_t allowed;
	int i = 0;

	do {
		allowed = now(p, r);
		atomic_store(&p->limit, allowed);
	} while (now(p, r) != allowed && ++i < ATTEMPTS);
	return connection_limit(c->size, p) > before;
}

bool buffer_limit_changed(struct connection *c, int fd)
{
	int set = sys_socket_option(fd, SO_BUF_LOCK);

	ENGINE_LOCKED();
	atomic_store(&c->out_producer->sndbuf,
		     set & LOCKED_SNDBUF ? size_of(fd, SO_SNDBUF) : 0);
	atomic_store(&c->in_consumer->rcvbuf,
		     set & LOCKED_RCVBUF ? size_of(fd, SO_RCVBUF) : 0);
	if (settle(c, c->in_producer, c->in_consumer))
		connection_signal_room(c);
	return settle(c, c->out_producer, c->out_consumer);
}

void buffer_limit_tell(struct connection *c, int fd)
{
	ENGINE_LOCKED();
	if (atomic_load(&c->slot->socket_flags) & SOCKET_BUFFERS)
		buffer_limit_changed(c, fd);
}
