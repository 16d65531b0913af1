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
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUARD_MS  450
#define ARRIVE_MS 60
#define WORDS_MAX 40

static char text[16384];
static size_t used;
volatile int alarms;
static volatile int signals[65];

static const struct kind *const rooms[] = {
    data_kinds, life_kinds, ready_kinds, odd_kinds,   sleep_kinds,
    doze_kinds, flow_kinds, rare_kinds,  state_kinds, new_kinds};
#define ROOMS       (sizeof(rooms) / sizeof(*rooms))
#define ROOMS_FIRST 5 /* what the seeds before GAME_MORE know */
#define ROOMS_MORE  8 /* those before GAME_ALL */
#define ROOMS_ALL   9 /* and those before GAME_NEW */

unsigned pick(struct random *r, unsigned below)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (unsigned)((r->state * 0x2545f4914f6cdd1du) >> 33) % below;
}

bool chance(struct random *r, unsigned percent)
{
	return pick(r, 100) < percent;
}

unsigned some(struct random *r, const unsigned *bits, unsigned count)
{
	unsigned all = 0, n = pick(r, 4);

	while (n--)
		all |= bits[pick(r, count)];
	return all;
}

static struct random random_of(uint64_t seed, uint64_t number)
{
	struct random r = {(seed + 1) * 0x9e3779b97f4a7c15u ^
			   (number + 1) * 0xd1342543de82ef95u};

	for (int i = 0; i < 6; i++)
		pick(&r, 2);
	return r;
}

int in(const struct game *g, int slot)
{
	return g->table->slots[g->side][slot];
}

void put(struct game *g, int slot, int fd)
{
	if (fd >= 0)
		g->table->slots[g->side][slot] = fd;
}

int socket_slot(struct game *g, struct random *r)
{
	if (chance(r, 3))
		return (int)pick(r, SLOTS);
	if (chance(r, 12))
		return 4 + (int)pick(r, 2);
	return (int)pick(r, g->crowd);
}

int any_slot(struct game *g, struct random *r)
{
	return chance(r, 40) ? (int)pick(r, SLOTS) : socket_slot(g, r);
}

static bool ours(int fd)
{
	return fd >= 0 && fd < FD_MAX;
}

void known_as(struct game *g, int fd, unsigned connection, int end)
{
	if (!ours(fd))
		return;
	g->table->connection[g->side][fd] = (uint16_t)connection;
	g->table->end[g->side][fd] = (uint8_t)end;
}

void known_copy(struct game *g, int from, int to)
{
	if (ours(from))
		known_as(g, to, g->table->connection[g->side][from],
			 g->table->end[g->side][from]);
}

unsigned connection_of(const struct game *g, int fd)
{
	return ours(fd) ? g->table->connection[g->side][fd] : 0;
}

size_t sendable(const struct game *g, int fd, size_t size)
{
	unsigned c = connection_of(g, fd);
	int to = ours(fd) ? !g->table->end[g->side][fd] : 0;

	if (g->table->pieces[c][to] > PIECES_MAX ||
	    g->table->flight[c][to] >= FLIGHT_MAX)
		return 0;
	if (g->table->flight[c][to] + size > FLIGHT_MAX)
		return FLIGHT_MAX - g->table->flight[c][to];
	return size;
}

void was_sent(struct game *g, int fd, ssize_t n)
{
	unsigned c = connection_of(g, fd);

	if (n <= 0 || !c)
		return;
	g->table->flight[c][!g->table->end[g->side][fd]] += (uint32_t)n;
	g->table->pieces[c][!g->table->end[g->side][fd]]++;
}

void was_taken(struct game *g, int fd, ssize_t n)
{
	unsigned c = connection_of(g, fd);
	uint32_t *left;

	if (n <= 0 || !c)
		return;
	left = &g->table->flight[c][g->table->end[g->side][fd]];
	*left -= (uint32_t)n < *left ? (uint32_t)n : *left;
	if (!*left)
		g->table->pieces[c][g->table->end[g->side][fd]] = 0;
}

void say(struct game *g, const char *format, ...)
{
	va_list args;

	if (!used)
		used = (size_t)snprintf(text, sizeof(text), "%d.%d%s %c ",
					g->move, g->phase, g->child ? "c" : "",
					'A' + g->side);
	va_start(args, format);
	used +=
	    (size_t)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	if (used >= sizeof(text))
		used = sizeof(text) - 1;
}

