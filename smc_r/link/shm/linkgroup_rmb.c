/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup_rmb: the RMBs of one link group. */
#include "smc_r/link/shm/linkgroup_rmb.h"

#include <errno.h>
#include <string.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/link/shm/linkgroup_knock.h"
#include "smc_r/memory/bell.h"
#include "smc_r/memory/headroom.h"
#include "smc_r/memory/unmap_later.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

/* So long after memory was given back, more is taken than is needed at once. */
#define SOON_NS 100000000u

/* The RMBE size follows how much of max_memory is in use, in 1/8: plenty for
 * few connections, and room for thousands. */
static const struct {
	unsigned eighths;
	uint32_t bytes;
} sizes[] = {{1, 1048576}, {2, 262144}, {4, 131072},
	     {6, 65536},   {7, 32768},  {8, 16384}};

static void rmb_link(struct linkgroup *g, struct rmb *r)
{
	r->next = g->rmbs;
	g->rmbs = r;
}

static void rmb_unlink(struct linkgroup *g, struct rmb *r)
{
	struct rmb **at = &g->rmbs;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}

struct rmb *linkgroup_rmb_find(struct linkgroup *g, uint32_t number)
{
	ENGINE_LOCKED();
	for (struct rmb *r = g->rmbs; r; r = r->next)
		if (r->number == number)
			return r;
	return NULL;
}

static struct rmb *rmb_new(struct linkgroup *g)
{
	struct rmb *r = pool_get(sizeof(*r));

	if (!r)
		return NULL;
	r->group = g;
	r->side = g->side;
	for (unsigned i = 0; i < RMB_ELEMENTS_MAX; i++)
		r->bells[i] = BELLS_NONE;
	return r;
}

/* It is not idle before the client is done, which may still read what we sent
 * last. */
static bool is_idle(struct rmb *r)
{
	for (uint32_t i = 0; i < r->map.elements; i++) {
		struct rmb_element *e = rmb_element(&r->map, i);

		if (atomic_load(&e->released) != atomic_load(&e->epoch))
			return false;
	}
	return r->references == 0;
}

/* Forked processes of either end may go on without this one. Only the server
 * knows whether it has any, and hears when the client has none. */
static bool is_unused(struct rmb *r)
{
	return r->map.base && r->side == SIDE_SERVER &&
	       (r->leaked | r->lent) == 0 && is_idle(r);
}

void linkgroup_rmb_free(struct rmb *r)
{
	ENGINE_LOCKED();
	bells_close_all(r->bells, RMB_ELEMENTS_MAX, UINT32_MAX);
	if (r->reserved) {
		segment_give_back(r->reserved);
		segment_count(rmbs_freed);
	}
	if (r->overflowed)
		segment_give_back(r->overflowed);
	unmap_later(&r->map, is_unused(r));
	pool_put(r, sizeof(*r));
}

/* ---- the server makes one ---- */

static uint32_t rmbe_size_for(uint64_t used, uint64_t limit, uint32_t max)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (used <= limit / 8 * sizes[i].eighths)
			return sizes[i].bytes < max ? sizes[i].bytes : max;
	return RMB_RMBE_MIN;
}

/* The RMB gets as many elements as the group has connections: so they double,
 * and a client with one connection costs one element. */
static uint32_t reserve(struct linkgroup *g, const struct snapshot *s,
			uint32_t *elements, uint32_t *rmbe_bytes)
{
	uint64_t room = UINT64_MAX;
	uint64_t used = 0;
	uint32_t n = g->connections;

	n = n < 1 ? 1 : n > RMB_ELEMENTS_MAX ? RMB_ELEMENTS_MAX : n;
	while (!private_fd_has_room(BELLS_ONE * n))
		if ((n /= 2) == 0)
			return REASON_DESCRIPTORS;
	/* Asks for nothing: learns what is used. */
	if (segment_reserve(0, UINT64_MAX, &used) < 0)
		return REASON_MEMORY;
	room = headroom();
	g->plenty = used <= s->max_memory_bytes / 8;
	g->enough = used <= s->max_memory_bytes / 2;
	for (;;) {
		uint32_t size =
		    rmbe_size_for(used, s->max_memory_bytes, g->rmbe_max);

		for (; size >= RMB_RMBE_MIN; size /= 2) {
			if (rmb_bytes(n, size) > room ||
			    segment_reserve(rmb_bytes(n, size),
					    s->max_memory_bytes, NULL) < 0)
				continue;
			*elements = n;
			*rmbe_bytes = size;
			return REASON_NONE;
		}
		if (n == 1)
			return REASON_MEMORY;
		n /= 2;
	}
}

static int make_bells(struct rmb *r, int *fds, unsigned count)
{
	struct bells theirs;
	int result = 0;

	for (uint32_t i = 0; i < r->map.elements && result == 0; i++) {
		result = bells_make(&r->bells[i], &theirs, count);
		bells_to_fds(&theirs, fds + count * i, count);
	}
	return result;
}

