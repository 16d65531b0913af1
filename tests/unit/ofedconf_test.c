/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conf/ofedconf.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct got {
	int count;
	char name[8][OFEDCONF_NAME_SIZE];
	long value[8];
	unsigned line[8];
	int refuse_at; /* -1 never */
};

static int take(void *owner, const struct ofedconf_setting *s,
		char why[OFEDCONF_WHY_SIZE])
{
	struct got *g = owner;

	if (g->count == g->refuse_at) {
		snprintf(why, OFEDCONF_WHY_SIZE, "not %s", s->name);
		return -ERANGE;
	}
	if (g->count == 8)
		return -E2BIG;
	snprintf(g->name[g->count], OFEDCONF_NAME_SIZE, "%s", s->name);
	g->value[g->count] = s->value;
	cr_assert_eq(strtol(s->text, NULL, 10), s->value);
	g->line[g->count++] = s->line;
	return 0;
}

static int parse(const char *text, struct got *g, struct ofedconf_error *error)
{
	const struct ofedconf_taker taker = {take, g};

	memset(g, 0, sizeof(*g));
	g->refuse_at = -1;
	return ofedconf_parse(text, strlen(text), &taker, error);
}

Test(ofedconf, settings_are_taken_in_order_with_their_lines)
{
	struct ofedconf_error error;
	struct got g;

	cr_assert_eq(parse("# comment\n"
			   "\n"
			   "delay_kill=10000\n"
			   "  def_prec2sl = 3  # trailing\r\n"
			   "\t# another\n"
			   "a=-5\n"
			   "z=0010",
			   &g, &error),
		     0);
	cr_assert_eq(g.count, 4);
	cr_assert_str_eq(g.name[0], "delay_kill");
	cr_assert_eq(g.value[0], 10000);
	cr_assert_eq(g.line[0], 3);
	cr_assert_str_eq(g.name[1], "def_prec2sl");
	cr_assert_eq(g.value[1], 3);
	cr_assert_eq(g.line[1], 4);
	cr_assert_eq(g.value[2], -5);
	cr_assert_eq(g.value[3], 10, "decimal, whatever the zeros");
	cr_assert_eq(g.line[3], 7);
}

Test(ofedconf, the_file_of_the_manual_sets_nothing)
{
	struct ofedconf_error error;
	struct got g;

	cr_assert_eq(parse("#\n# OFED kernel extension configuration file\n#\n"
			   "#unify_tcp_port_space=0\n"
			   "# timeout = 4096us * 2^cma_response_timeout\n"
			   "# bind_route_interface=0\n",
			   &g, &error),
		     0);
	cr_assert_eq(g.count, 0);
	cr_assert_eq(parse("", &g, &error), 0);
	cr_assert_eq(g.count, 0);
}

struct wrong {
	const char *text;
	unsigned line;
	const char *word; /* part of the reason */
};

Test(ofedconf, wrong_lines_are_named_with_the_right_number)
{
	const struct wrong wrong[] = {
	    {"a=1\nb=\nc=3\n", 2, "b: a decimal number"},
	    {"a=1\nb 2\n", 2, "b: '='"},
	    {"=5\n", 1, "neither"},
	    {"a=8000 ms\n", 1, "a: nothing but a comment"},
	    {"a=hello\n", 1, "a: a decimal number"},
	    {"a=true\n", 1, "a: a decimal number"},
	    {"a=1-20\n", 1, "a: nothing but"},
	    {"a=0x1F\n", 1, "a: nothing but"},
	    {"a=1;\n", 1, "a: nothing but"},
	    {"a=1 b=2\n", 1, "a: nothing but"},
	    {"a=+5\n", 1, "a: a decimal number"},
	    {"a=-\n", 1, "a: a decimal number"},
	    {"a=1.5\n", 1, "a: nothing but"},
	    {"a=5L\n", 1, "a: nothing but"},
	    {"a: 1\n", 1, "a: '='"},
	    {"a = (1, 2)\n", 1, "a: a decimal number"},
	    {"a = \"x\"\n", 1, "a: a decimal number"},
	    {"a = { b = 1 }\n", 1, "a: a decimal number"},
	    {"a=1 // c\n", 1, "a: nothing but"},
	    {"/* c */\n", 1, "neither"},
	    {"@include \"/etc/passwd\"\n", 1, "neither"},
	    {"a=1\n\n@include \"x\"\n", 3, "neither"},
	    {"9a=1\n", 1, "neither"},
	    {"\xef\xbb\xbf"
	     "a=1\n",
	     1, "byte order mark"},
	    {"a=1\nb=2\na=3\n", 3, "duplicate"},
	    {"a=4294967296\n", 1, "a: 4294967296 does not fit"},
	    {"a=2147483648\n", 1, "does not fit"},
	    {"a=-2147483649\n", 1, "does not fit"},
	    {"a=99999999999999999999\n", 1, "does not fit"},
	    {"a=99999999999999999999999999999999999\n", 1, "too big"},
	};
	struct ofedconf_error error;
	struct got g;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct wrong *w = &wrong[i];

		cr_assert_eq(parse(w->text, &g, &error), -EINVAL, "%s",
			     w->text);
		cr_assert_eq(error.line, w->line, "%s: line %u", w->text,
			     error.line);
		cr_assert(strstr(error.why, w->word), "%s: %s", w->text,
			  error.why);
	}
}

