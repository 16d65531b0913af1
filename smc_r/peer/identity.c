/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* identity: under which name other processes of this host find this one. */
#include "smc_r/peer/identity.h"

#include <errno.h>
#include <string.h>

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/rendezvous.h"

static uint8_t own_id[PEER_ID_BYTES];
static int listener = -1;

int identity_random(void *out, size_t n)
{
	return SYS_CALL3(SYS_getrandom, out, n, 0) == (long)n ? 0 : -EAGAIN;
}

/* Four random bytes and the process id: unlike any other living instance, and
 * unlike our own earlier ones. */
int identity_get(uint8_t id[PEER_ID_BYTES])
{
	if (listener < 0) {
		uint32_t pid = (uint32_t)process.pid;

		if (identity_random(own_id, 4) < 0)
			return -EAGAIN;
		for (int i = 0; i < 4; i++)
			own_id[4 + i] = (uint8_t)(pid >> (24 - 8 * i));
		rendezvous_sweep();
		listener = rendezvous_listen(own_id);
		if (listener < 0)
			return listener;
	}
	memcpy(id, own_id, PEER_ID_BYTES);
	return 0;
}

const uint8_t *identity_own(void)
{
	return own_id;
}

int identity_accept(void)
{
	return rendezvous_accept(listener);
}

void identity_forked(void)
{
	if (listener >= 0)
		private_fd_close(listener);
	listener = -1;
}

void identity_close(void)
{
	if (listener >= 0)
		rendezvous_forget(own_id);
}
