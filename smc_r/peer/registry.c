/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* registry: how two processes of one user meet where there is no BPF. */
#include "smc_r/peer/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/found.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/sock_diag.h"
#include "smc_r/status/segment.h"

#define REGISTRY_MAGIC   0x47525352u
#define REGISTRY_VERSION 3u
#define ENTRIES          1024u
#define LISTENERS        256u
#define SWEEP_EVERY_NS   1000000000u

enum entry_state {
	ENTRY_FREE = 0,
	ENTRY_FILLING,
	ENTRY_OFFERED,
	ENTRY_CLAIMED,
	ENTRY_STATES
};

/* The owner of the entry, the count of its uses, and its state are one
 * word: a compare-and-swap of the word that was read changes the entry
 * that was read. */
struct entry {
	_Atomic uint64_t word;
	uint64_t net; /* inode of the network namespace */
	uint64_t cookie;
	uint32_t bytes;
	uint32_t pad;
	uint8_t proposal[REGISTRY_PROPOSAL_MAX];
};

struct listener_entry {
	_Atomic int32_t pid; /* 0 free, < 0: -pid is writing it */
	uint16_t port;
	uint16_t birth; /* the child that pid makes this for; 0: for itself */
	uint64_t net;
};

struct registry {
	uint32_t magic;
	uint32_t version;
	/* Never fewer than entries in use: 0 spares every question. */
	_Atomic uint32_t offers;
	uint32_t pad;
	struct listener_entry listeners[LISTENERS];
	struct entry entries[ENTRIES];
	struct registry_place places[REGISTRY_PLACES];
};

_Static_assert(sizeof(struct registry) == REGISTRY_BYTES,
	       "commands look at the end of it");

static struct registry *registry;
static bool tried;
static uint64_t own_net;
static uint16_t births; /* children that entries were made for */
static pid_t parent;    /* the process that made them */

/* ---- the file ---- */

static int open_file(int dir)
{
	const struct found wanted = {
	    .flags = O_RDWR | O_CREAT, .mode = 0600, .owner = {FOUND_ANYBODY}};
	struct stat st;
	int fd = found_open(dir, "registry", &wanted, &st);

	if (fd < 0)
		return fd;
	if (SYS_CALL4(SYS_fallocate, fd, 0, 0, sizeof(struct registry)) == 0)
		return fd;
	sys_close(fd);
	return -ENOSPC;
}

static struct registry *map_file(int fd)
{
	struct registry *r;
	void *map =
	    mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return NULL;
	r = map;
	if (r->magic == 0) {
		r->version = REGISTRY_VERSION;
		r->magic = REGISTRY_MAGIC;
	}
	if (r->magic == REGISTRY_MAGIC && r->version == REGISTRY_VERSION)
		return r;
	munmap(map, sizeof(*r));
	return NULL;
}

static struct registry *open_registry(void)
{
	struct stat st;
	int fd;

	if (tried)
		return registry;
	tried = true;
	if (segment_open() < 0 || SYS_CALL4(SYS_newfstatat, AT_FDCWD,
					    "/proc/self/ns/net", &st, 0) < 0)
		return NULL;
	own_net = st.st_ino;
	fd = open_file(segment_directory());
	if (fd < 0)
		return NULL;
	registry = map_file(fd);
	sys_close(fd);
	if (registry)
		atomic_store(&segment_header()->offer_kind, 2);
	return registry;
}

/* Other numbers than a process has mean groups of them to the kernel. */
static bool is_gone(pid_t pid)
{
	return pid <= 0 || SYS_CALL3(SYS_kill, pid, 0, 0) == -ESRCH;
}

/* ---- listeners ---- */

static struct listener_entry *find_listener(uint16_t port)
{
	for (unsigned i = 0; i < LISTENERS; i++) {
		struct listener_entry *l = &registry->listeners[i];
		int32_t pid = atomic_load(&l->pid);

		if (pid > 0 && l->port == port && l->net == own_net &&
		    !is_gone(pid))
			return l;
	}
	return NULL;
}