Test(ofedconf, a_line_that_the_core_would_not_read_is_refused)
{
	char text[OFEDCONF_LINE_MAX + 8] = "a=1\n#";
	struct ofedconf_error error;
	struct got g;

	memset(text + 5, 'x', OFEDCONF_LINE_MAX - 1);
	cr_assert_eq(parse(text, &g, &error), 0);
	text[OFEDCONF_LINE_MAX + 4] = 'x';
	cr_assert_eq(parse(text, &g, &error), -EINVAL);
	cr_assert_eq(error.line, 2);
	cr_assert(strstr(error.why, "longer than 510"));
}

Test(ofedconf, the_bounds_of_32_bits_fit)
{
	struct ofedconf_error error;
	struct got g;

	cr_assert_eq(parse("a=2147483647\nb=-2147483648\n", &g, &error), 0);
	cr_assert_eq(g.value[0], 2147483647L);
	cr_assert_eq(g.value[1], -2147483648L);
}

Test(ofedconf, what_the_caller_refuses_is_reported_with_its_line)
{
	const struct ofedconf_taker taker = {take,
					     &(struct got){.refuse_at = 1}};
	struct ofedconf_error error;
	const char text[] = "a=1\n\nb=2\n";

	cr_assert_eq(ofedconf_parse(text, strlen(text), &taker, &error),
		     -ERANGE);
	cr_assert_eq(error.line, 3);
	cr_assert_str_eq(error.why, "not b");
}

Test(ofedconf, a_nul_byte_hides_nothing)
{
	const char text[] = "a=1\n\0b=2\n";
	struct ofedconf_error error;
	struct got g = {.refuse_at = -1};
	const struct ofedconf_taker taker = {take, &g};

	cr_assert_eq(ofedconf_parse(text, sizeof(text) - 1, &taker, &error),
		     -EINVAL);
	cr_assert_eq(g.count, 0);
}

/* ---- Files -------------------------------------------------------------- */

static char path[4200];

static void make_path(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/ofedconf.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "a=1\n", 4), 4);
	close(fd);
}

static void remove_path(void)
{
	unlink(path);
}

TestSuite(ofedconf_file, .init = make_path, .fini = remove_path);

static int read_file(const char *name, struct got *g,
		     struct ofedconf_error *error)
{
	const struct ofedconf_taker taker = {take, g};

	memset(g, 0, sizeof(*g));
	g->refuse_at = -1;
	return ofedconf_read(name, &taker, error);
}

Test(ofedconf_file, a_file_of_our_own_is_read)
{
	struct ofedconf_error error;
	struct got g;

	cr_assert_eq(read_file(path, &g, &error), 0);
	cr_assert_eq(g.count, 1);
}

Test(ofedconf_file, a_missing_file_is_told_from_all_other_errors)
{
	struct ofedconf_error error;
	struct got g;

	cr_assert_eq(read_file("/nonexistent/ofed.conf", &g, &error), -ENOENT);
	cr_assert_eq(read_file("/", &g, &error), -EPERM);
	cr_assert_str_eq(error.why, "it is not a regular file");
	cr_assert_eq(read_file("/dev/null", &g, &error), -EPERM);
}

Test(ofedconf_file, a_file_that_others_may_write_is_refused)
{
	struct ofedconf_error error;
	struct got g;

	cr_assert_eq(chmod(path, 0664), 0);
	cr_assert_eq(read_file(path, &g, &error), -EPERM);
	cr_assert(strstr(error.why, "others may write"));
	cr_assert_eq(chmod(path, 0646), 0);
	cr_assert_eq(read_file(path, &g, &error), -EPERM);
	if (geteuid() == 0) {
		cr_assert_eq(chmod(path, 0644), 0);
		cr_assert_eq(chown(path, 12345, 12345), 0);
		cr_assert_eq(read_file(path, &g, &error), -EPERM);
		cr_assert(strstr(error.why, "user 12345"));
	}
}

Test(ofedconf_file, a_file_of_more_than_64_kib_is_refused)
{
	struct ofedconf_error error;
	FILE *file = fopen(path, "w");
	struct got g;
	int i;

	cr_assert(file);
	for (i = 0; i < OFEDCONF_BYTES_MAX; i++)
		fputc('\n', file);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(read_file(path, &g, &error), 0);
	file = fopen(path, "a");
	fputc('\n', file);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(read_file(path, &g, &error), -EFBIG);
	cr_assert(strstr(error.why, "larger than 65536"));
}
