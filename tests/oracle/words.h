/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * words: the names that scripts and logs use for flags and constants.
 */
#ifndef TESTS_ORACLE_WORDS_H
#define TESTS_ORACLE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
	const char *name; /* NULL ends a table */
	unsigned value;
};

extern const struct word message_words[];  /* MSG_* */
extern const struct word poll_words[];     /* POLL* */
extern const struct word epoll_words[];    /* EPOLL* */
extern const struct word shutdown_words[]; /* SHUT_* */
extern const struct word signal_words[];   /* SIG* */
extern const struct word state_words[];    /* TCP_ESTABLISHED ... */

/* "a|b" to bits; "-" is 0. False when a name is not in the table. */
bool words_parse(const struct word *table, const char *text, unsigned *bits);

/* Bits to "a|b", "-" for none; what has no name is printed in hex. */
void words_print(const struct word *table, unsigned bits, char *out,
		 size_t size);

/* The name of exactly this value, or "other". */
const char *word_name(const struct word *table, unsigned value);

/*
 * The byte that belongs at this offset of this pattern: a reader that gets
 * bytes of another offset or of another pattern has another sum.
 */
void pattern_fill(unsigned char *bytes, size_t size, uint32_t pattern,
		  size_t offset);

#define SUM_START 2166136261u /* FNV-1a */
uint32_t sum_bytes(uint32_t sum, const void *bytes, size_t size);

#endif