static bool is_own(struct listener_entry *l, uint16_t birth)
{
	return atomic_load(&l->pid) == process.pid && l->birth == birth &&
	       l->net == own_net;
}

static int add_listener(uint16_t port, uint16_t birth)
{
	for (unsigned i = 0; i < LISTENERS; i++) {
		struct listener_entry *l = &registry->listeners[i];
		int32_t pid = atomic_load(&l->pid);

		/* The one that uses it, or the one that is writing it. */
		if (!is_gone(pid) || !is_gone((pid_t) - (int64_t)pid))
			continue;
		if (!atomic_compare_exchange_strong(&l->pid, &pid,
						    -process.pid))
			continue;
		l->port = port;
		l->birth = birth;
		l->net = own_net;
		atomic_store(&l->pid, process.pid);
		return 0;
	}
	return -ENOSPC;
}

int registry_listen(uint16_t port)
{
	ENGINE_LOCKED();
	if (!open_registry())
		return -ENOENT;
	for (unsigned i = 0; i < LISTENERS; i++)
		if (is_own(&registry->listeners[i], 0) &&
		    registry->listeners[i].port == port)
			return 0;
	return add_listener(port, 0);
}

void registry_unlisten(uint16_t port)
{
	ENGINE_LOCKED();
	for (unsigned i = 0; registry && i < LISTENERS; i++) {
		struct listener_entry *l = &registry->listeners[i];

		if (is_own(l, 0) && l->port == port)
			atomic_store(&l->pid, 0);
	}
}

static void free_listeners(uint16_t birth)
{
	for (unsigned i = 0; registry && i < LISTENERS; i++)
		if (is_own(&registry->listeners[i], birth))
			atomic_store(&registry->listeners[i].pid, 0);
}

void registry_unlisten_all(void)
{
	free_listeners(0);
}

bool registry_has_listener(uint16_t port)
{
	ENGINE_LOCKED();
	return open_registry() && find_listener(port);
}

/* ---- places ---- */

static struct registry_place *place_of(uint16_t port)
{
	return &registry->places[(port + own_net) % REGISTRY_PLACES];
}

static uint64_t now_us(void)
{
	return sys_now_ns() / 1000;
}

void registry_note_ends(uint16_t port, const struct worth_ends *e)
{
	if (!registry)
		return;
	place_of(port)->port = port;
	worth_note(&place_of(port)->worth, e, now_us());
}

bool registry_refuses(uint16_t port)
{
	return registry &&
	       worth_tcp_us(place_of(port)->worth.word, now_us()) > 0;
}

/* ---- offers ---- */

static uint64_t word_of(pid_t pid, uint64_t turn, enum entry_state state)
{
	return ((uint64_t)pid << 32) + (uint32_t)(turn * ENTRY_STATES) + state;
}

static uint64_t turn_of(uint64_t word)
{
	return (uint32_t)word / ENTRY_STATES;
}

static enum entry_state state_of(uint64_t word)
{
	return (enum entry_state)(word % ENTRY_STATES);
}

static uint64_t with_state(uint64_t word, enum entry_state state)
{
	return word - word % ENTRY_STATES + state;
}

/* Free, or left by a process that was killed. The new word, or 0. */
static uint64_t take_entry(struct entry *e)
{
	uint64_t old = atomic_load(&e->word);
	uint64_t taken = word_of(process.pid, turn_of(old) + 1, ENTRY_FILLING);

	if (state_of(old) != ENTRY_FREE && !is_gone((pid_t)(old >> 32)))
		return 0;
	if (!atomic_compare_exchange_strong(&e->word, &old, taken))
		return 0;
	if (state_of(old) != ENTRY_FREE)
		atomic_fetch_sub(&registry->offers, 1);
	return taken;
}

uint32_t registry_offer(uint64_t cookie, const void *proposal, uint32_t bytes)
{
	ENGINE_LOCKED();
	if (!open_registry() || bytes > REGISTRY_PROPOSAL_MAX)
		return 0;
	atomic_fetch_add(&registry->offers, 1);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &registry->entries[(cookie + i) % ENTRIES];
		uint64_t word = take_entry(e);

		if (!word)
			continue;
		e->net = own_net;
		e->cookie = cookie;
		e->bytes = bytes;
		memcpy(e->proposal, proposal, bytes);
		atomic_store(&e->word, with_state(word, ENTRY_OFFERED));
		return (uint32_t)((cookie + i) % ENTRIES) + 1;
	}
	atomic_fetch_sub(&registry->offers, 1);
	return 0;
}

