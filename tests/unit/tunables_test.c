/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conf/tunables.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[3000], file[4000];
static const struct tunable *roce;

static void make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/tunables.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	cr_assert(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/nextboot", dir);
	cr_assert_eq(setenv(TUNABLES_VARIABLE, dir, 1), 0);
	roce = tunables_find("roce_v2_mode");
	cr_assert(roce);
}

static void remove_dir(void)
{
	char command[4200];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(tunables, .init = make_dir, .fini = remove_dir);

static void write_text(const char *text)
{
	FILE *f = fopen(file, "w");

	cr_assert(f);
	fputs(text, f);
	cr_assert_eq(fclose(f), 0);
}

static const char *read_text(void)
{
	static char text[4096];
	FILE *f = fopen(file, "r");
	size_t n;

	cr_assert(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

Test(tunables, a_missing_file_gives_the_default)
{
	unsigned line = 9;
	long value = 9;

	cr_assert_eq(tunables_get("nextboot", roce, &value, &line), 0);
	cr_assert_eq(value, 0);
	remove_dir();
	value = 9;
	cr_assert_eq(tunables_get("nextboot", roce, &value, &line), 0);
	cr_assert_eq(value, 0);
	cr_assert_eq(mkdir(dir, 0755), 0);
}

struct reading {
	const char *text;
	int result;
	long value;
	unsigned line;
};

Test(tunables, values_are_read_as_aix_writes_them)
{
	const struct reading reading[] = {
	    {"no:\n\troce_v2_mode = \"1\"\n", 0, 1, 2},
	    {"no:\n\troce_v2_mode = 1", 0, 1, 2},
	    {"no:\r\n  roce_v2_mode=\"1\"  \r\n", 0, 1, 2},
	    {"no:\n\troce_v2_mode = \"DEFAULT\"\n", 0, 0, 2},
	    {"no:\n\troce_v2_mode = DEFAULT\n", 0, 0, 2},
	    /* The first one wins. */
	    {"no:\n\troce_v2_mode = \"1\"\n\troce_v2_mode = \"0\"\n", 0, 1, 2},
	    {"no:\n\tx = \"1\"\nno:\n\troce_v2_mode = \"1\"\n", 0, 1, 4},
	    /* Other stanzas, comments and names. */
	    {"vmo:\n\troce_v2_mode = \"1\"\n", 0, 0, 0},
	    {"no:\nvmo:\n\troce_v2_mode = \"1\"\n", 0, 0, 0},
	    {"no:\n\n# c\n\troce_v2_mode = \"1\"\n", 0, 1, 4},
	    {"no:\n\troce_v2_modes = \"1\"\n", 0, 0, 0},
	    {"nose:\n\troce_v2_mode = \"1\"\n", 0, 0, 0},
	    /* Wrong ones. */
	    {"no:\n\troce_v2_mode = \"2\"\n", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode = \"-1\"\n", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode = \"1\n", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode = 1\"\n", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode = \"1\" x\n", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode = \"\"\n", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode =", -EINVAL, 9, 2},
	    {"no:\n\troce_v2_mode = 99999999999999999999\n", -EINVAL, 9, 2},
	    /* What would be passed over in silence. */
	    {"no:\nroce_v2_mode = \"1\"\n", -EILSEQ, 9, 2},
	    {"garbage {\n", -EILSEQ, 9, 1},
	    {"no:\n\troce_v2_mode\n", -EILSEQ, 9, 2},
	};
	size_t i;

	for (i = 0; i < sizeof(reading) / sizeof(reading[0]); i++) {
		const struct reading *r = &reading[i];
		unsigned line = 77;
		long value = 9;

		write_text(r->text);
		cr_assert_eq(tunables_get("nextboot", roce, &value, &line),
			     r->result, "%s", r->text);
		cr_assert_eq(value, r->value, "%s", r->text);
		cr_assert_eq(line, r->line, "%s", r->text);
	}
}

struct change {
	const char *before, *after;
};

Test(tunables, a_change_touches_one_line_and_no_other)
{
	const struct change change[] = {
	    {"", "no:\n\troce_v2_mode = \"1\"\n"},
	    {"vmo:\n\tx = \"1\"\n",
	     "vmo:\n\tx = \"1\"\nno:\n\troce_v2_mode = \"1\"\n"},
	    {"vmo:", "vmo:\nno:\n\troce_v2_mode = \"1\"\n"},
	    {"no:", "no:\n\troce_v2_mode = \"1\"\n"},
	    {"# c\nno:\n\tx = \"5\"\nvmo:\n\ty = \"6\"\n",
	     "# c\nno:\n\troce_v2_mode = \"1\"\n\tx = \"5\"\nvmo:\n\ty = "
	     "\"6\"\n"},
	    {"no:\n\ta = \"2\"\n  roce_v2_mode=DEFAULT\n\tb = \"3\"\n",
	     "no:\n\ta = \"2\"\n\troce_v2_mode = \"1\"\n\tb = \"3\"\n"},
	    {"no:\n\troce_v2_mode = \"rubbish\"",
	     "no:\n\troce_v2_mode = \"1\"\n"},
	};
	size_t i;

	for (i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		unsigned line;
		long value = 0;

		write_text(change[i].before);
		cr_assert_eq(tunables_put("nextboot", roce, 1), 0);
		cr_assert_str_eq(read_text(), change[i].after);
		cr_assert_eq(tunables_get("nextboot", roce, &value, &line), 0);
		cr_assert_eq(value, 1);
	}
}

Test(tunables, the_directory_follows_the_environment)
{
	char out[64];

	cr_assert_eq(setenv("OFED_CONF", "/a/b/ofed.conf", 1), 0);
	cr_assert_eq(tunables_dir(out, 8), -ENAMETOOLONG);
	cr_assert_eq(unsetenv(TUNABLES_VARIABLE), 0);
	cr_assert_eq(tunables_dir(out, sizeof(out)), 0);
	cr_assert_str_eq(out, "/a/b/tunables");
	cr_assert_eq(setenv("OFED_CONF", "ofed.conf", 1), 0);
	cr_assert_eq(tunables_dir(out, sizeof(out)), 0);
	cr_assert_str_eq(out, "./tunables");
	cr_assert_eq(unsetenv("OFED_CONF"), 0);
	cr_assert_eq(tunables_dir(out, sizeof(out)), 0);
	cr_assert_str_eq(out, "/etc/tunables");
}

Test(tunables, a_file_that_is_too_large_is_left_alone)
{
	FILE *f = fopen(file, "w");
	unsigned line;
	long value = 9;
	int i;

	for (i = 0; i < 65537; i++)
		fputc('#', f);
	fclose(f);
	cr_assert_eq(tunables_get("nextboot", roce, &value, &line), -EFBIG);
	cr_assert_eq(tunables_put("nextboot", roce, 1), -EFBIG);
}

Test(tunables, a_file_with_a_nul_is_left_alone)
{
	static const char text[] = "no:\n\0vmo:\n\tminfree = \"2\"\n";
	FILE *f = fopen(file, "w");
	unsigned line;
	long value;

	cr_assert(f);
	cr_assert_eq(fwrite(text, sizeof(text) - 1, 1, f), 1);
	cr_assert_eq(fclose(f), 0);
	cr_assert_eq(tunables_get(TUNABLES_NEXTBOOT, roce, &value, &line),
		     -EINVAL);
	cr_assert_eq(tunables_put(TUNABLES_NEXTBOOT, roce, 0), -EINVAL);
	cr_assert_eq(strlen(read_text()), strlen(text));
}
