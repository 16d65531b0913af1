/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * actor: a process under test. It reads one operation per line from a pipe,
 * carries it out on real descriptors and answers with one line.
 *
 * A task is a place to run operations: the main thread, a further thread, or
 * a forked child. Every task has its own pair of pipes, made by the director
 * before the actor started; a fork or a new thread only begins to use one.
 *
 * Ownership: a call lives on its task's stack; names belong to the process.
 * Locking:   the name table is locked inside; a task is used by its thread.
 */
#ifndef TESTS_ORACLE_ACTOR_H
#define TESTS_ORACLE_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "words.h"

#define ACTOR_TASKS     8    /* per actor */
#define ACTOR_PIPE_BASE 100  /* task t reads 100+2t and answers on 101+2t */
#define ACTOR_UNIX_FD   90   /* AF_UNIX pair between the two actors */
#define LINE_BYTES      4096 /* longest operation or answer */
#define CALL_ARGS       24
#define TASK_BYTES      (2u << 20) /* buffer of a task */
#define CANARY_BYTES    64

struct task {
	int index;
	int in, out;
	unsigned char *bytes; /* TASK_BYTES + CANARY_BYTES */
};

struct call {
	struct task *task;
	int argc;
	char *argv[CALL_ARGS];
	char reply[LINE_BYTES];
	size_t used;
	bool stop; /* the task ends after the answer */
};

struct operation {
	const char *name; /* NULL ends a table */
	int args_min;     /* without the name */
	void (*run)(struct call *c);
};

extern const struct operation socket_operations[];
extern const struct operation send_operations[];
extern const struct operation receive_operations[];
extern const struct operation ready_operations[];
extern const struct operation epoll_operations[];
extern const struct operation process_operations[];
extern const struct operation stream_operations[];
extern const struct operation odd_operations[];
extern const struct operation aio_operations[];
extern const struct operation refused_operations[];
extern const struct operation bad_operations[];

/* argv of an actor: the task to be, then name=fd for inherited descriptors. */
int actor_main(int argc, char **argv);

/* Reads operations until "quit" or the pipe ends. */
void task_loop(struct task *t);

/* Tells the director that this task now runs here. */
void task_hello(struct task *t);

/* A task's pipes by number. Memory comes from mmap. NULL: no memory. */
struct task *task_create(int index);

/* Descriptors by name. An unknown name is -1, a closed one keeps its number. */
#define NAME_LEN  12
#define NAMES_MAX 250
int name_fd(const char *name);
int name_index(const char *name);
const char *name_at(int index);
void name_set(const char *name, int fd);
/* The number stays known, for calls on a closed descriptor. */
void name_closed(const char *name);
/* Closes every named descriptor that is not in the list "a,b,c". */
void names_close_but(const char *list);
/* Forgets every name that is not in the list; nothing is closed. */
void names_keep(const char *list);
/* Fills argv with "name=fd" of the names in the list; returns how many. */
int names_arguments(const char *list, char **argv, int max);

void reply(struct call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* " = ret" and the name of errno if ret is negative. */
void reply_result(struct call *c, long ret);
/* What the director may see but the log must not hold. */
void reply_hidden(struct call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A script that cannot be carried out: an error of the script's writer. */
void reply_bad(struct call *c, const char *what);

/* Value of "key=..." in the arguments, or the given default. */
const char *call_text(const struct call *c, const char *key,
		      const char *otherwise);
long call_number(const struct call *c, const char *key, long otherwise);
/* The flag is given as a word of its own. */
bool call_has(const struct call *c, const char *word);
/* Bits of "key=a|b"; a wrong word makes the call bad and gives 0. */
unsigned call_bits(struct call *c, const char *key, const struct word *table);
/* Is "word" in the list "a,b,c"? */
bool list_has(const char *list, const char *word);

/* Milliseconds of the monotonic clock. */
int64_t now_ms(void);
void pause_ms(int ms);

/* SIGPIPEs delivered to this process since it was asked last. */
int pipe_signals(void);
void signals_install(void);

#define AWAIT_MS 10000

#endif
