/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * knock_fuzz: what strangers may say with a knock: the words that the kernel
 * brings from any process that connects, and the words of an element, which the
 * other end of a link group may write at any time.
 *
 * Input: steps; each is what to do, what with, and its own bytes (enum step).
 *
 * Server and client of one group live in this process, with a mapping each. A
 * step pokes into the memory, as either end may, or lets one of them do what it
 * does. Whatever was said, each knows what it holds, an element belongs to one
 * connection at a time, and only a token that a client wrote takes one.
 */
#include "smc_r/link/shm/linkgroup_knock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/link/shm/linkgroup_rmb.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"

#define LIMIT      600 /* of descriptors: all numbers are looked at */
#define RMBS       2
#define ELEMENTS   2
#define HELD_MAX   (RMBS * ELEMENTS)
#define STEPS_MAX  64
#define PORT       80
#define TOKEN_BITS 5u /* of these a token has exactly the 4 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	STEP_POKE_KNOCK,    /* word: 8 bytes */
	STEP_POKE_EPOCH,    /* 1 byte */
	STEP_POKE_RELEASED, /* 1 byte */
	STEP_POKE_HEADER,   /* retired, no_element_open: 1 byte each */
	STEP_ANSWER,        /* struct option_knock */
	STEP_ANSWER_RIGHT,  /* with the word as it stands, but for 1 byte */
	STEP_KNOCK,         /* port: 1 byte more than PORT */
	STEP_LOOK,
	STEP_TAKE_BACK,
	STEP_CLIENT_GIVE,
	STEP_SERVER_GIVE,
	STEP_SHUT,
	STEP_VAIN,
	STEP_COUNT,
};

/* One element, as one end has it. */
struct held {
	uint32_t rmb; /* its number, 0: nothing held */
	uint32_t element;
	uint64_t token; /* a client's, undecided; or 0 */
};

struct reader {
	const uint8_t *at;
	size_t left;
};

static struct linkgroup *server, *client;
static int server_other_end, client_other_end;
static struct held served[HELD_MAX], visits[HELD_MAX];

static void must(int holds)
{
	if (!holds)
		abort();
}

static void take(struct reader *r, void *out, size_t n)
{
	size_t there = n < r->left ? n : r->left;

	memset(out, 0, n);
	memcpy(out, r->at, there);
	r->at += there;
	r->left -= there;
}

static uint8_t take_byte(struct reader *r)
{
	uint8_t byte;

	take(r, &byte, 1);
	return byte;
}

/* ---- the two ends ---- */

static void start(void)
{
	const struct rlimit limit = {LIMIT, LIMIT};

	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	process_init();
	must(fdtable_init() == 0);
}

static struct linkgroup *make_group(int side, int *other_end)
{
	struct linkgroup *g = linkgroup_list_new(side, identity_own());
	int ends[2];

	must(g && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
	g->channel = private_fd(ends[0]);
	must(g->channel >= 0);
	*other_end = ends[1];
	linkgroup_list_add(g);
	return g;
}

static struct rmb *add_rmb(struct linkgroup *g, uint32_t number)
{
	struct rmb *r = pool_get(sizeof(*r));

	must(r != NULL);
	r->group = g;
	r->side = g->side;
	r->number = number;
	for (unsigned i = 0; i < RMB_ELEMENTS_MAX; i++)
		r->bells[i] = BELLS_NONE;
	r->next = g->rmbs;
	g->rmbs = r;
	return r;
}

static void make_rmb(uint32_t number)
{
	struct rmb *s = add_rmb(server, number), *c = add_rmb(client, number);
	struct bells theirs;
	int fd;

	must(rmb_create(&s->map, ELEMENTS, RMB_RMBE_MIN, &fd) == 0);
	must(rmb_map(&c->map, fd, ELEMENTS, RMB_RMBE_MIN,
		     s->map.overflow_bytes) == 0);
	close(fd);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		linkgroup_knock_open(rmb_element(&s->map, i));
		must(bells_make(&s->bells[i], &theirs, BELLS_ONE) == 0);
		close(theirs.data);
		close(theirs.peer_data);
	}
}

/* A knock works at first; else no step could knock, and none would fail. */
static void check_open(void)
{
	struct knocks k;

	must(linkgroup_knock(PORT, &k) && k.count == 1);
	must(linkgroup_knock_take_back(&k.at[0], k.token));
	linkgroup_knock_give(&k.at[0], true);
}

static void begin(void)
{
	memset(served, 0, sizeof(served));
	memset(visits, 0, sizeof(visits));
	server = make_group(SIDE_SERVER, &server_other_end);
	client = make_group(SIDE_CLIENT, &client_other_end);
	for (uint32_t number = 1; number <= RMBS; number++)
		make_rmb(number);
	linkgroup_knock_learn(client, PORT);
	check_open();
}

