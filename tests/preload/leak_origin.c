/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* leak_origin: which function made the system call in which a thread is
 * held. */
#include "leak_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define LIBRARY      "libsmc_r.so"
#define LIBC         "libc.so"
#define PICTURES     16
#define MAPS_MAX     256
#define STACK_WORDS  32 /* a wrapper of the C library has a small frame */
#define FUNCTION_MAX 2048

struct mapping {
	uint64_t start, end, offset;
	char name[64];
};

/* Executable mappings of a thread's process. */
struct picture {
	pid_t tid;
	int count;
	struct mapping maps[MAPS_MAX];
};

/* The threads that were asked for last; now is the one in question. */
static struct picture pictures[PICTURES];
static struct picture *now = pictures;

bool memory_read(pid_t tid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void maps_read(pid_t tid)
{
	char path[64], line[512];
	FILE *f;

	now->tid = tid;
	now->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && now->count < MAPS_MAX) {
		struct mapping *m = &now->maps[now->count];
		char flags[8] = "", file[400] = "";
		const char *base;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %399s", &m->start,
			   &m->end, flags, &m->offset, file) < 4 ||
		    flags[2] != 'x')
			continue;
		base = strrchr(file, '/');
		snprintf(m->name, sizeof(m->name), "%s",
			 base ? base + 1 : file);
		now->count++;
	}
	if (f)
		fclose(f);
}

static const struct mapping *mapping_of(uint64_t address)
{
	for (int i = 0; i < now->count; i++)
		if (address >= now->maps[i].start && address < now->maps[i].end)
			return &now->maps[i];
	return NULL;
}

static uint64_t stack_pointer(pid_t tid)
{
	char path[64], text[256], *last;
	uint64_t sp = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f)) {
		last = strrchr(text, ' ');
		if (last) {
			*last = 0;
			last = strrchr(text, ' ');
		}
		sp = last ? strtoul(last + 1, NULL, 16) : 0;
	}
	if (f)
		fclose(f);
	return sp;
}

/* Does a call instruction end here? Then it is a place to return to. The C
 * library calls its own wrappers directly; what else lies in their frames is
 * left from calls before, as that of the clock in the vDSO. */
static bool follows_call(pid_t tid, uint64_t address)
{
	const struct mapping *m = mapping_of(address);
	unsigned char code[7];

	if (!memory_read(tid, address - sizeof(code), code, sizeof(code)))
		return false;
	if (code[2] == 0xe8)
		return true;
	if (strncmp(m->name, LIBC, strlen(LIBC)) == 0)
		return false;
	/* Indirect calls of 2, 3, 4, 6 and 7 bytes: ff /2. */
	for (int at = 0; at <= 5; at++)
		if (code[at] == 0xff && (code[at + 1] & 0x38) == 0x10)
			return true;
	return false;
}

static bool in_library(uint64_t address)
{
	const struct mapping *m = mapping_of(address);

	return m && !strcmp(m->name, LIBRARY);
}

/* Where the program's call that ends at `back` led: directly, by a stub that
 * jumps through a table of addresses, or through that table itself. */
static uint64_t call_target(pid_t tid, uint64_t back)
{
	unsigned char code[6], stub[12];
	uint64_t target = 0;
	int32_t away;
	size_t at = 0;

	if (!memory_read(tid, back - sizeof(code), code, sizeof(code)))
		return 0;
	memcpy(&away, code + 2, sizeof(away));
	back += (uint64_t)(int64_t)away;
	if (code[0] != 0xff || code[1] != 0x15) {
		if (code[1] != 0xe8 || !memory_read(tid, back, stub, 12))
			return 0;
		/* endbr64, and a prefix of the jump. */
		at += stub[at] == 0xf3 ? 4 : 0;
		at += stub[at] == 0xf2 ? 1 : 0;
		if (stub[at] != 0xff || stub[at + 1] != 0x25)
			return back;
		memcpy(&away, stub + at + 2, sizeof(away));
		back += at + 6 + (uint64_t)(int64_t)away;
	}
	memory_read(tid, back, &target, sizeof(target));
	return target;
}

/* Can the call that ends at `back` have led to this instruction? What called
 * something else was on the stack before. Of many it is not known. */
static bool leads_to(pid_t tid, uint64_t back, uint64_t instruction)
{
	uint64_t target = call_target(tid, back);

	return !target || in_library(target) ||
	       (target <= instruction && instruction - target < FUNCTION_MAX);
}

/* The first address on the stack that code will return to. */
static uint64_t caller(pid_t tid, uint64_t instruction)
{
	uint64_t words[STACK_WORDS], sp = stack_pointer(tid);

	if (!sp || !memory_read(tid, sp, words, sizeof(words)))
		return 0;
	for (int i = 0; i < STACK_WORDS; i++)
		if (mapping_of(words[i]) && follows_call(tid, words[i]) &&
		    leads_to(tid, words[i], instruction))
			return words[i];
	return 0;
}

static void describe(char *text, size_t size, uint64_t address)
{
	const struct mapping *m = mapping_of(address);

	if (m)
		snprintf(text, size, "%s+0x%lx", m->name,
			 address - m->start + m->offset);
	else
		snprintf(text, size, "0x%lx", address);
}

/* Images and libraries change; a stale picture would not know the place. */
static void picture_choose(pid_t tid, uint64_t instruction)
{
	static unsigned next;
	struct picture *p = pictures;

	while (p < pictures + PICTURES && p->tid != tid)
		p++;
	if (p == pictures + PICTURES)
		p = &pictures[next++ % PICTURES];
	now = p;
	if (now->tid != tid || !mapping_of(instruction))
		maps_read(tid);
}

void origin_find(struct origin *o, pid_t tid, uint64_t instruction)
{
	char self[100], from[100];
	uint64_t back;

	picture_choose(tid, instruction);
	back = caller(tid, instruction);
	/* What the library leaves to the kernel, as it is refused there or
	 * moves no byte, it calls by a jump: that leaves no address of its own.
	 */
	o->is_library = in_library(instruction) || in_library(back) ||
			in_library(call_target(tid, back));
	describe(self, sizeof(self), instruction);
	describe(from, sizeof(from), back);
	snprintf(o->text, sizeof(o->text), "%s, called by %s", self, from);
}
