/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* devconf: what the attributes of smc_r0 mean. */
#include "devconf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PORT_MAX      65535
#define MEGABYTE      (1024 * 1024)
#define MEMORY_MIN_MB 16
#define MEMORY_MAX_MB 65536
#define BLANKS        " \t"
#define SEPARATORS    BLANKS ","

/* One bit for each port. */
struct port_set {
	uint8_t bits[(PORT_MAX + 1) / 8];
};

static int refuse(char *why, const char *what, const char *which)
{
	snprintf(why, DEVCONF_WHY_SIZE, "%s: \"%.60s\"", what, which);
	return -EINVAL;
}

static const char *skip(const char *text, const char *bytes)
{
	return text + strspn(text, bytes);
}

/* Behind an item: blanks and at most one comma, which another item follows. */
static const char *next_item(const char *text)
{
	const char *next = skip(text, BLANKS);

	if (*next != ',')
		return next;
	next = skip(next + 1, BLANKS);
	return *next && *next != ',' ? next : NULL;
}

static int read_port(const char **text, uint16_t *out, char *why)
{
	const char *start = *text;
	unsigned long port = 0;

	for (; **text >= '0' && **text <= '9' && port <= PORT_MAX; (*text)++)
		port = port * 10 + (unsigned long)(**text - '0');
	if (*text == start)
		return refuse(why, "not a port", start);
	if (port < 1 || port > PORT_MAX)
		return refuse(why, "a port is a number from 1 to 65535", start);
	*out = (uint16_t)port;
	return 0;
}

static int read_range(const char **text, struct snapshot_range *out, char *why)
{
	const char *start = *text;
	const char *dash;
	int error = read_port(text, &out->low, why);

	if (error)
		return error;
	out->high = out->low;
	dash = skip(*text, BLANKS);
	if (*dash == '-') {
		*text = skip(dash + 1, BLANKS);
		error = read_port(text, &out->high, why);
		if (error && !**text)
			return refuse(why, "a range without its end", start);
		if (error)
			return error;
	}
	if (**text && !strchr(SEPARATORS, **text))
		return refuse(why, "not a port or a range of ports", start);
	if (out->low > out->high)
		return refuse(why, "a range that ends before it begins", start);
	return 0;
}

static void collect_ranges(const struct port_set *set, struct snapshot *out,
			   unsigned *count)
{
	bool inside = false;

	*count = 0;
	for (unsigned port = 1; port <= PORT_MAX + 1; port++) {
		bool has = port <= PORT_MAX &&
			   (set->bits[port / 8] & (1u << (port % 8))) != 0;

		if (has && !inside && (*count)++ < SNAPSHOT_RANGES_MAX)
			out->ranges[*count - 1].low = (uint16_t)port;
		if (!has && inside && *count <= SNAPSHOT_RANGES_MAX)
			out->ranges[*count - 1].high = (uint16_t)(port - 1);
		inside = has;
	}
}

static int read_ports(const char *text, struct snapshot *out, char *why)
{
	const char *next = skip(text, BLANKS);
	struct port_set set = {0};
	unsigned count;

	while (*next) {
		struct snapshot_range range;
		const char *start = next;
		int error = read_range(&next, &range, why);

		if (error)
			return error;
		for (unsigned p = range.low; p <= range.high; p++)
			set.bits[p / 8] |= (uint8_t)(1u << (p % 8));
		next = next_item(next);
		if (!next)
			return refuse(why, "a port is missing behind a comma",
				      start);
	}
	collect_ranges(&set, out, &count);
	if (count > SNAPSHOT_RANGES_MAX) {
		snprintf(why, DEVCONF_WHY_SIZE,
			 "%u separate ranges: at most %d are allowed", count,
			 SNAPSHOT_RANGES_MAX);
		return -EINVAL;
	}
	out->range_count = count;
	return 0;
}

/* Takes the bytes up to the next separator; -EINVAL when they do not fit. */
static int read_word(const char **text, char *out, size_t size)
{
	size_t length = strcspn(*text, SEPARATORS);

	if (length == 0 || length >= size)
		return -EINVAL;
	memcpy(out, *text, length);
	out[length] = '\0';
	*text += length;
	return 0;
}

