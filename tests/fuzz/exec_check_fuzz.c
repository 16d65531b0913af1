/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * exec_check_fuzz: any bytes as a program that is about to be executed, as the
 * interpreters of a script, as /etc/ld.so.preload and as LD_PRELOAD.
 *
 * Input: what the program is (enum choice), then pieces, each with its length
 * in two bytes: the program, LD_PRELOAD, /etc/ld.so.preload, interpreters.
 *
 * Whatever they hold, every descriptor is closed again, and an environment
 * needs no more memory than was said.
 */
#include "smc_r/socket/exec_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/os/sys.h"

#define PIECES 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum choice {
	SETUID = 1,
	HAS_RUNDIR = 2,
	HAS_PRELOAD = 4,
	HAS_HEIR = 8,
	BY_DESCRIPTOR = 16,
	LIBRARY_GONE = 32,
};

enum piece {
	PROGRAM,
	PRELOAD_LIST,
	HOST_LIST,
	INTERPRETER, /* the first of them */
};

static struct piece_bytes {
	uint8_t *bytes;
	size_t size;
} pieces[PIECES];
static uint8_t choice;
static int open_count, next_interpreter;

static void must(int holds)
{
	if (!holds)
		abort();
}

/* ---- what stands in for the kernel: the descriptor is the piece ---- */

static long open_piece(const char *path)
{
	int piece = PROGRAM;

	if (strcmp(path, "/etc/ld.so.preload") == 0)
		piece = HOST_LIST;
	else if (strcmp(path, "program") != 0)
		piece = next_interpreter++;
	if (piece >= PIECES)
		return -ENOENT;
	open_count++;
	return piece;
}

static long read_piece(long fd, void *out, size_t n, size_t at)
{
	const struct piece_bytes *p = &pieces[fd];

	must(fd >= 0 && fd < PIECES);
	if ((int64_t)at < 0)
		return -EINVAL;
	if (at >= p->size)
		return 0;
	n = n < p->size - at ? n : p->size - at;
	memcpy(out, p->bytes + at, n);
	return (long)n;
}

static long call(long n, long a, long b, long c, long d)
{
	switch (n) {
	case SYS_openat:
		return open_piece((const char *)b);
	case SYS_fcntl:
		open_count++;
		return PROGRAM;
	case SYS_pread64:
		return read_piece(a, (void *)b, (size_t)c, (size_t)d);
	case SYS_newfstatat:
		*(struct stat *)c = (struct stat){
		    .st_mode = S_IFREG | (choice & SETUID ? S_ISUID : 0),
		    .st_uid = 1};
		return 0;
	case SYS_faccessat:
		return choice & LIBRARY_GONE ? -ENOENT : 0;
	default:
		return 0;
	}
}

static long stat_regular(struct stat *st)
{
	*st = (struct stat){.st_mode = S_IFREG};
	return 0;
}

/* The file under test is taken in whole, so that it executes these. */
#undef SYS_CALL3
#undef SYS_CALL4
#define SYS_CALL3(n, a, b, c) call(n, (long)(a), (long)(b), (long)(c), 0)
#define SYS_CALL4(n, a, b, c, d)                                               \
	call(n, (long)(a), (long)(b), (long)(c), (long)(d))
#define sys_close(fd)     ((void)(fd), open_count--)
#define sys_fstat(fd, st) stat_regular(st)
#define sys_geteuid()     0u
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "smc_r/socket/exec_check.c"

static void take_pieces(const uint8_t *data, size_t size)
{
	for (int i = 0; i < PIECES; i++) {
		size_t n = 0;

		if (size >= 2) {
			n = data[0] | (size_t)data[1] << 8;
			data += 2;
			size -= 2;
			n = n < size ? n : size;
		}
		pieces[i] = (struct piece_bytes){malloc(n + 1), n};
		must(pieces[i].bytes != NULL);
		memcpy(pieces[i].bytes, data, n);
		pieces[i].bytes[n] = '\0';
		data += n;
		size -= n;
	}
}

static void make_environments(char *const *env)
{
	size_t bytes = exec_check_environment_bytes(env);

	for (int words = EXEC_TOLD; words <= EXEC_WITHOUT_US; words++) {
		void *memory = malloc(bytes);
		char *const *out;

		must(memory != NULL);
		out =
		    exec_check_environment((enum exec_words)words, env, memory);
		if (words == EXEC_WITHOUT_US && entry_of(out, PRELOAD))
			must(!strstr(entry_of(out, PRELOAD),
				     ":/usr/lib/libsmc_r.so:"));
		free(memory);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char place[] = "SMC_R_RUNDIR=/run/x", heir[] = "SMC_R_HEIR=1";
	char *env[5] = {NULL};
	struct exec_image image = {
	    .dir = AT_FDCWD, .path = "program", .env = env};
	char *list;
	int n = 0;

	if (size == 0)
		return 0;
	choice = data[0];
	take_pieces(data + 1, size - 1);
	library = "/usr/lib/libsmc_r.so";
	name = "libsmc_r.so";
	rundir = choice & HAS_RUNDIR ? place : NULL;
	list = malloc(PRELOAD_BYTES + pieces[PRELOAD_LIST].size + 1);
	must(list != NULL);
	strcat(strcpy(list, PRELOAD), (char *)pieces[PRELOAD_LIST].bytes);
	if (choice & HAS_RUNDIR)
		env[n++] = place;
	if (choice & HAS_PRELOAD)
		env[n++] = list;
	if (choice & HAS_HEIR)
		env[n++] = heir;
	if (choice & BY_DESCRIPTOR)
		image.path = "";
	open_count = 0;
	next_interpreter = INTERPRETER;
	must(exec_check_engine(&image) <= EXEC_ASKED);
	next_interpreter = INTERPRETER;
	exec_check_is_misled(&image);
	make_environments(env);
	must(open_count == 0);
	free(list);
	for (int i = 0; i < PIECES; i++)
		free(pieces[i].bytes);
	return 0;
}
