/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_memory: whether memory that a program registers is there, and may be
 * written where that is asked.
 *
 * The kernel finds that out when it pins the pages. The core reads and writes
 * by /proc/PID/mem, which passes over the protection of pages, and does not
 * look through the mappings of a program: there may be many.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A question about one mapping (Linux 6.11); Debian 12's headers lack it. */
struct mapping_query {
	uint64_t size;
	uint64_t flags;
	uint64_t address; /* that it covers */
	uint64_t begin;
	uint64_t end;
	uint64_t unused[8];
};
_Static_assert(sizeof(struct mapping_query) == 104, "the kernel's layout");

#define MAPPING_QUERY    _IOWR('f', 17, struct mapping_query)
#define MAPPING_READABLE 1
#define MAPPING_WRITABLE 2

/* Whether it is there; -errno where the kernel does not know the question. */
static int ask(int fd, uint64_t begin, uint64_t end, bool is_written)
{
	while (begin < end) {
		struct mapping_query q = {
		    .size = sizeof(q),
		    .flags = is_written ? MAPPING_WRITABLE : MAPPING_READABLE,
		    .address = begin};

		if (SHIM_NEXT(ioctl)(fd, MAPPING_QUERY, &q) < 0)
			return errno == ENOENT ? 0 : -errno;
		begin = q.end;
	}
	return 1;
}

/* What is left to read of /proc/self/maps. */
struct maps {
	int fd;
	size_t at;
	size_t end;
	char text[4096];
};

/* '\n' at the end, too. */
static char next_character(struct maps *m)
{
	if (m->at == m->end) {
		ssize_t n = SHIM_NEXT(read)(m->fd, m->text, sizeof(m->text));

		m->at = 0;
		m->end = n > 0 ? (size_t)n : 0;
	}
	return m->at < m->end ? m->text[m->at++] : '\n';
}

/* A number of base 16, and the character behind it. */
static uint64_t next_number(struct maps *m)
{
	uint64_t v = 0;
	char c;

	for (;;) {
		c = next_character(m);
		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* A line is "begin-end rwxp ..."; they come in the order of addresses. */
static bool is_mapped(struct maps *m, uint64_t begin, uint64_t end,
		      bool is_written)
{
	while (begin < end) {
		uint64_t first = next_number(m);
		uint64_t last = next_number(m);
		bool is_readable = next_character(m) == 'r';
		bool is_writable = next_character(m) == 'w';

		if (!last)
			return false;
		while (next_character(m) != '\n')
			continue;
		if (last <= begin)
			continue;
		if (first > begin || !(is_written ? is_writable : is_readable))
			return false;
		begin = last;
	}
	return true;
}

bool shim_memory_is_there(uint64_t begin, uint64_t bytes, bool is_written)
{
	struct maps m = {.at = 0};
	int error = errno;
	int is_there = 1;

	m.fd = SHIM_NEXT(open)("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (m.fd >= 0) {
		is_there = ask(m.fd, begin, begin + bytes, is_written);
		if (is_there < 0)
			is_there =
			    is_mapped(&m, begin, begin + bytes, is_written);
		SHIM_NEXT(close)(m.fd);
	}
	errno = error;
	return is_there;
}
