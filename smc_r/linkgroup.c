/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup: what two processes of one host share for all their connections. */
#include "linkgroup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "bell.h"
#include "headroom.h"
#include "process.h"
#include "reason.h"
#include "rendezvous.h"
#include "segment.h"
#include "sys.h"

/* RMBE size by how much of max_memory is in use, in 1/8: plenty for few
 * connections, and room for thousands. */
static const struct {
	unsigned eighths;
	uint32_t bytes;
} sizes[] = {{2, 262144}, {4, 131072}, {6, 65536}, {7, 32768}, {8, 16384}};

#define GRAVE_NS        1000000000u
#define DROP_EVERY_NS   10000000u
#define SILENCE_NS      1000000000u /* of a server that made a channel */
#define SILENT_MAX      8           /* who are given that time at once */
#define GROUPS_NUMBERED 0xffffffu

static struct linkgroup *groups;
static uint8_t own_id[PEER_ID_BYTES];
static int listener = -1;
static uint32_t group_number;

/* ---- identity ---- */

static int fill_random(void *out, size_t n)
{
	return SYS_CALL3(SYS_getrandom, out, n, 0) == (long)n ? 0 : -EAGAIN;
}

/* Four random bytes and the process id: unlike any other living instance, and
 * unlike our own earlier ones. */
int linkgroup_identity(uint8_t id[PEER_ID_BYTES])
{
	if (listener < 0) {
		uint32_t pid = (uint32_t)process.pid;

		if (fill_random(own_id, 4) < 0)
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

/* ---- RMBs ---- */

/*
 * A thread that is late in a call, or goes through the members of an epoll
 * instance, may still look at the mapping. So the memory is given back at once,
 * and the addresses a while later: until then they are zeros of our own. What
 * a forked process of either end may still use stays there for that one.
 */
struct grave {
	struct grave *next;
	struct rmb_map map;
	uint64_t since_ns;
};

static struct grave *graves;

static void open_old_graves(void)
{
	struct grave **at = &graves;
	uint64_t now = sys_now_ns();

	while (*at) {
		struct grave *g = *at;

		if (now - g->since_ns < GRAVE_NS) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		rmb_unmap(&g->map);
		pool_put(g, sizeof(*g));
	}
}

static void bury(struct rmb_map *m, bool unused)
{
	struct grave *g;

	open_old_graves();
	if (!m->base)
		return;
	if (unused)
		madvise(m->base, m->bytes, MADV_REMOVE);
	(void)mmap(m->base, m->bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		   0);
	g = pool_get(sizeof(*g));
	if (!g)
		return; /* address space is lost, nothing else */
	g->map = *m;
	g->since_ns = sys_now_ns();
	g->next = graves;
	graves = g;
	memset(m, 0, sizeof(*m));
}

/* Not before the client is done: it may still read what we sent last. */
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
	return r->map.base && r->side == SIDE_SERVER && r->leaked == 0 &&
	       is_idle(r);
}

static void rmb_free(struct rmb *r)
{
	for (uint32_t i = 0; i < r->map.elements; i++) {
		if (r->bell_in[i] >= 0)
			hidden_close(r->bell_in[i]);
		if (r->bell_out[i] >= 0)
			hidden_close(r->bell_out[i]);
	}
	if (r->reserved) {
		segment_give_back(r->reserved);
		segment_count(rmbs_freed);
	}
	bury(&r->map, is_unused(r));
	pool_put(r, sizeof(*r));
}

static struct rmb *rmb_new(struct linkgroup *g)
{
	struct rmb *r = pool_get(sizeof(*r));

	if (!r)
		return NULL;
	r->group = g;
	r->side = g->side;
	for (unsigned i = 0; i < RMB_ELEMENTS_MAX; i++)
		r->bell_in[i] = r->bell_out[i] = -1;
	return r;
}

static void rmb_link(struct linkgroup *g, struct rmb *r)
{
	r->next = g->rmbs;
	g->rmbs = r;
}

static uint32_t rmbe_size_for(uint64_t used, uint64_t limit)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (used <= limit / 8 * sizes[i].eighths)
			return sizes[i].bytes;
	return RMB_RMBE_MIN;
}

/* As many elements as the group has connections: doubles, and a client with
 * one connection costs one element. */
