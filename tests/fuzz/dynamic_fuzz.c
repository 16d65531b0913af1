/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dynamic_fuzz: any names, symbols and tables as those of a library that the
 * loader has accepted: what points into it points into it, and each chain of
 * its hash table ends. What is found has the name that was looked for; where
 * the table is right (enum choice), nothing that is there is missed.
 *
 * Input: struct shape, what is looked for, the names; then, if the table is not
 * made, its words.
 */
#include "smc_r/os/engines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_MAX 12 /* the first is undefined, as in every library */
#define BUCKETS_MAX 4
#define WORDS_MAX   4 /* of the Bloom filter; 0 or a power of two */
#define NAME_BYTES  12
#define NAMES_BYTES 64
#define SONAME_AT   NAMES_BYTES /* behind the names that strangers chose */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file under test is taken in whole, as the list of libraries is the
 * loader's. */
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "smc_r/os/engines.c"

enum choice {
	RIGHT = 1,    /* the hash table is made */
	RELATIVE = 2, /* addresses are as the file says */
	VERSIONS = 4,
	HAS_SONAME = 8,
	IS_ENGINE = 16,
	NO_HASH = 32,
};

struct shape {
	uint8_t choice;
	uint8_t symbols;
	uint8_t buckets;
	uint8_t words; /* its logarithm, or 0 for none */
	uint8_t shift;
	struct {
		uint8_t name;    /* its place */
		uint8_t defined; /* the section */
		uint8_t version;
	} symbol[SYMBOLS_MAX];
};

/* A library in memory. */
struct library {
	ElfW(Dyn) entries[8];
	ElfW(Sym) symbols[SYMBOLS_MAX];
	ElfW(Versym) versions[SYMBOLS_MAX];
	struct {
		uint32_t head[4];
		uint32_t rest[2 * WORDS_MAX + BUCKETS_MAX + SYMBOLS_MAX];
	} hash __attribute__((aligned(8)));
	char names[NAMES_BYTES + sizeof(SONAME)];
};

struct reader {
	const uint8_t *at;
	size_t left;
};

static void must(int holds)
{
	if (!holds)
		abort();
}

static void take(struct reader *r, void *out, size_t n)
{
	size_t there = n < r->left ? n : r->left;

	memset(out, 0, n);
	memcpy(out, r->at, there);
	r->at += there;
	r->left -= there;
}

static const char *name_of(const struct library *m, unsigned i)
{
	return m->names + m->symbols[i].st_name;
}

/* ---- making it ---- */

static void make_symbols(struct library *m, const struct shape *s,
			 unsigned count)
{
	for (unsigned i = 1; i < count; i++) {
		m->symbols[i].st_name = s->symbol[i].name % NAMES_BYTES;
		m->symbols[i].st_shndx = s->symbol[i].defined % 3;
		m->symbols[i].st_value = i;
		m->versions[i] = (ElfW(Versym))(s->symbol[i].version << 8);
	}
}

static void swap(struct library *m, unsigned i, unsigned k)
{
	ElfW(Sym) symbol = m->symbols[i];
	ElfW(Versym) version = m->versions[i];

	m->symbols[i] = m->symbols[k];
	m->symbols[k] = symbol;
	m->versions[i] = m->versions[k];
	m->versions[k] = version;
}

static uint32_t bucket_of(const struct library *m, unsigned i, uint32_t buckets)
{
	return dynamic_hash(name_of(m, i)) % buckets;
}

/* Symbols of a bucket stand beside each other. */
static void sort(struct library *m, unsigned count, uint32_t buckets)
{
	for (unsigned i = 1; i < count; i++)
		for (unsigned k = i + 1; k < count; k++)
			if (bucket_of(m, k, buckets) < bucket_of(m, i, buckets))
				swap(m, i, k);
}

static void make_right(struct library *m, unsigned count)
{
	uint32_t buckets = m->hash.head[0], words = m->hash.head[2];
	uint32_t *bucket = m->hash.rest + 2 * words, *chain = bucket + buckets;
	uint64_t *bloom = (uint64_t *)(void *)m->hash.rest;

	memset(m->hash.rest, 0, sizeof(m->hash.rest));
	sort(m, count, buckets);
	for (unsigned i = 1; i < count; i++) {
		uint32_t h = dynamic_hash(name_of(m, i));
		uint32_t b = h % buckets;

		bloom[h / 64 % words] |=
		    UINT64_C(1) << h % 64 | UINT64_C(1)
						<< (h >> m->hash.head[3]) % 64;
		if (!bucket[b])
			bucket[b] = i;
		chain[i - 1] = (h & ~1u) | (i + 1 == count ||
					    bucket_of(m, i + 1, buckets) != b);
	}
}

