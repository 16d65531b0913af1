/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * death: a process dies by SIGKILL, at a system call or some instructions
 * behind one, anywhere in its life: in the handshake, a transfer, a fork, a
 * demotion, a close. The survivor at the other end must see what TCP shows:
 * each byte that a send() had taken, then the end of file, or a reset if bytes
 * of its own were left unread. A process that inherited a connection goes on
 * with it. Connections with a third process, before and after, know nothing of
 * it all, and the survivor keeps no descriptor and no memory.
 *
 *   death SEED COUNT		so many deaths; what failed is printed, with
 *   death --one LIFE SIDE MODE AT STEPS	how to see it again
 */
#include "death.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "death_trace.h"
#include "socket_helpers.h"

#define STEPS_MAX    3000u
#define WARM_UP      12 /* rounds before the survivor is measured */
#define FAILURES_MAX 5
#define QUIET_LOOKS  3
#define QUIET_US     300
#define QUIET_TRIES  5000

struct board *board;
int orders[2];
int go[2];

static const char *const life_names[] = {"plain",  "unread",      "brief",
					 "half",   "fork-parent", "fork-child",
					 "shared", "demoted",     "handed"};
static const char *const side_names[] = {"connects", "accepts"};
static const char *const mode_names[] = {"blocks", "polls", "epolls", "late"};

static pid_t survivor;

static bool thread_sleeps(pid_t pid, const char *thread)
{
	char path[320], text[512];
	const char *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, thread);
	f = fopen(path, "r");
	if (!f)
		return true;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	at = strrchr(text, ')');
	return !at || at[2] == 'S';
}

static bool survivor_sleeps(void)
{
	char path[64];
	bool sleeps = true;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)survivor);
	d = opendir(path);
	check(d != NULL, "the survivor is gone");
	for (struct dirent *e = readdir(d); e && sleeps; e = readdir(d))
		sleeps =
		    e->d_name[0] == '.' || thread_sleeps(survivor, e->d_name);
	closedir(d);
	return sleeps;
}

static uint64_t survivors_work(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < LINES; i++)
		sum += board->line[i].sent + board->line[i].got;
	return sum;
}

/* The victim is stopped: the survivor answers what it can, and then waits. What
 * it then sees at the death follows from nothing else. */
static void await_quiet(void)
{
	uint64_t work = survivors_work();
	int looks = 0;

	for (int i = 0; i < QUIET_TRIES && looks < QUIET_LOOKS; i++) {
		uint64_t now = survivors_work();

		looks = now == work && survivor_sleeps() ? looks + 1 : 0;
		work = now;
		nap_us(QUIET_US);
	}
	board->quiet = looks == QUIET_LOOKS;
	for (int i = 0; i < LINES; i++) {
		board->quiet &= !board->line[i].sending;
		board->line[i].sent_before = board->line[i].sent;
	}
}

/* ---- what must be true afterwards ---- */

static bool may_be_reset(const struct line *l)
{
	return l->sent > l->taken || l->taking;
}

/* A reset throws away what is still on its way. */
static bool is_stream(const struct line *l, int who, uint64_t from, uint64_t n)
{
	const struct writer *w = &l->writer[who];
	size_t wrong;

	return (n >= w->done || may_be_reset(l)) && n <= w->begun &&
	       bytes_match(l->bytes + from, n, seed_of(l, who), 0, &wrong);
}

/* All that was sent, in order; of a send() that was under way any part. */
static bool bytes_are_right(const struct line *l)
{
	uint64_t n = may_be_reset(l) ? 0 : l->writer[0].done;

	for (; n <= l->writer[0].begun && n <= l->got; n++)
		if (is_stream(l, 1, n, l->got - n) && is_stream(l, 0, 0, n))
			return true;
	return false;
}

/* The victim itself closes it, or moves it, while the survivor may answer. */
static bool ends_either_way(const struct line *l, bool killed)
{
	/* An answer that failed took the error: the end of file is left. */
	if (l->sending)
		return true;
	switch (board->life) {
	case HALF:
	case SHARED:
	case DEMOTED:
	case HANDED:
		return true;
	case UNREAD:
		if (l->taken == BLOCK)
			return true;
		break;
	default:
		break;
	}
	return !killed || !board->quiet || l->taking ||
	       l->sent > l->sent_before;
}

