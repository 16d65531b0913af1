/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel: two sides play the same list of moves, in turns, and write down all
 * that they see.
 *
 *   duel [-A PREFIX] [-B PREFIX] [-1] [-n MOVES] [-o MOVE,MOVE...] SEED
 *
 * With -1 both sides are one thread of one process, which PREFIX of A starts.
 * With -o only these moves are made. The log goes to stdout; "# end" is its
 * last line.
 */
#include "duel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRIVE_MS 60
#define WORDS_MAX 40

static const struct kind *const rooms[] = {
    data_kinds, life_kinds, ready_kinds, odd_kinds,   sleep_kinds,
    doze_kinds, flow_kinds, rare_kinds,  state_kinds, new_kinds};
#define ROOMS       (sizeof(rooms) / sizeof(*rooms))
#define ROOMS_FIRST 5 /* what the seeds before GAME_MORE know */
#define ROOMS_MORE  8 /* those before GAME_ALL */
#define ROOMS_ALL   9 /* and those before GAME_NEW */

/* Nagle, or a busy kernel, may hold up what has been sent. */
static void arrive(struct game *g)
{
	const struct table *t = g->table;

	for (int slot = 0; slot < SOCKETS; slot++) {
		int fd = in(g, slot), there = -1;
		unsigned c = connection_of(g, fd);
		uint32_t due = c ? t->flight[c][t->end[g->side][fd]] : 0;

		if (!due || t->odd[c])
			continue;
		for (int i = 0; i < ARRIVE_MS; i++) {
			if (ioctl(fd, FIONREAD, &there) || there == (int)due)
				break;
			usleep(1000);
		}
		if (there != (int)due)
			g->table->odd[c] = true;
	}
}

/* All that can be asked without changing anything. */
static void look(struct game *g)
{
	struct pollfd p[SOCKETS + 1];

	say(g, "  look");
	for (int i = 0; i <= SOCKETS; i++)
		p[i] = (struct pollfd){
		    in(g, i), POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0};
	poll(p, SOCKETS + 1, 0);
	for (int i = 0; i <= SOCKETS; i++) {
		int there = 0;

		if (p[i].fd < 0)
			continue;
		say(g, " %d:%x", i, (unsigned)p[i].revents);
		if (!ioctl(p[i].fd, FIONREAD, &there))
			say(g, "/%d", there);
	}
	say_end(g);
}

static size_t rooms_of(uint64_t seed)
{
	return seed < GAME_MORE  ? ROOMS_FIRST
	       : seed < GAME_ALL ? ROOMS_MORE
	       : seed < GAME_NEW ? ROOMS_ALL
				 : ROOMS;
}

static const struct kind *kind_of(const struct game *g, int move,
				  struct random *r)
{
	struct random taste = random_of(g->seed, 1u << 20);
	const struct kind *all[200];
	unsigned weights[200], count = 0, total = 0, at;

	for (size_t i = 0; i < rooms_of(g->seed); i++)
		for (const struct kind *k = rooms[i]; k->name; k++) {
			all[count] = k;
			weights[count] =
			    k->weight * (1 + pick(&taste, 4) * pick(&taste, 4));
			total += weights[count++];
		}
	*r = random_of(g->seed, (uint64_t)move);
	/* It begins with a connection. */
	if (move == 0)
		return &life_kinds[0];
	at = pick(r, total);
	for (unsigned i = 0; i < count; i++) {
		if (at < weights[i])
			return all[i];
		at -= weights[i];
	}
	return all[0];
}

int move_phases(const struct game *g, int move)
{
	struct random r;

	return kind_of(g, move, &r)->phases;
}

int move_side(const struct game *g, int move)
{
	struct random r = random_of(g->seed, (uint64_t)move + (1u << 21));

	return (int)pick(&r, SIDES);
}

void game_phase(struct game *g, int move, int phase)
{
	struct random r;
	const struct kind *k = kind_of(g, move, &r);

	g->move = move;
	g->phase = phase;
	if (g->patient)
		arrive(g);
	k->make(g, &r);
	if (has_said())
		say_end(g);
	/* A connection that nobody has accepted yet has a state of its own; so
	 * has one that carries more than buffers hold. */
	if (g->looks && (k->make == make_flow ? phase + 1 == k->phases
					      : k->phases < 3 || phase > 1))
		look(g);
}

void game_child(struct game *g, struct random *r)
{
	static const struct kind *const can[] = {data_kinds, data_kinds,
						 ready_kinds};
	const struct kind *room = PICK(r, can);
	unsigned count = 0;

	/* An epoll instance that two processes use may tell an edge twice. */
	while (room[count].name && strncmp(room[count].name, "epoll", 5))
		count++;
	room += pick(r, count);
	if (room->phases == 1)
		room->make(g, r);
	if (has_said())
		say_end(g);
}

static bool is_made(const struct game *g, int move)
{
	const char *at = g->only;

	if (!at)
		return true;
	while (at && *at) {
		char *end;

		if (strtol(at, &end, 10) == move)
			return true;
		at = *end ? end + 1 : NULL;
	}
	return false;
}