/* They are open before the client knows of the RMB. */
static void open_elements(struct rmb *r)
{
	for (uint32_t i = 0; i < r->map.elements; i++)
		linkgroup_knock_open(rmb_element(&r->map, i));
}

static int announce(struct linkgroup *g, struct rmb *r, const int *fds,
		    unsigned bells)
{
	struct rendezvous_message m = {.magic = RENDEZVOUS_MAGIC,
				       .version = RENDEZVOUS_VERSION,
				       .rmb_number = r->number,
				       .elements = r->map.elements,
				       .rmbe_bytes = r->map.rmbe_bytes,
				       .overflow_bytes = r->map.overflow_bytes,
				       .bells = bells};

	memcpy(m.server_id, identity_own(), sizeof(m.server_id));
	memcpy(m.client_id, g->peer_id, sizeof(m.client_id));
	memcpy(m.nonce, g->nonce, sizeof(m.nonce));
	memcpy(m.proof, g->proof, sizeof(m.proof));
	return rendezvous_send(g->channel, &m, fds,
			       (int)RENDEZVOUS_FDS(r->map.elements, bells));
}

static uint32_t fill_rmb(struct linkgroup *g, struct rmb *r, uint32_t elements,
			 uint32_t rmbe_bytes)
{
	unsigned count = private_fd_has_plenty(BELLS_APART * elements)
			     ? BELLS_APART
			     : BELLS_ONE;
	int fds[RENDEZVOUS_FDS_MAX];
	uint32_t reason = REASON_NONE;
	int bells = 0;
	int result;

	memset(fds, -1, sizeof(fds));
	private_fd_begin();
	result = rmb_create(&r->map, elements, rmbe_bytes, &fds[0]);
	if (result == 0) {
		open_elements(r);
		bells = make_bells(r, fds + 1, count);
	}
	private_fd_end();
	if (result < 0)
		return result == -EMFILE ? REASON_DESCRIPTORS : REASON_MEMORY;
	if (bells < 0)
		reason = bells == -EMFILE || bells == -ENFILE
			     ? REASON_DESCRIPTORS
			     : REASON_RENDEZVOUS;
	else if (announce(g, r, fds, count) < 0)
		reason = REASON_RENDEZVOUS;
	for (unsigned i = 0; i < RENDEZVOUS_FDS_MAX; i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
	return reason;
}

uint32_t linkgroup_rmb_add(struct linkgroup *g, const struct snapshot *s)
{
	uint32_t elements;
	uint32_t rmbe_bytes;
	uint32_t reason = reserve(g, s, &elements, &rmbe_bytes);
	struct rmb *r;

	ENGINE_LOCKED();
	if (reason)
		return reason;
	r = rmb_new(g);
	if (!r) {
		segment_give_back(rmb_bytes(elements, rmbe_bytes));
		return REASON_MEMORY;
	}
	r->reserved = rmb_bytes(elements, rmbe_bytes);
	r->number = ++g->rmb_number;
	segment_count(rmbs_made);
	reason = fill_rmb(g, r, elements, rmbe_bytes);
	if (reason) {
		linkgroup_rmb_free(r);
		return reason;
	}
	rmb_link(g, r);
	return REASON_NONE;
}

/* ---- the client adopts it ---- */

static int adopt_bells(struct rmb *r, uint32_t elements)
{
	int result = 0;

	private_fd_begin();
	for (uint32_t i = 0; i < elements && result == 0; i++)
		result = bells_adopt(&r->bells[i]);
	private_fd_end();
	return result;
}

void linkgroup_rmb_adopt(struct linkgroup *g,
			 const struct rendezvous_message *m, int *fds,
			 int count)
{
	struct rmb *r = NULL;

	ENGINE_LOCKED();
	if (!linkgroup_rmb_find(g, m->rmb_number))
		r = rmb_new(g);
	if (!r) {
		for (int i = 0; i < count; i++)
			private_fd_close(fds[i]);
		return;
	}
	for (uint32_t i = 0; i < m->elements; i++)
		r->bells[i] = bells_of_fds(fds + 1 + m->bells * i, m->bells);
	if (adopt_bells(r, m->elements) < 0 ||
	    rmb_map(&r->map, fds[0], m->elements, m->rmbe_bytes,
		    m->overflow_bytes) < 0) {
		linkgroup_rmb_free(r);
		r = NULL;
	}
	private_fd_close(fds[0]);
	if (!r)
		return;
	r->number = m->rmb_number;
	rmb_link(g, r);
}

/* ---- giving memory back ---- */

static bool is_released(struct rmb *r, uint32_t i)
{
	struct rmb_element *e = rmb_element(&r->map, i);

	return atomic_load(&e->released) == atomic_load(&e->epoch);
}

bool linkgroup_rmb_is_idle(struct rmb *r, uint32_t i)
{
	ENGINE_LOCKED();
	return !((r->busy | r->leaked) >> i & 1) &&
	       (!(r->lent >> i & 1) || is_released(r, i));
}

uint32_t linkgroup_rmb_idle(const struct linkgroup *g)
{
	uint32_t n = 0;

	ENGINE_LOCKED();
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++)
			n += linkgroup_rmb_is_idle(r, i);
	return n;
}