/* What TCP shows at the end of such a connection. */
static bool end_is_right(const struct line *l, bool killed)
{
	if (l->ending != 0 && l->ending != ECONNRESET)
		return false;
	/* In the backlog of a listener that goes. */
	if (board->side == ACCEPTS && !l->held)
		return true;
	/* A close at once may meet the engine's own messages: smc_r(7). */
	if (board->life == BRIEF && l == board->line && l->held)
		return true;
	if (may_be_reset(l) && ends_either_way(l, killed))
		return true;
	return l->ending == (may_be_reset(l) ? ECONNRESET : 0);
}

static const char *judge(const struct line *l, bool killed)
{
	if (!l->open)
		return l->held && !killed ? "it was never accepted" : NULL;
	if (!bytes_are_right(l))
		return "wrong bytes";
	if (!end_is_right(l, killed))
		return "a wrong end";
	if (l->stuck)
		return "writes to the dead never fail";
	return NULL;
}

struct scene {
	enum life life;
	enum side side;
	enum mode mode;
	struct death_point point;
};

/* The first line is the parent's, the second the child's, where both live. */
static bool was_cut(const struct scene *s, int line, bool killed)
{
	if (s->life == FORK_PARENT)
		return killed && line == 0;
	if (s->life == FORK_CHILD)
		return killed && line == 1;
	return killed;
}

static bool all_right(const struct scene *s, const struct death_result *r)
{
	bool right = true;

	for (int i = 0; i < line_count(); i++) {
		const struct line *l = &board->line[i];
		const char *what = judge(l, was_cut(s, i, r->killed));

		if (!what)
			continue;
		right = false;
		printf("line %d: %s: ended with %d, got %lu of %lu to %lu and "
		       "%lu to %lu, sent %lu, taken %lu%s%s%s\n",
		       i, what, l->ending, l->got, l->writer[0].done,
		       l->writer[0].begun, l->writer[1].done,
		       l->writer[1].begun, l->sent, l->taken,
		       l->taking ? ", taking" : "", l->held ? "" : ", not held",
		       board->quiet ? "" : ", not quiet");
	}
	return right;
}

/* ---- rounds ---- */

static void describe(const struct scene *s)
{
	printf("FAILED: %s %s %s %d %d\n", life_names[s->life],
	       side_names[s->side], mode_names[s->mode], s->point.at,
	       s->point.steps);
	fflush(stdout);
}

/* Without it there is nothing left to play. */
static void await_survivor(const struct scene *s, int round)
{
	char command[128];
	int status = 0;

	for (int i = 0; i < ROUND_MS; i++) {
		if (board->finished == round)
			return;
		if (waitpid(survivor, &status, WNOHANG))
			break;
		nap_us(1000);
	}
	describe(s);
	printf("the survivor hangs, or has ended with %x\n", status);
	snprintf(command, sizeof(command),
		 "grep -H . /proc/%d/task/*/wchan /proc/%d/task/*/syscall",
		 (int)survivor, (int)survivor);
	fflush(stdout);
	check(!system(command), "grep");
	_exit(3);
}

static void order(char what)
{
	check(write(orders[1], &what, 1) == 1, "order");
}

