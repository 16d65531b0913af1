/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_stream: a connection under stdio, and urgent data.
 */
/* Only what says so may reach the checked entry points. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int __dprintf_chk(int fd, int flag, const char *format, ...);

static FILE *streams[NAMES_MAX];

static FILE *stream_of(struct call *c)
{
	int index = name_index(c->argv[1]);
	FILE *f = index < 0 ? NULL : streams[index];

	if (!f)
		reply_bad(c, "stream");
	return f;
}

/* fdopen F FD MODE: the descriptor now belongs to the stream. */
static void run_fdopen(struct call *c)
{
	int fd = name_fd(c->argv[2]);
	FILE *f = fdopen(fd, c->argv[3]);

	reply_result(c, f ? 0 : -1);
	if (!f)
		return;
	if (call_has(c, "unbuffered"))
		setvbuf(f, NULL, _IONBF, 0);
	name_set(c->argv[1], fd);
	streams[name_index(c->argv[1])] = f;
}

/* fputs F TEXT: with fprintf and a newline. */
static void run_fputs(struct call *c)
{
	FILE *f = stream_of(c);

	if (f)
		reply_result(c, fprintf(f, "%s\n", c->argv[2]));
}

static void run_fflush(struct call *c)
{
	FILE *f = stream_of(c);

	if (f)
		reply_result(c, fflush(f));
}

/* fgets F */
static void run_fgets(struct call *c)
{
	FILE *f = stream_of(c);
	char line[256];

	if (!f)
		return;
	if (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		reply(c, " = %s", line);
	} else {
		reply(c, " = %s", feof(f) ? "end" : "error");
	}
}

/* fclose F NAME: NAME is the descriptor's own name. */
static void run_fclose(struct call *c)
{
	FILE *f = stream_of(c);

	if (!f)
		return;
	reply_result(c, fclose(f));
	streams[name_index(c->argv[1])] = NULL;
	name_closed(c->argv[1]);
	name_closed(c->argv[2]);
}

/* dprintf FD TEXT [checked] */
static void run_dprintf(struct call *c)
{
	int fd = name_fd(c->argv[1]);

	if (call_has(c, "checked"))
		reply_result(c, __dprintf_chk(fd, 1, "%s\n", c->argv[2]));
	else
		reply_result(c, dprintf(fd, "%s\n", c->argv[2]));
}

/* atmark FD: by sockatmark and by the ioctl it stands for. */
static void run_atmark(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	int mark = -1;

	reply_result(c, sockatmark(fd));
	reply_result(c, ioctl(fd, SIOCATMARK, &mark));
	reply(c, " %d", mark);
}

const struct operation stream_operations[] = {
    {"fdopen", 3, run_fdopen}, {"fputs", 2, run_fputs},
    {"fflush", 1, run_fflush}, {"fgets", 1, run_fgets},
    {"fclose", 2, run_fclose}, {"dprintf", 2, run_dprintf},
    {"atmark", 1, run_atmark}, {NULL, 0, NULL},
};