static bool is_one_host(const struct in6_addr *a)
{
	if (IN6_IS_ADDR_V4MAPPED(a))
		return a->s6_addr[12] != 0 && a->s6_addr[12] < 224;
	return !IN6_IS_ADDR_UNSPECIFIED(a) && !IN6_IS_ADDR_MULTICAST(a);
}

static int read_address(const char *word, struct in6_addr *out)
{
	struct in_addr four;

	if (inet_pton(AF_INET6, word, out) == 1)
		return 0;
	if (inet_pton(AF_INET, word, &four) != 1)
		return -EINVAL;
	*out = (struct in6_addr){{{[10] = 0xff, [11] = 0xff}}};
	memcpy(&out->s6_addr[12], &four, sizeof(four));
	return 0;
}

static int add_address(struct snapshot *out, const char *word, char *why)
{
	struct in6_addr address;

	if (read_address(word, &address) != 0)
		return refuse(why, "not an IP address", word);
	if (!is_one_host(&address))
		return refuse(why, "not the address of one host", word);
	for (unsigned i = 0; i < out->address_count; i++)
		if (IN6_ARE_ADDR_EQUAL(&out->addresses[i], &address))
			return 0;
	if (out->address_count == SNAPSHOT_ADDRESSES_MAX)
		return refuse(why, "more than two addresses", word);
	out->addresses[out->address_count++] = address;
	return 0;
}

static int read_addresses(const char *text, struct snapshot *out, char *why)
{
	const char *next = skip(text, BLANKS);
	char word[INET6_ADDRSTRLEN];

	out->address_count = 0;
	while (*next) {
		const char *start = next;
		int error;

		if (read_word(&next, word, sizeof(word)) != 0)
			return refuse(why, "not an IP address", start);
		error = add_address(out, word, why);
		if (error)
			return error;
		next = next_item(next);
		if (!next)
			return refuse(why, "an address is missing behind",
				      word);
	}
	return 0;
}

static int add_exclude(struct snapshot *out, const char *word, char *why)
{
	if (!snapshot_is_program(word))
		return refuse(why, "not the name of a program", word);
	for (unsigned i = 0; i < out->exclude_count; i++)
		if (strcmp(out->excludes[i], word) == 0)
			return 0;
	if (out->exclude_count == SNAPSHOT_EXCLUDES_MAX)
		return refuse(why, "more than 32 programs", word);
	strcpy(out->excludes[out->exclude_count++], word);
	return 0;
}

static int read_excludes(const char *text, struct snapshot *out, char *why)
{
	const char *next = skip(text, BLANKS);
	char word[SNAPSHOT_PROGRAM_SIZE];

	out->exclude_count = 0;
	while (*next) {
		const char *start = next;
		int error;

		if (read_word(&next, word, sizeof(word)) != 0)
			return refuse(why, "not the name of a program", start);
		error = add_exclude(out, word, why);
		if (error)
			return error;
		next = next_item(next);
		if (!next)
			return refuse(why, "a program is missing behind", word);
	}
	return 0;
}

static int read_switch(const char *text, bool *out, char *why)
{
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return refuse(why, "neither 0 nor 1", text);
	*out = text[0] == '1';
	return 0;
}

static int read_enabled(const char *text, struct snapshot *out, char *why)
{
	return read_switch(text, &out->enabled, why);
}

static int read_preload(const char *text, struct snapshot *out, char *why)
{
	return read_switch(text, &out->system_preload, why);
}

static int read_autosmc(const char *text, struct snapshot *out, char *why)
{
	if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
		return refuse(why, "neither yes nor no", text);
	out->autosmc = text[0] == 'y';
	return 0;
}

static int read_memory(const char *text, struct snapshot *out, char *why)
{
	uint64_t megabytes = 0;
	const char *c = text;

	for (; *c >= '0' && *c <= '9' && megabytes <= MEMORY_MAX_MB; c++)
		megabytes = megabytes * 10 + (uint64_t)(*c - '0');
	if (c == text || *c || megabytes < MEMORY_MIN_MB ||
	    megabytes > MEMORY_MAX_MB)
		return refuse(why, "not a number from 16 to 65536", text);
	out->max_memory_bytes = megabytes * MEGABYTE;
	return 0;
}

struct writer {
	char *out;
	size_t used;
	bool full;
};