static bool ended_well(pid_t pid)
{
	int status = 1;

	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void clear_board(const struct scene *s)
{
	board->life = s->life;
	board->side = s->side;
	board->mode = s->mode;
	board->dead = false;
	board->quiet = true;
	memset(board->line, 0, sizeof(board->line));
	board->victim_port = 0;
}

static bool play(const struct scene *s, int *stops)
{
	static int round = 1;
	struct death_result r;
	bool right = true;
	pid_t pid, other;

	await_survivor(s, round++);
	clear_board(s);
	pid = fork();
	if (pid == 0)
		victim();
	while (s->side == ACCEPTS && board->victim_port == 0)
		nap_us(100);
	order('r');
	r = death_run(pid, &s->point, await_quiet);
	*stops = r.stops;
	other = s->point.child ? pid : r.child;
	if (other && s->life >= FORK_PARENT && s->life <= SHARED) {
		check(write(go[1], "g", 1) == 1, "go");
		right = ended_well(other);
	}
	if (!right)
		printf("who goes on has failed\n");
	if (!r.killed && r.status != 0) {
		printf("the victim has failed by itself\n");
		right = false;
	}
	board->dead = true;
	order('d');
	await_survivor(s, round);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return all_right(s, &r) && right;
}

static void start_others(void)
{
	int listener;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(board != MAP_FAILED, "mmap");
	check(!pipe(orders) && !pipe(go), "pipe");
	check(!prctl(PR_SET_CHILD_SUBREAPER, 1), "subreaper");
	listener = helper_listen(&board->mate_port);
	if (fork() == 0)
		mate(listener);
	close(listener);
	survivor = fork();
	if (survivor == 0)
		survive();
	while (board->finished == 0)
		nap_us(100);
}

/* How long each life is: it goes to its end. */
static int measure(int stops[LIVES][SIDES])
{
	int failed = 0;

	for (int l = 0; l < LIVES; l++)
		for (int k = 0; k < SIDES; k++) {
			struct scene s = {.life = (enum life)l,
					  .side = (enum side)k,
					  .point = {.at = INT32_MAX}};

			s.point.child = l == FORK_CHILD;
			if (play(&s, &stops[l][k]))
				continue;
			describe(&s);
			failed++;
		}
	return failed;
}

static struct scene random_scene(uint64_t *seed, int stops[LIVES][SIDES])
{
	struct scene s = {.life = (enum life)dice(seed, LIVES),
			  .side = (enum side)dice(seed, SIDES),
			  .mode = (enum mode)dice(seed, MODES)};

	s.point.at = (int)dice(seed, (uint32_t)stops[s.life][s.side]);
	s.point.child = s.life == FORK_CHILD;
	if (dice(seed, 2))
		s.point.steps = (int)dice(seed, STEPS_MAX);
	return s;
}

static int play_many(uint64_t seed, int count)
{
	int stops[LIVES][SIDES], unused, fds = 0, maps = 0;
	int failed = measure(stops);

	for (int i = 0; i < count && failed < FAILURES_MAX; i++) {
		struct scene s = random_scene(&seed, stops);

		board->measured = i == WARM_UP || i == count - 1;
		if (!play(&s, &unused)) {
			describe(&s);
			failed++;
		}
		if (i == WARM_UP) {
			fds = board->fds;
			maps = board->maps;
		}
	}
	printf("%d deaths, %d failed; descriptors %d, then %d; mappings %d, "
	       "then %d\n",
	       count, failed, fds, board->fds, maps, board->maps);
	if (board->fds <= fds + 2 && board->maps <= maps + 1)
		return failed;
	printf("the survivor keeps what was the dead ones'\n");
	return failed + 1;
}

static int find_word(const char *const *words, int count, const char *word)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(words[i], word))
			return i;
	check(false, word);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0, unused;

	setvbuf(stdout, NULL, _IOLBF, 0);
	start_others();
	if (argc == 3) {
		printf("seed %s\n", argv[1]);
		failed = play_many(strtoull(argv[1], NULL, 10), atoi(argv[2]));
	} else if (argc == 7 && !strcmp(argv[1], "--one")) {
		struct scene s = {
		    .life = (enum life)find_word(life_names, LIVES, argv[2]),
		    .side = (enum side)find_word(side_names, SIDES, argv[3]),
		    .mode = (enum mode)find_word(mode_names, LATE + 1, argv[4]),
		    .point = {.at = atoi(argv[5]), .steps = atoi(argv[6])}};

		s.point.child = s.life == FORK_CHILD;
		failed = !play(&s, &unused);
		printf("%s\n", failed ? "failed" : "well");
	} else {
		return 2;
	}
	return failed != 0;
}