void turn_give(int side)
{
	if (write(FD_TURN_SEND + side, "", 1) != 1)
		_exit(4);
}

void turn_take(int side)
{
	char c;
	ssize_t n;

	do
		n = read(FD_TURN + side, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(5);
}

void game_play(struct game *g, int move)
{
	for (; move < g->moves; move++) {
		int phases = move_phases(g, move), side = move_side(g, move);

		if (!is_made(g, move))
			continue;
		for (int phase = 0; phase < phases; phase++) {
			g->side = (side + phase) % SIDES;
			if (g->mine < 0 || g->side == g->mine)
				game_phase(g, move, phase);
			if (g->mine < 0)
				continue;
			if (g->side == g->mine)
				turn_give(!g->mine);
			else
				turn_take(g->mine);
		}
	}
	_exit(0);
}

/* duel --side SIDE SEED MOVES FROM ONLY */
static int side_main(char **argv)
{
	struct game g = {.seed = strtoull(argv[3], NULL, 10), .argv = argv};
	struct random r = random_of(g.seed, 1u << 22);

	g.mine = argv[2][0] - '1';
	g.moves = (int)strtol(argv[4], NULL, 10);
	g.only = argv[6] && *argv[6] ? argv[6] : NULL;
	g.table = mmap(NULL, sizeof(*g.table), PROT_READ | PROT_WRITE,
		       MAP_SHARED, FD_TABLE, 0);
	g.bytes = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(g.bytes + BYTES, 4096, PROT_NONE);
	g.patient = chance(&r, 50);
	g.looks = chance(&r, 50);
	g.lazy = getenv("DUEL_LAZY");
	g.crowd = 1 + pick(&r, 4);
	signals_catch();
	if (getenv("DUEL_WARM") && !strtol(argv[5], NULL, 10))
		game_warm(&g);
	game_play(&g, (int)strtol(argv[5], NULL, 10));
	return 0;
}

static void side_exec(int side, bool one, const char *prefix, char **words)
{
	char *argv[WORDS_MAX], *rest = NULL;
	char name[2] = {(char)('1' + side), 0};
	int count = 0;

	if (one)
		name[0] = '0';
	for (char *w = strtok_r(strdup(prefix), " ", &rest); w && count < 20;
	     w = strtok_r(NULL, " ", &rest))
		argv[count++] = w;
	argv[count++] = words[0];
	argv[count++] = strdup("--side");
	argv[count++] = name;
	for (int i = 1; words[i]; i++)
		argv[count++] = words[i];
	argv[count] = NULL;
	if (!one) {
		close(FD_TURN + !side);
		close(FD_TURN_SEND + side);
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* What both sides find under numbers that the game does not use. */
static void descriptors_make(void)
{
	int turn[2][2], unix_pair[2], zero = open("/dev/null", O_RDWR);
	int table = memfd_create("duel", 0), out = dup(1);

	if (pipe(turn[0]) || pipe(turn[1]) || ftruncate(table, 1 << 20) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, unix_pair))
		_exit(2);
	dup2(out, FD_LOG);
	dup2(table, FD_TABLE);
	for (int side = 0; side < SIDES; side++) {
		dup2(turn[side][0], FD_TURN + side);
		dup2(turn[side][1], FD_TURN_SEND + side);
		dup2(unix_pair[side], FD_UNIX + side);
	}
	dup2(zero, 0);
	dup2(zero, 1);
	for (int fd = 3; fd < FD_MAX; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *prefix[SIDES] = {"", ""};
	char program[4096] = "", moves[] = "60", from[] = "0", all[] = "",
	     *words[6] = {program, all, moves, from, all, NULL};
	struct table *t;
	pid_t pids[SIDES];
	bool one = false;
	int option, status;

	if (argc >= 7 && !strcmp(argv[1], "--side"))
		return side_main(argv);
	while ((option = getopt(argc, argv, "A:B:1n:o:")) != -1) {
		if (option == 'A' || option == 'B')
			prefix[option - 'A'] = optarg;
		else if (option == '1')
			one = true;
		else if (option == 'n')
			words[2] = optarg;
		else if (option == 'o')
			words[4] = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc ||
	    readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return 2;
	words[1] = argv[optind];
	descriptors_make();
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, FD_TABLE,
		 0);
	memset(t->slots, -1, sizeof(t->slots));
	for (int side = 0; side < (one ? 1 : SIDES); side++) {
		pids[side] = fork();
		if (!pids[side])
			side_exec(side, one, prefix[side], words);
	}
	for (int side = 0; side < SIDES; side++) {
		close(FD_TURN + side);
		close(FD_TURN_SEND + side);
	}
	for (int side = 0; side < (one ? 1 : SIDES); side++) {
		waitpid(pids[side], &status, 0);
		if (status)
			dprintf(FD_LOG, "# side %c: status %x\n", 'A' + side,
				(unsigned)status);
	}
	dprintf(FD_LOG, "# end\n");
	return 0;
}
