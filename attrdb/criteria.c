/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* criteria: which objects of a class are meant. */
#include "criteria.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

struct scanner {
	const char *next;
	char *why;
	size_t size;
};

static int complain(struct scanner *s, const char *what, const char *which)
{
	snprintf(s->why, s->size, "%s: \"%.60s\"", what, which);
	return -EINVAL;
}

static void skip_blanks(struct scanner *s)
{
	while (isspace((unsigned char)*s->next))
		s->next++;
}

/* A bare word: up to a blank, a quote or an operator. */
static int scan_word(struct scanner *s, char *out, size_t size)
{
	size_t length = strcspn(s->next, " \t\n\"'=!<>");

	if (length == 0)
		return complain(s, "a word is missing here", s->next);
	if (length >= size)
		return complain(s, "word too long", s->next);
	memcpy(out, s->next, length);
	out[length] = '\0';
	s->next += length;
	return 0;
}

static int scan_operator(struct scanner *s, enum criteria_test *out)
{
	/* Longer ones first: "<=" begins with "<". */
	static const struct {
		const char *text;
		enum criteria_test test;
	} known[] = {
	    {"!=", CRITERIA_UNEQUAL},  {">=", CRITERIA_AT_LEAST},
	    {"<=", CRITERIA_AT_MOST},  {"==", CRITERIA_EQUAL},
	    {"=", CRITERIA_EQUAL},     {">", CRITERIA_ABOVE},
	    {"<", CRITERIA_BELOW},     {"like ", CRITERIA_LIKE},
	    {"like'", CRITERIA_LIKE},  {"like\"", CRITERIA_LIKE},
	    {"like\t", CRITERIA_LIKE},
	};

	skip_blanks(s);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].text);

		if (strncasecmp(s->next, known[i].text, length) != 0)
			continue;
		s->next += known[i].test == CRITERIA_LIKE ? 4 : length;
		*out = known[i].test;
		return 0;
	}
	return complain(s, "an operator is missing here", s->next);
}

static int scan_value(struct scanner *s, char *out, size_t size)
{
	char quote;
	const char *end;

	skip_blanks(s);
	quote = *s->next;
	if (quote != '\'' && quote != '"')
		return scan_word(s, out, size);
	end = strchr(s->next + 1, quote);
	if (!end)
		return complain(s, "quote not closed", s->next);
	if ((size_t)(end - s->next) > size)
		return complain(s, "value too long", s->next);
	memcpy(out, s->next + 1, (size_t)(end - s->next - 1));
	out[end - s->next - 1] = '\0';
	s->next = end + 1;
	return 0;
}

static int scan_term(struct scanner *s, const struct odm_class *c,
		     struct criteria_term *out)
{
	char name[STANZA_NAME_SIZE];
	int error = scan_word(s, name, sizeof(name));

	if (error)
		return error;
	out->field = odm_class_field(c, name);
	if (!out->field)
		return complain(s, "no such field", name);
	error = scan_operator(s, &out->test);
	return error ? error : scan_value(s, out->value, sizeof(out->value));
}

int criteria_parse(const struct odm_class *c, const char *text,
		   struct criteria *out, char *why, size_t size)
{
	struct scanner s = {text, why, size};
	struct criteria found = {0};
	char word[8];
	int error;

	skip_blanks(&s);
	while (*s.next) {
		if (found.count == CRITERIA_TERMS_MAX)
			return complain(&s, "too many terms", s.next);
		if (found.count) {
			error = scan_word(&s, word, sizeof(word));
			if (error)
				return error;
			if (strcasecmp(word, "and") != 0)
				return complain(&s, "only \"and\" joins terms",
						word);
			skip_blanks(&s);
		}
		error = scan_term(&s, c, &found.terms[found.count++]);
		if (error)
			return error;
		skip_blanks(&s);
	}
	*out = found;
	return 0;
}

bool criteria_equal(const struct odm_class *c, const char *field,
		    const char *value, struct criteria *out)
{
	struct criteria_term *term = &out->terms[0];

	if (strlen(value) >= sizeof(term->value))
		return false;
	memset(out, 0, sizeof(*out));
	out->count = 1;
	term->field = odm_class_field(c, field);
	term->test = CRITERIA_EQUAL;
	strcpy(term->value, value);
	return true;
}