static void make_wild(struct library *m, struct reader *r, unsigned count)
{
	uint32_t buckets = m->hash.head[0], words = m->hash.head[2];
	uint32_t *bucket = m->hash.rest + 2 * words;

	take(r, m->hash.rest, sizeof(m->hash.rest));
	for (uint32_t i = 0; i < buckets; i++)
		bucket[i] %= count;
	if (count > 1)
		bucket[buckets + count - 2] |= 1;
}

static uint64_t place(const struct library *m, const void *at, uint8_t choice)
{
	return choice & RELATIVE
		   ? (uint64_t)((const char *)at - (const char *)m)
		   : (uintptr_t)at;
}

static void make_entries(struct library *m, const struct shape *s)
{
	uint64_t soname = s->choice & IS_ENGINE ? SONAME_AT : 0;
	ElfW(Dyn) *d = m->entries;

	if (s->choice & HAS_SONAME)
		*d++ = (ElfW(Dyn)){DT_SONAME, {soname}};
	*d++ = (ElfW(Dyn)){DT_STRTAB, {place(m, m->names, s->choice)}};
	*d++ = (ElfW(Dyn)){DT_SYMTAB, {place(m, m->symbols, s->choice)}};
	if (!(s->choice & NO_HASH))
		*d++ =
		    (ElfW(Dyn)){DT_GNU_HASH, {place(m, &m->hash, s->choice)}};
	if (s->choice & VERSIONS)
		*d++ =
		    (ElfW(Dyn)){DT_VERSYM, {place(m, m->versions, s->choice)}};
	*d = (ElfW(Dyn)){DT_NULL, {0}};
}

static unsigned make(struct library *m, const struct shape *s, struct reader *r)
{
	unsigned count = 1 + s->symbols % SYMBOLS_MAX;
	bool is_right = s->choice & RIGHT;

	count = count > SYMBOLS_MAX ? SYMBOLS_MAX : count;
	memset(m, 0, sizeof(*m));
	take(r, m->names, NAMES_BYTES - 1);
	memcpy(m->names + SONAME_AT, SONAME, sizeof(SONAME));
	make_symbols(m, s, count);
	m->hash.head[0] = s->buckets % (BUCKETS_MAX + 1);
	m->hash.head[1] = 1;
	m->hash.head[2] = s->words % 4 ? 1u << (s->words % 4 - 1) : 0;
	m->hash.head[3] = s->shift % 32;
	is_right = is_right && m->hash.head[0] && m->hash.head[2];
	if (is_right)
		make_right(m, count);
	else
		make_wild(m, r, count);
	make_entries(m, s);
	return is_right ? count : 0;
}

/* ---- looking ---- */

static bool is_default(const struct library *m, const struct shape *s,
		       unsigned i, const char *name)
{
	return m->symbols[i].st_shndx != SHN_UNDEF &&
	       !((s->choice & VERSIONS) && (m->versions[i] & 0x8000)) &&
	       strcmp(name_of(m, i), name) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct link_map libraries[2] = {{.l_next = &libraries[1]}, {0}};
	struct reader r = {data, size};
	char name[NAME_BYTES] = "";
	bool is_there = false;
	struct library m;
	struct shape s;
	unsigned count;
	const char *found;

	take(&r, &s, sizeof(s));
	take(&r, name, sizeof(name) - 1);
	count = make(&m, &s, &r);
	libraries[1].l_addr = (uintptr_t)&m;
	libraries[1].l_ld = m.entries;
	found = find_behind(libraries, name);
	if (found) {
		size_t value = (size_t)(found - (const char *)&m);

		for (unsigned i = 1; i < SYMBOLS_MAX; i++)
			is_there |= m.symbols[i].st_value == value &&
				    is_default(&m, &s, i, name);
		must(is_there && !(s.choice & NO_HASH));
	}
	if ((s.choice & HAS_SONAME) && (s.choice & IS_ENGINE))
		must(!found && is_engine((uintptr_t)&m, m.entries));
	else if (!(s.choice & NO_HASH))
		for (unsigned i = 1; i < count; i++)
			must(found || !is_default(&m, &s, i, name));
	return 0;
}
