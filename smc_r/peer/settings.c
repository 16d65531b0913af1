/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* settings: the settings of smc_r0, as this process last read them. */
#include "smc_r/peer/settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "conf/rundir.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/raw_syscalls.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"

#define LOOK_AGAIN_NS 100000000u

static _Alignas(64) struct snapshot current;
static bool available;
/* A thread without the lock may believe what stands below only when the two
 * agree; so both are stored last. */
static const _Atomic uint64_t *_Atomic generation;
static _Atomic uint64_t seen_generation = UINT64_MAX;
static _Atomic uint64_t look_again_ns;

/* One bit a port, for threads that must decide without the lock. */
static _Alignas(64) _Atomic uint64_t port_bits[1024];
static _Atomic bool learns;

static bool is_excluded(void)
{
	for (unsigned i = 0; i < current.exclude_count; i++)
		if (strcmp(current.excludes[i], process.program) == 0 ||
		    strcmp(current.excludes[i], process_executable()) == 0)
			return true;
	return false;
}

/* The bits of those among 64 ports in a row that are in a range. */
static uint64_t bits_of(unsigned first)
{
	uint64_t bits = 0;

	for (unsigned r = 0; r < current.range_count; r++) {
		unsigned low = current.ranges[r].low;
		unsigned high = current.ranges[r].high;

		if (high < first || low > first + 63)
			continue;
		low = low < first ? 0 : low - first;
		high = high > first + 63 ? 63 : high - first;
		bits |= (~0ull << low) & (~0ull >> (63 - high));
	}
	return bits;
}

/* The local addresses, for the same. Torn while they change: then a word of
 * each must happen to agree. */
static _Atomic uint64_t addresses[SNAPSHOT_ADDRESSES_MAX][2];

static void note_addresses(void)
{
	static const struct in6_addr none = {0};

	for (unsigned i = 0; i < SNAPSHOT_ADDRESSES_MAX; i++) {
		bool is_set = available && i < current.address_count;
		uint64_t words[2];

		memcpy(words, is_set ? &current.addresses[i] : &none,
		       sizeof(words));
		atomic_store(&addresses[i][0], words[0]);
		atomic_store(&addresses[i][1], words[1]);
	}
}

/* Each word is stored once: a port that stays listed is never seen missing. */
static void note_ports(void)
{
	bool serves = available && current.enabled && !is_excluded() &&
		      !raw_syscalls_were_found();

	relaxed_store(&learns, serves && current.autosmc);
	for (unsigned i = 0; i < 1024; i++)
		relaxed_store(&port_bits[i], serves ? bits_of(i * 64) : 0);
}

static bool find_generation(void)
{
	const _Atomic uint64_t *found;

	if (generation)
		return true;
	if (sys_left_ns(look_again_ns) > 0)
		return false;
	if (snapshot_generation_map(rundir_path(), &found) == 0)
		generation = found;
	look_again_ns = sys_end_in_ns(LOOK_AGAIN_NS);
	return generation != NULL;
}

static void refresh(void)
{
	uint64_t now;

	if (!find_generation())
		return;
	now = atomic_load_explicit(generation, memory_order_acquire);
	if (now == seen_generation)
		return;
	available = snapshot_read(rundir_path(), &current) == 0;
	note_ports();
	note_addresses();
	atomic_store_explicit(&seen_generation, now, memory_order_release);
}

uint64_t settings_generation(void)
{
	return generation ? seen_generation + 2 : 1;
}

bool settings_moved(uint64_t since)
{
	if (!generation && (since != 1 || sys_left_ns(look_again_ns) == 0))
		return true;
	/* The word is stored before the time of the look that found it. */
	if (!generation)
		return false;
	return atomic_load_explicit(generation, memory_order_acquire) + 2 !=
	       since;
}

bool settings_may_match(uint16_t server_port)
{
	return settings_moved(settings_generation()) ||
	       (relaxed_load(&port_bits[server_port / 64]) >>
		    (server_port % 64) &
		1);
}

bool settings_learn(void)
{
	return relaxed_load(&learns);
}

bool settings_has_address(const struct in6_addr *address)
{
	uint64_t words[2];

	memcpy(words, address, sizeof(words));
	for (unsigned i = 0; i < SNAPSHOT_ADDRESSES_MAX; i++)
		if (relaxed_load(&addresses[i][0]) == words[0] &&
		    relaxed_load(&addresses[i][1]) == words[1])
			return true;
	return false;
}

bool settings_is_here(const struct in6_addr *address)
{
	return !inject_is_far() && (IN6_IS_ADDR_LOOPBACK(address) ||
				    (IN6_IS_ADDR_V4MAPPED(address) &&
				     address->s6_addr[12] == IN_LOOPBACKNET) ||
				    settings_has_address(address));
}

const struct snapshot *settings_now(uint32_t *reason)
{
	ENGINE_LOCKED();
	if (process.off) {
		*reason = REASON_ENVIRONMENT;
		return NULL;
	}
	refresh();
	if (!available) {
		*reason = REASON_UNAVAILABLE;
		return NULL;
	}
	if (is_excluded()) {
		*reason = REASON_PROGRAM;
		return NULL;
	}
	if (raw_syscalls_were_found()) {
		*reason = REASON_RAW_CALLS;
		return NULL;
	}
	*reason = REASON_NONE;
	return &current;
}

bool settings_serve(void)
{
	ENGINE_LOCKED();
	if (!raw_syscalls_are_likely())
		return true;
	note_ports();
	return false;
}

uint32_t settings_match(const struct snapshot *s, const struct in6_addr *local,
			uint16_t server_port)
{
	ENGINE_LOCKED();
	if (!s->enabled)
		return REASON_DISABLED;
	if (!snapshot_has_port(s, server_port))
		return REASON_PORT;
	if (!settings_serve())
		return REASON_RAW_CALLS;
	if (!local)
		return REASON_NONE;
	switch (snapshot_match(s, local, server_port)) {
	case SNAPSHOT_MATCHES:
		return REASON_NONE;
	case SNAPSHOT_DISABLED:
		return REASON_DISABLED;
	case SNAPSHOT_NO_ADDRESS:
		return REASON_ADDRESS;
	case SNAPSHOT_NO_PORT:
		return REASON_PORT;
	}
	return REASON_INTERNAL;
}
