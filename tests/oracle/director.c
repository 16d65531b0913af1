/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * director: starts the two actors, carries out a script step by step and
 * writes the log.
 */
#include "director.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "watch.h"

#define ACTORS       2
#define PREFIX_WORDS 16
#define PORTS_MAX    400
#define PATIENCE_MS  25000

struct lane {
	int to, from; /* -1: none */
	pid_t pid, tid;
	bool running; /* begun with "&", not yet joined */
	bool gone;
};

struct port {
	char name[16]; /* of the listener, or p1, p2 ... */
	unsigned number;
};

struct director {
	struct lane lanes[ACTORS][ACTOR_TASKS];
	pid_t actors[ACTORS];
	struct port ports[PORTS_MAX];
	int port_count;
	FILE *log;
};

static void say(struct director *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct director *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(d->log, format, args);
	va_end(args);
	fflush(d->log);
}

/* Both ends of every pipe of an actor; child keeps its own by number. */
static int pipes_make(struct lane *lanes, int (*child)[2])
{
	for (int i = 0; i < ACTOR_TASKS; i++) {
		int to[2], from[2];

		if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
			return -errno;
		lanes[i].to = to[1];
		lanes[i].from = from[0];
		child[i][0] = to[0];
		child[i][1] = from[1];
	}
	return 0;
}

static int prefix_words(const char *prefix, char **argv)
{
	char *rest = NULL;
	int count = 0;

	for (char *w = strtok_r(strdup(prefix), " ", &rest);
	     w && count < PREFIX_WORDS; w = strtok_r(NULL, " ", &rest))
		argv[count++] = w;
	return count;
}

/* Descriptors first move above all targets, so that none is overwritten. */
static void actor_exec(int (*child)[2], int pair, const char *prefix,
		       const char *program)
{
	char *argv[PREFIX_WORDS + 4];
	int count = prefix_words(prefix, argv);
	int top = ACTOR_PIPE_BASE + 2 * ACTOR_TASKS;

	pair = fcntl(pair, F_DUPFD_CLOEXEC, top);
	dup2(pair, ACTOR_UNIX_FD);
	for (int i = 0; i < ACTOR_TASKS; i++)
		for (int j = 0; j < 2; j++) {
			int fd = fcntl(child[i][j], F_DUPFD_CLOEXEC, top);

			dup2(fd, ACTOR_PIPE_BASE + 2 * i + j);
		}
	argv[count++] = strdup(program);
	argv[count++] = strdup("--actor");
	argv[count++] = strdup("0");
	argv[count] = NULL;
	execvp(argv[0], argv);
	fprintf(stderr, "oracle: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int actor_start(struct director *d, int which, int pair,
		       const char *prefix, const char *program)
{
	int child[ACTOR_TASKS][2];
	pid_t pid;

	if (pipes_make(d->lanes[which], child))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		actor_exec(child, pair, prefix, program);
	for (int i = 0; i < ACTOR_TASKS; i++) {
		close(child[i][0]);
		close(child[i][1]);
	}
	d->actors[which] = pid;
	return 0;
}

/* One line of an answer. 0, -ETIMEDOUT, or -EPIPE when the task is dead. */
static int lane_read(struct lane *l, char *line, size_t size, int patience_ms)
{
	size_t used = 0;
	int64_t end = now_ms() + patience_ms;

	while (used + 1 < size) {
		struct pollfd p = {l->from, POLLIN, 0};
		int left = (int)(end - now_ms());
		int ready = poll(&p, 1, left > 0 ? left : 0);

		if (ready < 0 && errno == EINTR)
			continue;
		if (!ready)
			return -ETIMEDOUT;
		if (read(l->from, line + used, 1) != 1)
			return -EPIPE;
		if (line[used] == '\n')
			break;
		used++;
	}
	line[used] = 0;
	return 0;
}

static const char *hidden(const char *line, const char *key)
{
	const char *at = strchr(line, '\t');

	while (at) {
		if (!strncmp(at + 1, key, strlen(key)) &&
		    at[1 + strlen(key)] == '=')
			return at + 2 + strlen(key);
		at = strchr(at + 1, '\t');
	}
	return NULL;
}

static int lane_hello(struct lane *l)
{
	char line[LINE_BYTES];
	int ret = lane_read(l, line, sizeof(line), PATIENCE_MS);

	if (ret)
		return ret;
	if (strncmp(line, "hello", 5))
		return -EPROTO;
	l->pid = (pid_t)strtol(hidden(line, "pid"), NULL, 10);
	l->tid = (pid_t)strtol(hidden(line, "tid"), NULL, 10);
	l->gone = l->running = false;
	return 0;
}

struct director *director_open(const char *program, const char *const *prefix,
			       FILE *log)
{
	struct director *d = calloc(1, sizeof(*d));
	int pair[2], ret = 0;

	if (!d)
		return NULL;
	d->log = log;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		free(d);
		return NULL;
	}
	for (int i = 0; i < ACTORS && !ret; i++)
		ret = actor_start(d, i, pair[i], prefix[i], program);
	close(pair[0]);
	close(pair[1]);
	for (int i = 0; i < ACTORS && !ret; i++)
		ret = lane_hello(&d->lanes[i][0]);
	if (!ret)
		return d;
	fprintf(stderr, "oracle: an actor did not start: %s\n", strerror(-ret));
	director_close(d);
	return NULL;
}