static uint32_t reserve(struct linkgroup *g, const struct snapshot *s,
			uint32_t *elements, uint32_t *rmbe_bytes)
{
	uint64_t room = headroom();
	uint64_t used = 0;
	uint32_t n = g->connections;

	/* Asks for nothing: learns what is used. */
	if (segment_reserve(0, UINT64_MAX, &used) < 0)
		return REASON_MEMORY;
	n = n < 1 ? 1 : n > RMB_ELEMENTS_MAX ? RMB_ELEMENTS_MAX : n;
	for (;;) {
		uint32_t size = rmbe_size_for(used, s->max_memory_bytes);

		for (; size >= RMB_RMBE_MIN; size /= 2) {
			if (rmb_bytes(n, size) > room ||
			    segment_reserve(rmb_bytes(n, size),
					    s->max_memory_bytes, &used) < 0)
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

static int make_bells(struct rmb *r, int *fds)
{
	int result;

	for (uint32_t i = 0; i < r->map.elements; i++) {
		result = bell_pair(&r->bell_out[i], &fds[2 * i]);
		if (result < 0)
			return result;
		result = bell_pair(&r->bell_in[i], &fds[2 * i + 1]);
		if (result < 0)
			return result;
	}
	return 0;
}

static int announce(struct linkgroup *g, struct rmb *r, const int *fds)
{
	struct rendezvous_message m = {.magic = RENDEZVOUS_MAGIC,
				       .version = RENDEZVOUS_VERSION,
				       .rmb_number = r->number,
				       .elements = r->map.elements,
				       .rmbe_bytes = r->map.rmbe_bytes};

	memcpy(m.server_id, own_id, sizeof(m.server_id));
	memcpy(m.client_id, g->peer_id, sizeof(m.client_id));
	memcpy(m.nonce, g->nonce, sizeof(m.nonce));
	memcpy(m.proof, g->proof, sizeof(m.proof));
	return rendezvous_send(g->channel, &m, fds,
			       (int)(1 + 2 * r->map.elements));
}

static uint32_t fill_rmb(struct linkgroup *g, struct rmb *r, uint32_t elements,
			 uint32_t rmbe_bytes)
{
	int fds[RENDEZVOUS_FDS_MAX];
	uint32_t reason = REASON_NONE;
	int bells = 0;
	int result;

	memset(fds, -1, sizeof(fds));
	hidden_begin();
	result = rmb_create(&r->map, elements, rmbe_bytes, &fds[0]);
	if (result == 0)
		bells = make_bells(r, fds + 1);
	hidden_end();
	if (result < 0)
		return result == -EMFILE ? REASON_DESCRIPTORS : REASON_MEMORY;
	if (bells < 0)
		reason = REASON_DESCRIPTORS;
	else if (announce(g, r, fds) < 0)
		reason = REASON_RENDEZVOUS;
	for (unsigned i = 0; i < RENDEZVOUS_FDS_MAX; i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
	return reason;
}

static uint32_t add_rmb(struct linkgroup *g, const struct snapshot *s)
{
	uint32_t elements;
	uint32_t rmbe_bytes;
	uint32_t reason = reserve(g, s, &elements, &rmbe_bytes);
	struct rmb *r;

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
		rmb_free(r);
		return reason;
	}
	rmb_link(g, r);
	return REASON_NONE;
}

/* ---- groups ---- */

static void group_free(struct linkgroup *g)
{
	struct rmb *next;

	for (struct rmb *r = g->rmbs; r; r = next) {
		next = r->next;
		rmb_free(r);
	}
	if (g->channel >= 0)
		hidden_close(g->channel);
	pool_put(g, sizeof(*g));
}

static bool peer_is_gone(struct linkgroup *g)
{
	struct pollfd p = {.fd = g->channel, .events = 0};

	if (g->channel < 0)
		return true;
	return SYS_CALL3(SYS_poll, &p, 1, 0) == 1 &&
	       (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* Looks at every group: done when one is made or sought, and costs one poll
 * per peer then. */
static void drop_dead_groups(void)
{
	struct linkgroup **at = &groups;

	while (*at) {
		struct linkgroup *g = *at;

		if (g->channel >= 0 && peer_is_gone(g)) {
			hidden_close(g->channel);
			g->channel = -1;
		}
		if (g->channel < 0 && g->connections == 0) {
			*at = g->next;
			group_free(g);
			continue;
		}
		at = &g->next;
	}
}

/* When connections end, so that the memory of peers that end comes back; but
 * not with every short one. */
static void drop_dead_groups_sometimes(void)
{
	static uint64_t last;
	uint64_t now = sys_now_ns();

	if (now - last < DROP_EVERY_NS)
		return;
	last = now;
	drop_dead_groups();
}

static struct linkgroup *find(int side, const uint8_t *peer_id)
{
	for (struct linkgroup *g = groups; g; g = g->next)
		if (g->side == side && g->channel >= 0 &&
		    memcmp(g->peer_id, peer_id, PEER_ID_BYTES) == 0)
			return g;
	return NULL;
}

static struct linkgroup *group_new(int side, const uint8_t *peer_id)
{
	struct linkgroup *g = pool_get(sizeof(*g));

	if (!g)
		return NULL;
	g->side = side;
	g->channel = -1;
	memcpy(g->peer_id, peer_id, PEER_ID_BYTES);
	g->number = ++group_number & GROUPS_NUMBERED;
	return g;
}

static void group_link(struct linkgroup *g)
{
	g->next = groups;
	groups = g;
}

/* The alert token is part of the nonce and must not be zero. */
static int make_secrets(struct linkgroup *g)
{
	if (fill_random(g->nonce, NONCE_BYTES) < 0 ||
	    fill_random(g->proof, NONCE_BYTES) < 0)
		return -EAGAIN;
	for (int i = 0; i < NONCE_BYTES; i++) {
		g->nonce[i] |= g->nonce[i] == 0;
		g->proof[i] |= g->proof[i] == 0;
	}
	return 0;
}

static uint32_t make_server_group(const uint8_t *peer_id,
				  struct linkgroup **out)
{
	uint8_t id[PEER_ID_BYTES];
	struct linkgroup *g;
	int channel;

	drop_dead_groups();
	if (linkgroup_identity(id) < 0)
		return REASON_RENDEZVOUS;
	channel = rendezvous_connect(peer_id);
	if (channel == -ECONNREFUSED || channel == -ENOENT)
		return REASON_OTHER_HOST;
	if (channel == -EMFILE)
		return REASON_DESCRIPTORS;
	if (channel < 0)
		return REASON_RENDEZVOUS;
	g = group_new(SIDE_SERVER, peer_id);
	if (!g || make_secrets(g) < 0) {
		hidden_close(channel);
		return REASON_MEMORY;
	}
	g->channel = channel;
	g->peer_pid = rendezvous_peer_pid(channel);
	*out = g;
	return REASON_NONE;
}

/* ---- giving memory back ---- */

static void rmb_unlink(struct linkgroup *g, struct rmb *r)
{
	struct rmb **at = &g->rmbs;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}

static uint32_t idle_elements(const struct linkgroup *g)
{
	uint32_t n = 0;

	for (const struct rmb *r = g->rmbs; r; r = r->next)
		n += r->map.elements -
		     (uint32_t)__builtin_popcount(r->busy | r->leaked);
	return n;
}

/* Free on both sides. The client's word for it is taken: if it lies it shares
 * a ring with itself. */
static bool element_is_free(struct rmb *r, uint32_t i)
{
	struct rmb_element *e = rmb_element(&r->map, i);

	return !((r->busy | r->leaked) >> i & 1) &&
	       atomic_load(&e->released) == atomic_load(&e->epoch);
}

/* RMBs that nobody uses are given back, unless the next connections are likely
 * to want them: one element is kept, and half as many as are in use. */
static void trim_server(struct linkgroup *g)
{
	struct rmb *next;

	for (struct rmb *r = g->rmbs; r; r = next) {
		next = r->next;
		/* A large one goes in any case: a small one is soon made. */
		if (!is_idle(r) ||
		    (r->map.elements <= 2 * (1 + g->connections) &&
		     idle_elements(g) - r->map.elements <
			 1 + g->connections / 2))
			continue;
		atomic_store(&rmb_header(&r->map)->retired, 1);
		rmb_unlink(g, r);
		rmb_free(r);
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
		rmb_free(r);
	}
}

/* ---- elements ---- */

static bool take_free(struct linkgroup *g, struct rmb **rmb, uint32_t *element)
{
	for (struct rmb *r = g->rmbs; r; r = r->next)
		for (uint32_t i = 0; i < r->map.elements; i++) {
			struct rmb_element *e = rmb_element(&r->map, i);

			if (!element_is_free(r, i))
				continue;
			rmb_element_reset(e);
			atomic_fetch_add(&e->epoch, 1);
			r->busy |= 1u << i;
			r->references++;
			g->connections++;
			*rmb = r;
			*element = i;
			return true;
		}
	return false;
}

uint32_t linkgroup_take(const uint8_t peer_id[PEER_ID_BYTES],
			const struct snapshot *s, struct rmb **rmb,
			uint32_t *element, bool *first)
{
	struct linkgroup *g = find(SIDE_SERVER, peer_id);
	uint32_t reason;

	*first = g == NULL;
	if (!g) {
		reason = make_server_group(peer_id, &g);
		if (reason)
			return reason;
		reason = add_rmb(g, s);
		if (reason) {
			group_free(g);
			return reason;
		}
		group_link(g);
		segment_count(first_contacts);
	}
	if (take_free(g, rmb, element)) {
		if (!*first)
			segment_count(reuses);
		return REASON_NONE;
	}
	reason = add_rmb(g, s);
	if (reason)
		return reason;
	segment_count(reuses);
	return take_free(g, rmb, element) ? REASON_NONE : REASON_INTERNAL;
}

void linkgroup_give(struct rmb *r, uint32_t element, bool reuse)
{
	struct rmb_element *e = rmb_element(&r->map, element);
	struct linkgroup *g = r->group;

	r->references--;
	/* Whichever process of this end is the last one says so. */
	if (reuse && r->side == SIDE_CLIENT)
		rmb_element_release(e);
	if (!g) { /* a forked child: the element is the parent's */
		hidden_close(r->bell_in[element]);
		hidden_close(r->bell_out[element]);
		if (r->references == 0) {
			bury(&r->map, false);
			pool_put(r, sizeof(*r));
		}
		return;
	}
	r->busy &= ~(1u << element);
	if (!reuse) {
		/* Others of this end still use it. Our copies of its bells
		 * must not keep it alive for the peer. */
		r->leaked |= 1u << element;
		hidden_close(r->bell_in[element]);
		hidden_close(r->bell_out[element]);
		r->bell_in[element] = r->bell_out[element] = -1;
	}
	g->connections--;
	if (g->side == SIDE_SERVER)
		trim_server(g);
	else
		trim_client(g);
	drop_dead_groups_sometimes();
}

void linkgroup_out_of_step(struct rmb *r)
{
	struct linkgroup *g = r->group;

	if (!g || g->side != SIDE_SERVER || g->channel < 0)
		return;
	hidden_close(g->channel);
	g->channel = -1;
}

/* ---- client ---- */

static struct rmb *find_rmb(struct linkgroup *g, uint32_t number)
{
	for (struct rmb *r = g->rmbs; r; r = r->next)
		if (r->number == number)
			return r;
	return NULL;
}

/* An RMB that the server announced. The descriptors are ours from here on. */
static void adopt(struct linkgroup *g, const struct rendezvous_message *m,
		  int *fds, int count)
{
	struct rmb *r = NULL;

	if (!find_rmb(g, m->rmb_number))
		r = rmb_new(g);
	if (!r || rmb_map(&r->map, fds[0], m->elements, m->rmbe_bytes) < 0) {
		for (int i = 0; i < count; i++)
			hidden_close(fds[i]);
		if (r)
			pool_put(r, sizeof(*r));
		return;
	}
	hidden_close(fds[0]);
	r->number = m->rmb_number;
	for (uint32_t i = 0; i < m->elements; i++) {
		r->bell_in[i] = fds[1 + 2 * i];
		r->bell_out[i] = fds[2 + 2 * i];
	}
	rmb_link(g, r);
}

/* 0, or why a message was lost. */
static int read_channel(struct linkgroup *g)
{
	struct rendezvous_message m;
	int fds[RENDEZVOUS_FDS_MAX];
	int count;

	while ((count = rendezvous_receive(g->channel, &m, fds)) > 0)
		adopt(g, &m, fds, count);
	return count == -EAGAIN ? 0 : count;
}

/* The server will hear that it is this, and not an Accept out of step. */
static uint32_t reason_of(int error)
{
	return error == -EMFILE || error == -ENFILE ? REASON_DESCRIPTORS
						    : REASON_SYNC;
}

/* The first message of a server tells whose channel it is. It may come some
 * time after the channel, as another one makes us look. 0, or why it was lost.
 */
static int hear_server(struct linkgroup *g, uint64_t patience_ns)
{
	struct rendezvous_message m;
	int fds[RENDEZVOUS_FDS_MAX];
	int count = rendezvous_receive(g->channel, &m, fds);

	if (count == -EAGAIN && sys_now_ns() - g->since_ns < patience_ns)
		return 0;
	if (count <= 0 || memcmp(m.client_id, own_id, PEER_ID_BYTES) != 0) {
		int result = count < 0 ? count : 0;

		while (count > 0)
			hidden_close(fds[--count]);
		hidden_close(g->channel);
		g->channel = -1;
		return result;
	}
	g->since_ns = 0;
	g->peer_pid = rendezvous_peer_pid(g->channel);
	memcpy(g->peer_id, m.server_id, PEER_ID_BYTES);
	memcpy(g->nonce, m.nonce, NONCE_BYTES);
	memcpy(g->proof, m.proof, NONCE_BYTES);
	adopt(g, &m, fds, count);
	segment_count(first_contacts);
	return 0;
}

/* Channels that servers have made since. 0, or why one was lost. */
static int accept_all(void)
{
	static const uint8_t nobody[PEER_ID_BYTES];
	unsigned silent = 0;
	int lost = 0;
	int channel;

	while ((channel = rendezvous_accept(listener)) >= 0) {
		struct linkgroup *g = group_new(SIDE_CLIENT, nobody);

		if (!g) {
			hidden_close(channel);
			lost = -ENOMEM;
			continue;
		}
		g->channel = channel;
		g->since_ns = sys_now_ns();
		group_link(g);
	}
	/* The newest first: of a flood of strangers, few are waited for. */
	for (struct linkgroup *g = groups; g; g = g->next) {
		int result;

		if (!g->since_ns || g->channel < 0)
			continue;
		result = hear_server(g, silent < SILENT_MAX ? SILENCE_NS : 0);
		silent += g->since_ns && g->channel >= 0;
		lost = result < 0 ? result : lost;
	}
	return channel == -EAGAIN ? lost : channel;
}

static struct linkgroup *find_by_nonce(const uint8_t *peer_id,
				       const uint8_t *nonce)
{
	for (struct linkgroup *g = groups; g; g = g->next)
		if (g->side == SIDE_CLIENT &&
		    memcmp(g->peer_id, peer_id, PEER_ID_BYTES) == 0 &&
		    memcmp(g->nonce, nonce, NONCE_BYTES) == 0)
			return g;
	return NULL;
}

uint32_t linkgroup_take_named(const uint8_t peer_id[PEER_ID_BYTES],
			      const uint8_t nonce[NONCE_BYTES],
			      uint32_t rmb_number, uint32_t element,
			      struct rmb **rmb)
{
	struct linkgroup *g = find_by_nonce(peer_id, nonce);
	struct rmb *r;
	int lost = 0;

	if (!g) {
		drop_dead_groups();
		lost = accept_all();
		g = find_by_nonce(peer_id, nonce);
	}
	if (!g)
		return reason_of(lost);
	r = find_rmb(g, rmb_number);
	if (!r) {
		trim_client(g);
		lost = read_channel(g);
		r = find_rmb(g, rmb_number);
	}
	if (!r)
		return reason_of(lost);
	if (element >= r->map.elements)
		return REASON_SYNC;
	if ((r->busy | r->leaked) >> element & 1)
		return REASON_SYNC;
	r->busy |= 1u << element;
	r->references++;
	g->connections++;
	*rmb = r;
	return REASON_NONE;
}

/* ---- fork and exit ---- */

static void orphan(struct rmb *r)
{
	for (uint32_t i = 0; i < r->map.elements; i++)
		if (!(r->busy >> i & 1)) {
			hidden_close(r->bell_in[i]);
			hidden_close(r->bell_out[i]);
		}
	r->group = NULL;
	r->reserved = 0;
	if (r->references == 0) {
		rmb_unmap(&r->map);
		pool_put(r, sizeof(*r));
	}
}

void linkgroup_forked(void)
{
	struct linkgroup *g = groups;

	groups = NULL;
	if (listener >= 0)
		hidden_close(listener);
	listener = -1;
	while (g) {
		struct linkgroup *next = g->next;
		struct rmb *r = g->rmbs;

		while (r) {
			struct rmb *after = r->next;

			orphan(r);
			r = after;
		}
		if (g->channel >= 0)
			hidden_close(g->channel);
		pool_put(g, sizeof(*g));
		g = next;
	}
}

void linkgroup_close(void)
{
	if (listener >= 0)
		rendezvous_forget(own_id);
}