/* The client's word that it is done with the element is taken: if it lies it
 * shares a ring with itself. */
bool linkgroup_rmb_has_free(struct rmb *r, uint32_t i)
{
	ENGINE_LOCKED();
	return !((r->busy | r->leaked | r->lent) >> i & 1) && is_released(r, i);
}

void linkgroup_rmb_end_lease(struct rmb *r, uint32_t i)
{
	ENGINE_LOCKED();
	if (!(r->lent >> i & 1) ||
	    !segment_slot_is_over(r->lease[i].slot, r->lease[i].cookie))
		return;
	r->lent &= ~(1u << i);
	if (bells_take_back(&r->bells[i]) < 0) {
		r->leaked |= 1u << i;
		bells_close(&r->bells[i]);
	} else if (r->side == SIDE_SERVER) {
		linkgroup_knock_open(rmb_element(&r->map, i));
	}
}

void linkgroup_rmb_reclaim(struct linkgroup *g)
{
	ENGINE_LOCKED();
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t bits = r->lent; bits; bits &= bits - 1) {
			uint32_t i = (uint32_t)__builtin_ctz(bits);

			if (is_released(r, i))
				linkgroup_rmb_end_lease(r, i);
		}
}

void linkgroup_rmb_take(struct rmb *r, uint32_t i)
{
	ENGINE_LOCKED();
	INVARIANT("R1", !((r->busy | r->leaked | r->lent) >> i & 1));
	rmb_element_reset(&r->map, i);
	atomic_fetch_add(&rmb_element(&r->map, i)->epoch, 1);
	r->busy |= 1u << i;
	r->references++;
	INVARIANT("R3", (int)r->references == __builtin_popcount(r->busy));
	linkgroup_begin_use(r->group);
}

/* RMBs that nobody uses are given back, unless the next connections are likely
 * to want them: one element is kept, and half as many as are in use, or as were
 * found to be worth it. */
static void trim_server(struct linkgroup *g)
{
	uint32_t spare = g->connections / 2;
	struct rmb *next;

	if (spare < g->spare)
		spare = g->spare;
	for (struct rmb *r = g->rmbs; r; r = next) {
		uint32_t useful =
		    r->map.elements - (uint32_t)__builtin_popcount(r->leaked);

		next = r->next;
		/* A large one goes in any case: a small one is soon made. */
		if (!is_idle(r) ||
		    (useful &&
		     r->map.elements <= 2 * (1 + g->connections + g->spare) &&
		     linkgroup_rmb_idle(g) - useful < 1 + spare) ||
		    !linkgroup_knock_shut_all(r))
			continue;
		if (useful)
			g->soon_ns = sys_end_in_ns(SOON_NS);
		atomic_store(&rmb_header(&r->map)->retired, 1);
		rmb_unlink(g, r);
		linkgroup_rmb_free(r);
	}
}

static void trim_client(struct linkgroup *g)
{
	struct rmb *next;

	for (struct rmb *r = g->rmbs; r; r = next) {
		next = r->next;
		if (r->references > 0 ||
		    !atomic_load(&rmb_header(&r->map)->retired))
			continue;
		rmb_unlink(g, r);
		linkgroup_rmb_free(r);
	}
}

/* Nobody asks for it again; processes that it is lent to have it as well. */
static void trim_dead(struct linkgroup *g)
{
	struct rmb *next;

	for (struct rmb *r = g->rmbs; r; r = next) {
		next = r->next;
		if (r->references > 0)
			continue;
		rmb_unlink(g, r);
		linkgroup_rmb_free(r);
	}
}

void linkgroup_rmb_trim(struct linkgroup *g)
{
	ENGINE_LOCKED();
	if (g->channel < 0)
		trim_dead(g);
	else if (g->side == SIDE_SERVER)
		trim_server(g);
	else
		trim_client(g);
}

static void shed_elements(struct rmb *r)
{
	uint32_t kept = r->busy | r->leaked | r->lent;
	uint32_t which = 0;

	for (uint32_t i = 0; i < r->map.elements; i++)
		if (!(kept >> i & 1) &&
		    (r->side == SIDE_CLIENT ||
		     linkgroup_knock_shut(rmb_element(&r->map, i))))
			which |= 1u << i;
	r->leaked |= which;
	bells_close_all(r->bells, r->map.elements, which);
}

void linkgroup_rmb_shed(struct linkgroup *g)
{
	ENGINE_LOCKED();
	g->spare = 0;
	for (struct rmb *r = g->rmbs; r; r = r->next)
		shed_elements(r);
	linkgroup_rmb_trim(g);
}

void linkgroup_rmb_abandon(struct rmb *r)
{
	ENGINE_LOCKED();
	bells_close_all(r->bells, r->map.elements, ~r->busy);
	r->group = NULL;
	r->reserved = 0;
	r->overflowed = 0;
	if (r->references == 0) {
		rmb_unmap(&r->map);
		pool_put(r, sizeof(*r));
	}
}
