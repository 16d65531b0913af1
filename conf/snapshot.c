/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot: the settings of smc_r0 as engines see them. */
#include "snapshot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FORMAT_VERSION "smc_r0 version 1"

/* What is left of the text; one mistake makes the whole of it bad. */
struct reader {
	const char *next, *end;
	bool bad;
};

struct writer {
	char *next;
	size_t room;
	bool full;
};

/* Takes the exact bytes of a literal. */
static bool take(struct reader *r, const char *literal)
{
	size_t length = strlen(literal);

	if (r->bad || (size_t)(r->end - r->next) < length ||
	    memcmp(r->next, literal, length) != 0)
		return false;
	r->next += length;
	return true;
}

static void expect(struct reader *r, const char *literal)
{
	if (!take(r, literal))
		r->bad = true;
}

static uint64_t take_number(struct reader *r, uint64_t max)
{
	uint64_t value = 0;
	const char *start = r->next;

	while (!r->bad && r->next < r->end && *r->next >= '0' &&
	       *r->next <= '9') {
		unsigned digit = (unsigned)(*r->next - '0');

		if (value > (max - digit) / 10) {
			r->bad = true;
			break;
		}
		value = value * 10 + digit;
		r->next++;
	}
	if (r->next == start)
		r->bad = true;
	return value;
}

/* Takes the bytes up to the next blank or line end as a string. */
static void take_word(struct reader *r, char *out, size_t size)
{
	size_t n = 0;

	while (!r->bad && r->next < r->end && *r->next != ' ' &&
	       *r->next != '\n') {
		if (n + 1 >= size || *r->next == '\0') {
			r->bad = true;
			break;
		}
		out[n++] = *r->next++;
	}
	if (n == 0)
		r->bad = true;
	out[n] = '\0';
}

static void take_addresses(struct reader *r, struct snapshot *s)
{
	char word[INET6_ADDRSTRLEN];
	struct in_addr four;

	while (take(r, " ")) {
		struct in6_addr *six = &s->addresses[s->address_count];

		take_word(r, word, sizeof(word));
		if (r->bad || s->address_count == SNAPSHOT_ADDRESSES_MAX) {
			r->bad = true;
			return;
		}
		if (inet_pton(AF_INET, word, &four) == 1) {
			*six = (struct in6_addr){{{[10] = 0xff, [11] = 0xff}}};
			memcpy(&six->s6_addr[12], &four, sizeof(four));
		} else if (inet_pton(AF_INET6, word, six) != 1) {
			r->bad = true;
			return;
		}
		s->address_count++;
	}
}

static void take_ranges(struct reader *r, struct snapshot *s)
{
	while (take(r, " ")) {
		struct snapshot_range range;

		range.low = (uint16_t)take_number(r, UINT16_MAX);
		range.high = range.low;
		if (take(r, "-"))
			range.high = (uint16_t)take_number(r, UINT16_MAX);
		if (r->bad || s->range_count == SNAPSHOT_RANGES_MAX) {
			r->bad = true;
			return;
		}
		s->ranges[s->range_count++] = range;
	}
}

static void take_excludes(struct reader *r, struct snapshot *s)
{
	while (take(r, " ")) {
		if (s->exclude_count == SNAPSHOT_EXCLUDES_MAX) {
			r->bad = true;
			return;
		}
		take_word(r, s->excludes[s->exclude_count++],
			  SNAPSHOT_PROGRAM_SIZE);
	}
}

bool snapshot_is_program(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length >= SNAPSHOT_PROGRAM_SIZE)
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == ',' ||
		    *c == '/')
			return false;
	return true;
}

static bool is_valid(const struct snapshot *s)
{
	if (s->address_count > SNAPSHOT_ADDRESSES_MAX ||
	    s->range_count > SNAPSHOT_RANGES_MAX ||
	    s->exclude_count > SNAPSHOT_EXCLUDES_MAX ||
	    s->max_memory_bytes == 0)
		return false;
	if (s->address_count == 2 &&
	    IN6_ARE_ADDR_EQUAL(&s->addresses[0], &s->addresses[1]))
		return false;
	for (unsigned i = 0; i < s->range_count; i++) {
		uint16_t below = i ? s->ranges[i - 1].high : 0;

		if (s->ranges[i].low <= below ||
		    s->ranges[i].high < s->ranges[i].low)
			return false;
	}
	for (unsigned i = 0; i < s->exclude_count; i++) {
		if (!memchr(s->excludes[i], '\0', SNAPSHOT_PROGRAM_SIZE) ||
		    !snapshot_is_program(s->excludes[i]))
			return false;
	}
	return true;
}