static struct lane *lane_find(struct director *d, const char *word)
{
	int actor = word[0] - 'A', task = word[1] - '0';

	if (actor < 0 || actor >= ACTORS || task < 0 || task >= ACTOR_TASKS)
		return NULL;
	return &d->lanes[actor][task];
}

static unsigned port_of(struct director *d, const char *name)
{
	for (int i = 0; i < d->port_count; i++)
		if (!strcmp(d->ports[i].name, name))
			return d->ports[i].number;
	return 1;
}

static const char *port_symbol(struct director *d, unsigned number)
{
	static char spare[] = "many";
	struct port *p;

	if (!number)
		return "0";
	for (int i = d->port_count - 1; i >= 0; i--)
		if (d->ports[i].number == number)
			return d->ports[i].name;
	if (d->port_count == PORTS_MAX)
		return spare;
	p = &d->ports[d->port_count++];
	p->number = number;
	snprintf(p->name, sizeof(p->name), "p%d", d->port_count);
	return p->name;
}

static void port_learn(struct director *d, const char *name, unsigned number)
{
	struct port *p = d->ports;

	while (p < d->ports + d->port_count && strcmp(p->name, name))
		p++;
	if (p == d->ports + PORTS_MAX)
		return;
	if (p == d->ports + d->port_count)
		d->port_count++;
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->number = number;
}

/* The answer without what is hidden, with symbols for ports, and behind a tab
 * the time that it was waited for. */
static void say_answer(struct director *d, const char *line, int64_t ms)
{
	while (*line && *line != '\t') {
		if (!strncmp(line, "port:", 5)) {
			char *end;
			unsigned number = (unsigned)strtoul(line + 5, &end, 10);

			say(d, "port:%s", port_symbol(d, number));
			line = end;
			continue;
		}
		say(d, "%c", *line++);
	}
	say(d, "\t%lld\n", (long long)ms);
}

/* @NAME becomes a port; @filled is the size of the last fill. */
static void substitute(struct director *d, const char *from, char *to,
		       size_t size)
{
	char name[NAME_LEN];
	size_t used = 0;

	while (*from && used + 16 < size) {
		size_t len = 0;

		if (*from != '@') {
			to[used++] = *from++;
			continue;
		}
		from++;
		while (isalnum((unsigned char)*from) && len + 1 < sizeof(name))
			name[len++] = *from++;
		name[len] = 0;
		used += (size_t)snprintf(to + used, size - used, "%u",
					 port_of(d, name));
	}
	to[used] = 0;
}

static int lane_write(struct lane *l, const char *text)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	return write(l->to, line, (size_t)n) == n ? 0 : -EPIPE;
}

/* What an answer changes here: a listener's port, a fill's size. */
static void learn(struct director *d, const char *operation, const char *answer)
{
	char verb[32] = "", name[NAME_LEN] = "";
	const char *value;

	sscanf(operation, "%31s %11s", verb, name);
	value = hidden(answer, "port");
	if (value)
		port_learn(d, name, (unsigned)strtoul(value, NULL, 10));
	value = hidden(answer, "size");
	if (value)
		port_learn(d, "filled", (unsigned)strtoul(value, NULL, 10));
}

static int lane_join(struct director *d, struct lane *l, const char *operation)
{
	char answer[LINE_BYTES];
	int64_t begun = now_ms();
	int ret = lane_read(l, answer, sizeof(answer), PATIENCE_MS);

	l->running = false;
	if (ret) {
		say(d, " NO ANSWER: %s\n", strerror(-ret));
		return -1;
	}
	learn(d, operation, answer);
	say_answer(d, answer, now_ms() - begun);
	return strstr(answer, "BAD SCRIPT") ? -1 : 0;
}

/* A fork or a thread: the new task says hello on its own pipe. */
static int birth(struct director *d, const char *task, const char *operation)
{
	char verb[16] = "", index[8] = "";
	char word[3] = {task[0], 0, 0};
	struct lane *l;
	int ret;

	sscanf(operation, "%15s %7s", verb, index);
	if (strcmp(verb, "fork") && strcmp(verb, "thread"))
		return 0;
	word[1] = index[0];
	l = lane_find(d, word);
	ret = l ? lane_hello(l) : -EINVAL;
	if (ret)
		say(d, "%s did not start: %s\n", word, strerror(-ret));
	return ret ? -1 : 0;
}

