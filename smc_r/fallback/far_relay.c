/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* far_relay: a TCP connection of this host in the place of one to another. */
#include "smc_r/fallback/far_relay.h"

#include <fcntl.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/loop.h"
#include "smc_r/fallback/relay_place.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/far/far_channel.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define WAIT_MS 8000
#define LOOK_NS 1000000u

/* A handshake of the service's may not be over. Others need not wait for that:
 * no lock is held. */
static void await_outcome(struct connection *c)
{
	const struct rmb_element *e = c->control;
	uint64_t end = sys_end_in_ms(WAIT_MS);

	while (atomic_load(&e->settled) != atomic_load(&e->epoch) &&
	       !atomic_load(&c->dead) && !tcp_end_hangs_up(c) &&
	       sys_left_ns(end) > 0)
		sys_nap(LOOK_NS);
}

/* The service has the other end from here on. Engine lock held. */
static bool hand_to_service(struct connection *c, int fd, int sender)
{
	struct far_hello hello = {.magic = FAR_MAGIC,
				  .version = FAR_VERSION,
				  .kind = FAR_RELAY,
				  .ticket = atomic_load(&c->control->ticket),
				  .read = atomic_load(&c->slot->rx.position)};
	struct far_answer answer;
	int channel;
	bool done;

	channel = far_channel_open(fd);
	done =
	    channel >= 0 &&
	    far_channel_ask(channel, sender, &hello, &answer, WAIT_MS) == 0 &&
	    answer.reason == 0;
	if (channel >= 0)
		private_fd_close(channel);
	return done;
}

static bool replace(struct connection *c, int fd, const struct loop *l)
{
	int old = (int)SYS_CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	bool done = old >= 0 && relay_take_place(c, l->receiver, fd);

	if (done && !hand_to_service(c, old, l->sender)) {
		relay_put_at_all(c, old, fd);
		done = false;
	}
	if (old >= 0)
		sys_close(old);
	return done;
}

bool far_relay_start(struct connection *c, int fd)
{
	struct loop l = LOOP_NONE;
	bool rx, tx, done;

	await_outcome(c);
	engine_lock();
	rx = stream_lock(&c->slot->rx);
	tx = stream_lock(&c->slot->tx);
	done = loop_open(&l, fd, LOOP_OF_OWN) && replace(c, fd, &l);
	loop_close(&l);
	if (done) {
		connection_end(c, ENDS_READS_TCP);
		connection_end(c, ENDS_WRITES_TCP);
	}
	stream_unlock(&c->slot->tx, tx);
	stream_unlock(&c->slot->rx, rx);
	engine_unlock();
	return done;
}
