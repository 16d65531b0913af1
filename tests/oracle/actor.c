/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * actor: the loop of a task and the dispatch of operations.
 */
#include "actor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const struct operation *const tables[] = {
    socket_operations, send_operations,    receive_operations, ready_operations,
    epoll_operations,  process_operations, stream_operations,  odd_operations,
    aio_operations,    refused_operations, bad_operations,
};

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void pause_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void add(struct call *c, const char *format, va_list args)
{
	size_t room = sizeof(c->reply) - c->used;
	int n = vsnprintf(c->reply + c->used, room, format, args);

	if (n > 0)
		c->used += (size_t)n < room ? (size_t)n : room - 1;
}

void reply(struct call *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(c, format, args);
	va_end(args);
}

void reply_hidden(struct call *c, const char *format, ...)
{
	va_list args;

	reply(c, "\t");
	va_start(args, format);
	add(c, format, args);
	va_end(args);
}

void reply_result(struct call *c, long ret)
{
	int error = errno;
	const char *name = strerrorname_np(error);

	reply(c, " = %ld", ret);
	if (ret < 0)
		reply(c, " %s", name ? name : "unknown");
	errno = error;
}

void reply_bad(struct call *c, const char *what)
{
	reply(c, " BAD SCRIPT: %s", what);
}

const char *call_text(const struct call *c, const char *key,
		      const char *otherwise)
{
	size_t len = strlen(key);

	for (int i = 1; i < c->argc; i++)
		if (!strncmp(c->argv[i], key, len) && c->argv[i][len] == '=')
			return c->argv[i] + len + 1;
	return otherwise;
}

long call_number(const struct call *c, const char *key, long otherwise)
{
	const char *text = call_text(c, key, NULL);

	return text ? strtol(text, NULL, 0) : otherwise;
}

bool call_has(const struct call *c, const char *word)
{
	for (int i = 1; i < c->argc; i++)
		if (!strcmp(c->argv[i], word))
			return true;
	return false;
}

unsigned call_bits(struct call *c, const char *key, const struct word *table)
{
	unsigned bits = 0;

	if (!words_parse(table, call_text(c, key, "-"), &bits))
		reply_bad(c, key);
	return bits;
}

bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p;) {
		size_t part = strcspn(p, ",");

		if (part == len && !strncmp(p, word, len))
			return true;
		p += part;
		if (*p)
			p++;
	}
	return false;
}

struct task *task_create(int index)
{
	struct task *t;
	size_t size = sizeof(*t) + TASK_BYTES + CANARY_BYTES;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	t = memory;
	t->index = index;
	t->in = ACTOR_PIPE_BASE + 2 * index;
	t->out = t->in + 1;
	t->bytes = (unsigned char *)memory + sizeof(*t);
	return t;
}

static void task_write(const struct task *t, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(t->out, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(3);
		text += n;
		len -= (size_t)n;
	}
}

void task_hello(struct task *t)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "hello\tpid=%ld\ttid=%ld\n",
			 (long)getpid(), (long)syscall(SYS_gettid));

	task_write(t, line, (size_t)n);
}

/* One line without its newline; false at the end of the pipe. */
static bool task_read(const struct task *t, char *line, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		ssize_t n = read(t->in, line + used, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (line[used] == '\n')
			break;
		used++;
	}
	line[used] = 0;
	return true;
}

static const struct operation *operation_find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct operation *o = tables[i]; o->name; o++)
			if (!strcmp(o->name, name))
				return o;
	return NULL;
}

static void task_run(struct call *c, char *line)
{
	const struct operation *o;
	char *rest = NULL;

	c->argc = 0;
	for (char *w = strtok_r(line, " ", &rest); w && c->argc < CALL_ARGS;
	     w = strtok_r(NULL, " ", &rest))
		c->argv[c->argc++] = w;
	if (!c->argc) {
		reply_bad(c, "empty line");
		return;
	}
	o = operation_find(c->argv[0]);
	if (!o)
		reply_bad(c, "no such operation");
	else if (c->argc - 1 < o->args_min)
		reply_bad(c, "too few arguments");
	else
		o->run(c);
}

void task_loop(struct task *t)
{
	char line[LINE_BYTES];
	struct call c;

	while (task_read(t, line, sizeof(line))) {
		if (!strcmp(line, "quit"))
			return;
		memset(&c, 0, sizeof(c));
		c.task = t;
		task_run(&c, line);
		reply(&c, "\n");
		task_write(t, c.reply, c.used);
		if (c.stop)
			return;
	}
}

int actor_main(int argc, char **argv)
{
	struct task *t;

	if (argc < 1)
		return 2;
	t = task_create(atoi(argv[0]));
	if (!t)
		return 2;
	signals_install();
	name_set("u0", ACTOR_UNIX_FD);
	for (int i = 1; i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			return 2;
		*equals = 0;
		name_set(argv[i], atoi(equals + 1));
	}
	task_hello(t);
	task_loop(t);
	return 0;
}