bool registry_is_claimed(uint32_t entry)
{
	ENGINE_LOCKED();
	return registry &&
	       state_of(atomic_load(&registry->entries[entry - 1].word)) ==
		   ENTRY_CLAIMED;
}

bool registry_withdraw(uint32_t entry)
{
	_Atomic uint64_t *word = &registry->entries[entry - 1].word;
	uint64_t offered = atomic_load(word);

	ENGINE_LOCKED();
	if (state_of(offered) != ENTRY_OFFERED ||
	    !atomic_compare_exchange_strong(word, &offered,
					    with_state(offered, ENTRY_FREE)))
		return false;
	atomic_fetch_sub(&registry->offers, 1);
	return true;
}

void registry_done(uint32_t entry)
{
	_Atomic uint64_t *word = &registry->entries[entry - 1].word;

	ENGINE_LOCKED();
	atomic_store(word, with_state(atomic_load(word), ENTRY_FREE));
	atomic_fetch_sub(&registry->offers, 1);
}

/* Offers of processes that were killed make every accept() ask for nothing. */
static void sweep_offers(void)
{
	static uint64_t next_ns;

	if (sys_left_ns(next_ns) > 0)
		return;
	next_ns = sys_end_in_ns(SWEEP_EVERY_NS);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		_Atomic uint64_t *word = &registry->entries[i].word;
		uint64_t old = atomic_load(word);

		if (state_of(old) != ENTRY_FREE &&
		    is_gone((pid_t)(old >> 32)) &&
		    atomic_compare_exchange_strong(word, &old,
						   with_state(old, ENTRY_FREE)))
			atomic_fetch_sub(&registry->offers, 1);
	}
}

static uint32_t claim_cookie(uint64_t cookie, void *proposal)
{
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &registry->entries[(cookie + i) % ENTRIES];
		uint64_t word = atomic_load(&e->word);
		uint32_t bytes = e->bytes;

		if (state_of(word) != ENTRY_OFFERED || e->cookie != cookie ||
		    e->net != own_net || bytes > REGISTRY_PROPOSAL_MAX)
			continue;
		memcpy(proposal, e->proposal, bytes);
		if (atomic_compare_exchange_strong(
			&e->word, &word, with_state(word, ENTRY_CLAIMED)))
			return bytes;
		return 0;
	}
	sweep_offers();
	return 0;
}

uint32_t registry_claim(const struct sockaddr_storage *local,
			const struct sockaddr_storage *peer, void *proposal)
{
	struct sock_diag_socket found;

	ENGINE_LOCKED();
	if (!open_registry() || atomic_load(&registry->offers) == 0)
		return 0;
	if (sock_diag_find(peer, local, &found) < 0)
		return 0;
	return claim_cookie(found.cookie, proposal);
}

bool registry_is_open(void)
{
	return registry != NULL;
}

/* ---- fork ---- */

void registry_before_fork(void)
{
	if (!registry)
		return;
	if (++births == 0)
		births = 1;
	parent = process.pid;
	for (unsigned i = 0; i < LISTENERS; i++)
		if (is_own(&registry->listeners[i], 0))
			add_listener(registry->listeners[i].port, births);
}

void registry_fork_failed(void)
{
	free_listeners(births);
}

/* A mapping is inherited; entries in it belong to the parent, but for those
 * that it made for this child. */
void registry_forked(void)
{
	tried = registry != NULL;
	for (unsigned i = 0; registry && i < LISTENERS; i++) {
		struct listener_entry *l = &registry->listeners[i];

		if (atomic_load(&l->pid) != parent || l->birth != births ||
		    l->net != own_net)
			continue;
		atomic_store(&l->pid, -process.pid);
		l->birth = 0;
		atomic_store(&l->pid, process.pid);
	}
}