/* An end goes: what is held goes first, then its group with all of it. */
static void give_all(struct linkgroup *g, struct held *held)
{
	for (int i = 0; i < HELD_MAX; i++)
		if (held[i].rmb)
			linkgroup_give(linkgroup_rmb_find(g, held[i].rmb),
				       held[i].element, true);
}

static void end(void)
{
	give_all(client, visits);
	give_all(server, served);
	must(client->connections == 0 && server->connections == 0);
	close(server_other_end);
	close(client_other_end);
	linkgroup_list_drop_dead();
	must(!linkgroup_list_first());
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < LIMIT; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- what each end knows ---- */

static int find(const struct held *held, uint32_t rmb, uint32_t element)
{
	for (int i = 0; i < HELD_MAX; i++)
		if (held[i].rmb == rmb && held[i].element == element)
			return i;
	return -1;
}

static struct held *hold(struct held *held, const struct rmb *r,
			 uint32_t element)
{
	int free = -1;

	must(element < r->map.elements);
	must(find(held, r->number, element) < 0);
	for (int i = 0; i < HELD_MAX && free < 0; i++)
		if (!held[i].rmb)
			free = i;
	must(free >= 0);
	held[free] = (struct held){.rmb = r->number, .element = element};
	return &held[free];
}

/* Whatever stands in memory, the books of an end agree with what it holds. */
static void check(const struct linkgroup *g, const struct held *held)
{
	uint32_t all = 0, of_rmbs = 0;

	for (int i = 0; i < HELD_MAX; i++)
		all += held[i].rmb != 0;
	for (const struct rmb *r = g->rmbs; r; r = r->next) {
		must((uint32_t)__builtin_popcount(r->busy) == r->references);
		for (uint32_t i = 0; i < r->map.elements; i++)
			must((r->busy >> i & 1) ==
			     (find(held, r->number, i) >= 0));
		of_rmbs += r->references;
	}
	must(all == of_rmbs && all == g->connections);
}

/* ---- steps ---- */

static struct rmb *rmb_of(struct linkgroup *g, uint8_t which)
{
	return linkgroup_rmb_find(g, 1 + which / ELEMENTS % RMBS);
}

static void poke(enum step step, uint8_t which, struct reader *r)
{
	struct rmb *rmb = rmb_of(client, which);
	struct rmb_element *e;
	uint64_t word;

	if (!rmb)
		return;
	e = rmb_element(&rmb->map, which % ELEMENTS);
	if (step == STEP_POKE_KNOCK) {
		take(r, &word, sizeof(word));
		atomic_store(&e->knock, word);
	} else if (step == STEP_POKE_EPOCH) {
		atomic_store(&e->epoch, take_byte(r));
	} else if (step == STEP_POKE_RELEASED) {
		atomic_store(&e->released, take_byte(r));
	} else {
		atomic_store(&rmb_header(&rmb->map)->retired, take_byte(r) & 1);
		atomic_store(&rmb_header(&rmb->map)->no_element_open,
			     take_byte(r));
	}
}

static uint64_t word_at(const struct option_knocked *at)
{
	struct rmb *rmb = linkgroup_rmb_find(server, at->rmb);

	return rmb && at->element < ELEMENTS
		   ? atomic_load(&rmb_element(&rmb->map, at->element)->knock)
		   : 0;
}

static void answer(const struct option_knock *knock)
{
	uint64_t before[OPTION_KNOCKS_MAX];
	struct rmb *rmb;
	uint32_t element;
	bool asleep;
	int i = 0;

	for (int k = 0; k < OPTION_KNOCKS_MAX; k++)
		before[k] = word_at(&knock->at[k]);
	if (!linkgroup_take_knocked(knock, &rmb, &element, &asleep))
		return;
	while (i < OPTION_KNOCKS_MAX && (knock->at[i].rmb != rmb->number ||
					 knock->at[i].element != element))
		i++;
	must(i < OPTION_KNOCKS_MAX);
	must((knock->token & TOKEN_BITS) == 4 &&
	     (before[i] & ~(uint64_t)KNOCK_ASLEEP) == knock->token);
	must(before[i] != KNOCK_OPEN && before[i] != KNOCK_SHUT &&
	     before[i] != KNOCK_TAKING && before[i] != KNOCK_GONE);
	must(asleep == (before[i] & KNOCK_ASLEEP));
	hold(served, rmb, element);
	linkgroup_knock_answer(rmb, element, asleep);
}

static void answer_right(uint8_t which, uint8_t wrong)
{
	struct rmb *rmb = rmb_of(server, which);
	struct option_knock knock = {.token = 0};
	struct option_knocked *at = &knock.at[which / HELD_MAX % 2];

	if (!rmb)
		return;
	/* Before it another process' element, of the same numbers as ours. */
	knock.at[0] = (struct option_knocked){RMBS, 0};
	at->rmb = rmb->number;
	at->element = which % ELEMENTS;
	knock.token = word_at(at);
	memcpy(knock.client, server->peer_id, sizeof(knock.client));
	if (wrong & 1)
		knock.token &= ~(uint64_t)KNOCK_ASLEEP;
	if (wrong & 2)
		knock.token ^= (uint64_t)wrong << 8;
	if (wrong & 4)
		at->element = wrong;
	if (wrong & 8)
		at->rmb += wrong;
	if (wrong & 16)
		knock.client[wrong & 1] ^= wrong;
	answer(&knock);
}

static void knock(uint16_t port)
{
	struct option_knock o;
	struct knocks k;
	struct held *h;

	if (!linkgroup_knock(port, &k))
		return;
	must(port == PORT && k.count == 1 && k.all);
	linkgroup_knock_describe(&k, &o);
	must(o.at[0].rmb == k.at[0].rmb->number &&
	     o.at[0].element == k.at[0].element && o.at[1].rmb == 0);
	must(o.token == k.token && (k.token & TOKEN_BITS) == 4);
	h = hold(visits, k.at[0].rmb, k.at[0].element);
	h->token = k.token;
}

static struct knocked place_of(const struct held *h)
{
	return (struct knocked){.rmb = linkgroup_rmb_find(client, h->rmb),
				.element = h->element};
}

static void look(const struct held *h)
{
	struct knocked at = place_of(h);
	enum knocking now = linkgroup_knock_look(&at, h->token);

	must(now == KNOCKING_WAITS || now == KNOCKING_TAKING ||
	     now == KNOCKING_TAKEN);
	must(linkgroup_knock_sleeps(&at, h->token) == (now == KNOCKING_WAITS));
	must(linkgroup_knock_look(&at, h->token) == now);
}

static void take_back(struct held *h)
{
	struct knocked at = place_of(h);

	if (!linkgroup_knock_take_back(&at, h->token)) {
		h->token = 0;
		return;
	}
	check(client, visits);
	linkgroup_knock_give(&at, true);
	h->rmb = 0;
}

/* The step is about one of those that are held. */
static void visit(enum step step, uint8_t which)
{
	struct held *h = &visits[which % HELD_MAX];

	if (!h->rmb)
		return;
	if (step == STEP_CLIENT_GIVE) {
		linkgroup_give(linkgroup_rmb_find(client, h->rmb), h->element,
			       true);
		h->rmb = 0;
	} else if (h->token) {
		if (step == STEP_LOOK)
			look(h);
		else
			take_back(h);
	}
}

static void serve(uint8_t which)
{
	struct held *h = &served[which % HELD_MAX];

	if (!h->rmb)
		return;
	linkgroup_give(linkgroup_rmb_find(server, h->rmb), h->element, true);
	h->rmb = 0;
}

/* All or nothing. */
static void shut(uint8_t which)
{
	struct rmb *rmb = rmb_of(server, which);

	if (!rmb || rmb->references > 0)
		return;
	if (linkgroup_knock_shut_all(rmb))
		for (uint32_t i = 0; i < ELEMENTS; i++) {
			struct rmb_element *e = rmb_element(&rmb->map, i);

			must(atomic_load(&e->knock) == KNOCK_SHUT);
			linkgroup_knock_open(e);
		}
}

static void go(struct reader *r)
{
	enum step step = take_byte(r) % STEP_COUNT;
	uint8_t which = take_byte(r);
	struct option_knock k;

	switch (step) {
	case STEP_POKE_KNOCK:
	case STEP_POKE_EPOCH:
	case STEP_POKE_RELEASED:
	case STEP_POKE_HEADER:
		poke(step, which, r);
		break;
	case STEP_ANSWER:
		take(r, &k, sizeof(k));
		answer(&k);
		break;
	case STEP_ANSWER_RIGHT:
		answer_right(which, take_byte(r));
		break;
	case STEP_KNOCK:
		knock((uint16_t)(PORT + which));
		break;
	case STEP_LOOK:
	case STEP_TAKE_BACK:
	case STEP_CLIENT_GIVE:
		visit(step, which);
		break;
	case STEP_SERVER_GIVE:
		serve(which);
		break;
	case STEP_SHUT:
		shut(which);
		break;
	case STEP_VAIN:
		linkgroup_knock_was_vain(client->number);
		break;
	case STEP_COUNT:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = {data, size};
	int before;

	if (!process.pid)
		start();
	before = open_descriptors();
	begin();
	for (int i = 0; i < STEPS_MAX && r.left > 0; i++) {
		go(&r);
		check(server, served);
		check(client, visits);
	}
	end();
	must(open_descriptors() == before);
	return 0;
}
