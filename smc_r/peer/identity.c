/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* identity: under which name other processes of this host find this one. */
#include "smc_r/peer/identity.h"

#include <errno.h>
#include <string.h>

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/rendezvous.h"
#include "smc_r/status/account.h"
#include "smc_r/status/home.h"
#include "smc_r/status/segment.h"

static uint8_t own_id[PEER_ID_BYTES];
static int listener = -1;

int identity_random(void *out, size_t n)
{
	return SYS_CALL3(SYS_getrandom, out, n, 0) == (long)n ? 0 : -EAGAIN;
}

/* Unlike any other living instance, and unlike our own earlier ones. */
static int begin(void)
{
	uint32_t random;
	int result = segment_open();

	if (result < 0)
		return result;
	if (identity_random(&random, sizeof(random)) < 0)
		return -EAGAIN;
	rendezvous_id_make(own_id, home_number(), process.pid, random);
	rendezvous_sweep(home_number());
	listener = rendezvous_listen(own_id);
	account_use(listener);
	return listener < 0 ? listener : 0;
}

int identity_get(uint8_t id[PEER_ID_BYTES])
{
	int result = 0;

	ENGINE_LOCKED();
	if (listener < 0) {
		private_fd_begin();
		result = begin();
		private_fd_end();
	}
	if (result == 0)
		memcpy(id, own_id, PEER_ID_BYTES);
	return result;
}

const uint8_t *identity_own(void)
{
	ENGINE_LOCKED();
	return own_id;
}

int identity_accept(void)
{
	ENGINE_LOCKED();
	return rendezvous_accept(listener);
}

bool identity_is_open(void)
{
	return listener >= 0;
}

void identity_forked(void)
{
	account_use(-1);
	if (listener >= 0)
		private_fd_close(listener);
	listener = -1;
}

void identity_close(void)
{
	if (listener >= 0)
		rendezvous_forget(own_id);
}

void identity_give_back(void)
{
	ENGINE_LOCKED();
	identity_close();
	identity_forked();
}