int snapshot_parse(const char *text, size_t length, struct snapshot *out)
{
	struct reader r = {text, text + length, length > SNAPSHOT_TEXT_MAX};
	struct snapshot s = {0};
	char again[SNAPSHOT_TEXT_MAX];

	expect(&r, FORMAT_VERSION "\ngeneration ");
	s.generation = take_number(&r, UINT64_MAX);
	expect(&r, "\nenabled ");
	s.enabled = take_number(&r, 1) != 0;
	expect(&r, "\nip_addr_list");
	take_addresses(&r, &s);
	expect(&r, "\nmax_memory_bytes ");
	s.max_memory_bytes = take_number(&r, UINT64_MAX);
	expect(&r, "\nport_range_list");
	take_ranges(&r, &s);
	s.autosmc = !take(&r, "\nautosmc 0");
	expect(&r, "\nsystem_preload ");
	s.system_preload = take_number(&r, 1) != 0;
	expect(&r, "\nexclude_list");
	take_excludes(&r, &s);
	expect(&r, "\nend\n");

	/*
	 * One text for each set of values: leading zeros, "7-7" or ::ffff:
	 * spellings do not survive being printed again.
	 */
	if (r.bad || r.next != r.end ||
	    snapshot_format(&s, again, sizeof(again)) != (int)length ||
	    memcmp(text, again, length) != 0)
		return -EPROTO;
	*out = s;
	return 0;
}

static void put(struct writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(w->next, w->room, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= w->room) {
		w->full = true;
		w->room = 0;
		return;
	}
	w->next += n;
	w->room -= (size_t)n;
}

static void put_address(struct writer *w, const struct in6_addr *address)
{
	char word[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], word, sizeof(word));
	else
		inet_ntop(AF_INET6, address, word, sizeof(word));
	put(w, " %s", word);
}

static void put_range(struct writer *w, const struct snapshot_range *range)
{
	if (range->low == range->high)
		put(w, " %u", range->low);
	else
		put(w, " %u-%u", range->low, range->high);
}

int snapshot_format(const struct snapshot *s, char *out, size_t size)
{
	struct writer w = {out, size, false};

	if (!is_valid(s))
		return -EINVAL;
	put(&w, FORMAT_VERSION "\ngeneration %" PRIu64 "\nenabled %d",
	    s->generation, s->enabled);
	put(&w, "\nip_addr_list");
	for (unsigned i = 0; i < s->address_count; i++)
		put_address(&w, &s->addresses[i]);
	put(&w, "\nmax_memory_bytes %" PRIu64 "\nport_range_list",
	    s->max_memory_bytes);
	for (unsigned i = 0; i < s->range_count; i++)
		put_range(&w, &s->ranges[i]);
	if (!s->autosmc)
		put(&w, "\nautosmc 0");
	put(&w, "\nsystem_preload %d\nexclude_list", s->system_preload);
	for (unsigned i = 0; i < s->exclude_count; i++)
		put(&w, " %s", s->excludes[i]);
	put(&w, "\nend\n");
	return w.full ? -ENOSPC : (int)(w.next - out);
}

bool snapshot_has_port(const struct snapshot *s, uint16_t port)
{
	for (unsigned i = 0; i < s->range_count; i++)
		if (port >= s->ranges[i].low && port <= s->ranges[i].high)
			return true;
	return false;
}

enum snapshot_match snapshot_match(const struct snapshot *s,
				   const struct in6_addr *local,
				   uint16_t server_port)
{
	bool found = false;

	if (!s->enabled)
		return SNAPSHOT_DISABLED;
	for (unsigned i = 0; i < s->address_count; i++)
		found |= IN6_ARE_ADDR_EQUAL(&s->addresses[i], local);
	if (!found)
		return SNAPSHOT_NO_ADDRESS;
	return snapshot_has_port(s, server_port) ? SNAPSHOT_MATCHES
						 : SNAPSHOT_NO_PORT;
}