static int step_operation(struct director *d, const char *line)
{
	char text[LINE_BYTES];
	struct lane *l = lane_find(d, line);
	const char *operation = line + 3 + (line[2] == '&');

	if (!l || (line[2] != ' ' && line[2] != '&')) {
		say(d, "BAD SCRIPT: no such task\n");
		return -1;
	}
	substitute(d, operation, text, sizeof(text));
	if (lane_write(l, text)) {
		say(d, "%s NO TASK\n", line);
		return -1;
	}
	if (line[2] == '&') {
		l->running = true;
		say(d, "%s\n", line);
		return birth(d, line, operation);
	}
	say(d, "%s", line);
	if (lane_join(d, l, operation))
		return -1;
	return birth(d, line, operation);
}

static bool answered(const struct lane *l, int ms)
{
	struct pollfd p = {l->from, POLLIN, 0};

	return poll(&p, 1, ms) == 1;
}

/* Asleep, and not moved in several looks: then it waits for somebody else. */
static bool lane_blocked(const struct lane *l)
{
	unsigned long before = 0, now = 0;
	int64_t end = now_ms() + 5000;
	int same = 0;

	while (now_ms() < end && same < 4) {
		if (answered(l, 4))
			return false;
		if (thread_asleep(l->tid, &now) && now == before)
			same++;
		else
			same = 0;
		before = now;
	}
	return same >= 4;
}

static int step_blocked(struct director *d, const char *line)
{
	struct lane *l = lane_find(d, line + 8);

	if (!l)
		return -1;
	say(d, "%s = %s\n", line, lane_blocked(l) ? "yes" : "NO");
	return 0;
}

static int step_signal(struct director *d, const char *line, bool repeat)
{
	char task[8] = "", name[16] = "";
	struct lane *l;
	unsigned number;
	int64_t end = now_ms() + PATIENCE_MS / 2;

	sscanf(line, "%*s %7s %15s", task, name);
	l = lane_find(d, task);
	if (!l || !words_parse(signal_words, name, &number)) {
		say(d, "BAD SCRIPT: %s\n", line);
		return -1;
	}
	do
		syscall(SYS_tgkill, l->pid, l->tid, number);
	while (repeat && !answered(l, 20) && now_ms() < end);
	say(d, "%s%s", line, repeat ? "" : "\n");
	return repeat ? lane_join(d, l, "") : 0;
}

/* One that goes on too early would not have been stopped. */
static int await_stop(const struct lane *l, int64_t end)
{
	while (!process_stopped(l->pid) && now_ms() < end)
		pause_ms(2);
	return process_stopped(l->pid) ? 0 : -1;
}

/* kill waits for the death; descriptors are then closed by the kernel. */
static int step_kill(struct director *d, const char *line)
{
	char task[8] = "", name[16] = "";
	struct lane *l;
	unsigned number;
	int64_t end = now_ms() + 5000;

	sscanf(line, "%*s %7s %15s", task, name);
	l = lane_find(d, task);
	if (!l || !words_parse(signal_words, name, &number)) {
		say(d, "BAD SCRIPT: %s\n", line);
		return -1;
	}
	kill(l->pid, (int)number);
	say(d, "%s\n", line);
	if (number == SIGSTOP)
		return await_stop(l, end);
	if (number != SIGKILL && number != SIGTERM)
		return 0;
	while (!process_gone(l->pid) && now_ms() < end)
		pause_ms(2);
	l->gone = process_gone(l->pid);
	return l->gone ? 0 : -1;
}

int director_step(struct director *d, const char *line)
{
	struct lane *l;

	if (!*line || *line == '#')
		return 0;
	if (!strncmp(line, "blocked ", 8))
		return step_blocked(d, line);
	if (!strncmp(line, "signal ", 7))
		return step_signal(d, line, false);
	if (!strncmp(line, "interrupt ", 10))
		return step_signal(d, line, true);
	if (!strncmp(line, "kill ", 5))
		return step_kill(d, line);
	if (strlen(line) == 3 && line[2] == '=') {
		l = lane_find(d, line);
		if (!l)
			return -1;
		say(d, "%s", line);
		return lane_join(d, l, "");
	}
	if (strlen(line) < 4) {
		say(d, "BAD SCRIPT: %s\n", line);
		return -1;
	}
	return step_operation(d, line);
}

/* A killed actor may leave children: they end when their pipes do. */
void director_close(struct director *d)
{
	int64_t end = now_ms() + 3000;

	for (int i = 0; i < ACTORS; i++)
		for (int j = 0; j < ACTOR_TASKS; j++) {
			if (d->lanes[i][j].to > 0)
				close(d->lanes[i][j].to);
			if (d->lanes[i][j].from > 0)
				close(d->lanes[i][j].from);
		}
	for (int i = 0; i < ACTORS; i++) {
		pid_t pid = d->actors[i];

		if (pid <= 0)
			continue;
		while (waitpid(pid, NULL, WNOHANG) == 0) {
			if (now_ms() > end)
				kill(pid, SIGKILL);
			pause_ms(1);
		}
	}
	free(d);
}