static void put(struct writer *w, const char *word)
{
	size_t length = strlen(word);

	if (w->full || w->used + length + 2 > DEVCONF_VALUE_SIZE) {
		w->full = true;
		return;
	}
	if (w->used)
		w->out[w->used++] = ',';
	memcpy(w->out + w->used, word, length + 1);
	w->used += length;
}

static void write_addresses(struct writer *w, const struct snapshot *s)
{
	char word[INET6_ADDRSTRLEN];

	for (unsigned i = 0; i < s->address_count; i++) {
		const struct in6_addr *a = &s->addresses[i];

		if (IN6_IS_ADDR_V4MAPPED(a))
			inet_ntop(AF_INET, &a->s6_addr[12], word, sizeof(word));
		else
			inet_ntop(AF_INET6, a, word, sizeof(word));
		put(w, word);
	}
}

static void write_ports(struct writer *w, const struct snapshot *s)
{
	char word[16];

	for (unsigned i = 0; i < s->range_count; i++) {
		const struct snapshot_range *r = &s->ranges[i];

		snprintf(word, sizeof(word), r->low == r->high ? "%u" : "%u-%u",
			 r->low, r->high);
		put(w, word);
	}
}

static void write_excludes(struct writer *w, const struct snapshot *s)
{
	for (unsigned i = 0; i < s->exclude_count; i++)
		put(w, s->excludes[i]);
}

static const struct form {
	const char *attribute;
	size_t offset; /* in struct devconf_values */
	int (*read)(const char *text, struct snapshot *out, char *why);
	void (*write)(struct writer *w, const struct snapshot *s);
} forms[] = {
    {"enabled", offsetof(struct devconf_values, enabled), read_enabled, NULL},
    {"ip_addr_list", offsetof(struct devconf_values, ip_addr_list),
     read_addresses, write_addresses},
    {"max_memory", offsetof(struct devconf_values, max_memory), read_memory,
     NULL},
    {"port_range_list", offsetof(struct devconf_values, port_range_list),
     read_ports, write_ports},
    {"autosmc", offsetof(struct devconf_values, autosmc), read_autosmc, NULL},
    {"system_preload", offsetof(struct devconf_values, system_preload),
     read_preload, NULL},
    {"exclude_list", offsetof(struct devconf_values, exclude_list),
     read_excludes, write_excludes},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

static const char **value_of(struct devconf_values *v, const struct form *f)
{
	return (const char **)(void *)((char *)v + f->offset);
}

const char **devconf_value(struct devconf_values *v, const char *attribute)
{
	for (size_t i = 0; i < FORMS; i++)
		if (strcmp(forms[i].attribute, attribute) == 0)
			return value_of(v, &forms[i]);
	return NULL;
}

const char *devconf_unit(const char *attribute)
{
	return strcmp(attribute, "max_memory") == 0 ? " (MB)" : "";
}

int devconf_normalise(const char *attribute, const char *value,
		      char out[DEVCONF_VALUE_SIZE], char why[DEVCONF_WHY_SIZE])
{
	struct writer w = {out, 0, false};
	struct snapshot s = {0};

	for (size_t i = 0; i < FORMS; i++) {
		int error;

		if (strcmp(forms[i].attribute, attribute) != 0)
			continue;
		error = forms[i].read(value, &s, why);
		if (error)
			return error;
		if (!forms[i].write)
			break;
		out[0] = '\0';
		forms[i].write(&w, &s);
		return w.full ? refuse(why, "too long", value) : 0;
	}
	if (strlen(value) >= DEVCONF_VALUE_SIZE)
		return refuse(why, "too long", value);
	strcpy(out, value);
	return 0;
}

int devconf_snapshot(const struct devconf_values *v, struct snapshot *out,
		     const char **attribute, char why[DEVCONF_WHY_SIZE])
{
	struct devconf_values values = *v;
	struct snapshot s = {0};

	for (size_t i = 0; i < FORMS; i++) {
		const char *text = *value_of(&values, &forms[i]);
		int error = text ? forms[i].read(text, &s, why)
				 : refuse(why, "no value", "");

		if (error) {
			*attribute = forms[i].attribute;
			return error;
		}
	}
	*out = s;
	return 0;
}