void say_result(struct game *g, long ret)
{
	int error = errno;

	say(g, " = %ld", ret);
	if (ret < 0)
		say(g, " %s", strerrorname_np(error));
}

void say_end(struct game *g)
{
	for (int s = 1; s < 65; s++)
		if (signals[s] && s != SIGUSR1) {
			say(g, " SIG%s*%d", sigabbrev_np(s), signals[s]);
			signals[s] = 0;
		}
	say(g, "\n");
	if (write(FD_LOG, text, used) != (ssize_t)used)
		_exit(3);
	used = 0;
}

static void on_signal(int number)
{
	if (number == SIGALRM)
		alarms++;
	else if (number < 65)
		signals[number]++;
}

static void guard_every(long ms)
{
	struct itimerval t = {{0, ms ? 50000 : 0}, {0, ms * 1000}};

	setitimer(ITIMER_REAL, &t, NULL);
}

void guard_set(void)
{
	alarms = 0;
	guard_every(GUARD_MS);
}

void guard_end(void)
{
	int error = errno;

	guard_every(0);
	errno = error;
}

void pattern(const struct game *g, unsigned char *bytes, size_t size)
{
	uint32_t x = (uint32_t)(g->move * 7919 + g->phase * 104729 + 1);

	for (size_t i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(x >> 24);
	}
}

uint32_t sum(const void *bytes, size_t size)
{
	uint32_t s = 2166136261u;

	for (size_t i = 0; i < size; i++)
		s = (s ^ ((const unsigned char *)bytes)[i]) * 16777619u;
	return s;
}

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
	if (used)
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
	if (used)
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

static void turn_give(int side)
{
	if (write(FD_TURN_SEND + side, "", 1) != 1)
		_exit(4);
}

static void turn_take(int side)
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

static void signals_catch(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_flags = SA_RESTART;
	sigaction(SIGPIPE, &a, NULL);
	sigaction(SIGURG, &a, NULL);
	sigaction(SIGIO, &a, NULL);
}

static int warm_socket(uint32_t *port, bool listens)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	a.sin_port = htons((uint16_t)*port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listens ? bind(fd, (struct sockaddr *)&a, len) || listen(fd, 5) ||
			  getsockname(fd, (struct sockaddr *)&a, &len)
		    : connect(fd, (struct sockaddr *)&a, len))
		_exit(8);
	*port = ntohs(a.sin_port);
	return fd;
}

/* To the end. */
static void warm_read(int fd)
{
	char bytes[8];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	close(fd);
}

static void warm_talk(struct game *g, int listener, uint32_t port)
{
	int client = -1;

	for (int i = 0; i < 2; i++) {
		if (listener < 0 || g->mine < 0)
			client = warm_socket(&port, false);
		if (listener >= 0 && g->mine >= 0) {
			warm_read(accept(listener, NULL, NULL));
			continue;
		}
		if (g->mine < 0) {
			int server = accept(listener, NULL, NULL);

			if (send(client, "warm", 4, 0) != 4)
				_exit(8);
			close(client);
			warm_read(server);
			continue;
		}
		if (send(client, "warm", 4, 0) != 4)
			_exit(8);
		shutdown(client, SHUT_WR);
		warm_read(client);
	}
}

/*
 * DUEL_WARM: each side's listeners have a port of their own, at which it has
 * served the other side before, so that the next client may knock
 * (smc_r/knock.h).
 */
static void warm(struct game *g)
{
	for (int side = 0; side < SIDES; side++) {
		uint32_t *port = &g->table->warm[side];
		bool serves = g->mine < 0 || g->mine == side;
		int listener = -1;

		if (!serves)
			turn_take(g->mine);
		else
			listener = warm_socket(port, true);
		if (serves && g->mine >= 0)
			turn_give(!g->mine);
		warm_talk(g, listener, *port);
		if (listener >= 0)
			close(listener);
		/* The other side begins with the next one. */
		if (g->mine >= 0 && !serves)
			turn_give(!g->mine);
		else if (g->mine >= 0)
			turn_take(g->mine);
	}
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
		warm(&g);
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
