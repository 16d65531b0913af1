/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofedctrl: loads, unloads and configures the RDMA core, ofed_core.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/ofedconf.h"
#include "conf/tunables.h"
#include "ofed_core/control.h"
#include "ofed_core/parameters.h"

#include "output.h"

/* Where `make install` puts the core; the build says. */
#ifndef SMC_R_LIBDIR
#define SMC_R_LIBDIR "/usr/local/lib/smc_r"
#endif

#define CORE          "ofed_core"
#define RULE          "-----------------------------------------\n"
#define ERROR_BYTES   256
/* For the core, as it starts: which version of RoCE it speaks. */
#define ROCE_VARIABLE "OFED_CORE_ROCE_V2_MODE"

static const char usage[] =
    "Usage: ofedctrl { [-k KernextName] -l|u|q } | "
    "[ -c | -p ParameterName=Value ] | -h\n"
    "\n"
    "  -l  load the RDMA core\n"
    "  -u  unload it; programs that use it are ended\n"
    "  -q  show whether it is loaded, and its settings\n"
    "  -k  the path of the core's program\n"
    "  -c  read the configuration file again\n"
    "  -p  change a parameter until it is read again or the core unloaded\n"
    "  -n  with -u: only say which programs would be ended, and when\n"
    "  -h  this text\n";

struct options {
	int action; /* the letter, 0 none */
	bool is_dry;
	const char *program;
	char *assignment;
};

static bool is_absent(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

/* A descriptor, or -1 when it was said why there is none. */
static int open_core(void)
{
	int fd = control_open();

	if (fd >= 0)
		return fd;
	if (is_absent(fd))
		fprintf(stderr,
			"ofedctrl: " CORE " is not loaded; load it with "
			"ofedctrl -l\n");
	else
		fprintf(stderr, "ofedctrl: cannot reach " CORE ": %s\n",
			strerror(-fd));
	return -1;
}

static int refused(int error, const char *words)
{
	fprintf(stderr, "ofedctrl: " CORE ": %s\n",
		*words ? words : strerror(-error));
	return 1;
}

/* ---- The configuration file --------------------------------------------- */

struct taken {
	struct parameters values;
	unsigned line[PARAMETER_COUNT];
};

static int take(void *owner, const struct ofedconf_setting *s,
		char why[OFEDCONF_WHY_SIZE])
{
	struct taken *taken = owner;
	int id = parameter_find(s->name);
	int error;

	if (id < 0) {
		snprintf(why, OFEDCONF_WHY_SIZE,
			 "%s: there is no such parameter", s->name);
		return -EINVAL;
	}
	/* The same parameter may stand there by its other name. */
	if (taken->line[id]) {
		snprintf(why, OFEDCONF_WHY_SIZE,
			 "%s: the parameter is set in line %u already", s->name,
			 taken->line[id]);
		return -EEXIST;
	}
	taken->line[id] = s->line;
	error = parameters_set(&taken->values, s->name, s->text);
	if (error)
		snprintf(why, OFEDCONF_WHY_SIZE, "%s: %s is not in %ld to %ld",
			 s->name, s->text, parameter_table[id].min,
			 parameter_table[id].max);
	return error;
}

/* Checks the file before the core reads it: 0, or 1 and it was said why. */
static int check_file(void)
{
	struct taken taken = {.line = {0}};
	const struct ofedconf_taker taker = {.take = take, .owner = &taken};
	const char *path = parameters_path();
	struct ofedconf_error error;
	int result;

	parameters_init(&taken.values);
	result = ofedconf_read(path, &taker, &error);
	if (!result || result == -ENOENT)
		return 0;
	if (error.line)
		fprintf(stderr, "ofedctrl: %s:%u: %s\n", path, error.line,
			error.why);
	else
		fprintf(stderr, "ofedctrl: %s: %s\n", path, error.why);
	return 1;
}

static int reload(void)
{
	char words[ERROR_BYTES];
	int error, fd;

	if (check_file() != 0)
		return 1;
	fd = open_core();
	if (fd < 0)
		return 1;
	error = control_call(fd, "reload", NULL, NULL, words, sizeof(words));
	close(fd);
	return error ? refused(error, words) : 0;
}

static int set_parameter(char *assignment)
{
	char request[CONTROL_LINE_BYTES], words[ERROR_BYTES];
	char *value = strchr(assignment, '=');
	struct parameters scratch;
	int id, error, fd;

	if (!value || value == assignment || !value[1]) {
		fputs(usage, stderr);
		return 1;
	}
	*value++ = '\0';
	id = parameter_find(assignment);
	if (id < 0) {
		fprintf(stderr, "ofedctrl: %s: there is no such parameter\n",
			assignment);
		return 1;
	}
	parameters_init(&scratch);
	if (parameters_set(&scratch, assignment, value) != 0) {
		fprintf(stderr,
			"ofedctrl: %s: %s is not a number in %ld to %ld\n",
			assignment, value, parameter_table[id].min,
			parameter_table[id].max);
		return 1;
	}
	fd = open_core();
	if (fd < 0)
		return 1;
	snprintf(request, sizeof(request), "set %s %ld",
		 parameter_table[id].name, scratch.value[id]);
	error = control_call(fd, request, NULL, NULL, words, sizeof(words));
	close(fd);
	return error ? refused(error, words) : 0;
}

/* ---- -q ----------------------------------------------------------------- */

static void take_value(void *owner, const char *text)
{
	struct parameters *values = owner;
	char name[CONTROL_LINE_BYTES];
	long value;
	int id;

	if (sscanf(text, "%511s %ld", name, &value) != 2)
		return;
	id = parameter_find(name);
	if (id >= 0)
		values->value[id] = value;
}

static void print_settings(const struct parameters *values)
{
	char text[64];
	int i;

	printf("\n" RULE "Current Settings\n" RULE);
	for (i = 0; i < PARAMETER_COUNT; i++) {
		if (parameter_table[i].kind != PARAMETER_AIX)
			continue;
		parameter_format(text, sizeof(text), i, values->value[i]);
		printf("%-21s : %s\n", parameter_table[i].name, text);
	}
	fputs(RULE, stdout);
}

static int query(void)
{
	char words[ERROR_BYTES] = "";
	struct parameters values;
	int error = 0, fd = control_open();

	if (fd < 0 && !is_absent(fd)) {
		fprintf(stderr, "ofedctrl: cannot reach " CORE ": %s\n",
			strerror(-fd));
		return 1;
	}
	parameters_init(&values);
	if (fd >= 0) {
		error = control_call(fd, "query", take_value, &values, words,
				     sizeof(words));
		close(fd);
	}
	if (error)
		return refused(error, words);
	printf("\n" RULE "Current Status\n" RULE CORE " kernel ext : %s\n",
	       fd >= 0 ? "loaded" : "not loaded");
	if (fd >= 0)
		print_settings(&values);
	return 0;
}

/* ---- -l ----------------------------------------------------------------- */

static bool take_program(const char *directory, const char *way, char *out,
			 size_t size)
{
	return snprintf(out, size, "%s/%s", directory, way) < (int)size &&
	       access(out, X_OK) == 0;
}

/* As the library of smc_run: in the build tree, as installed, as built. */
static bool find_program(char *out, size_t size)
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[n > 0 ? n : 0] = '\0';
	slash = strrchr(own, '/');
	if (slash)
		*slash = '\0';
	return take_program(own, CORE, out, size) ||
	       take_program(own, "../lib/" CORE, out, size) ||
	       take_program(own, "../lib/smc_r/" CORE, out, size) ||
	       take_program(SMC_R_LIBDIR, CORE, out, size);
}

/* The version of RoCE that `no -r` asked for: 0, or 1 and it was said why. */
static int prepare_roce(long *value)
{
	const struct tunable *t = tunables_find("roce_v2_mode");
	char digits[16], dir[PATH_MAX] = "";
	unsigned line;
	int error = tunables_get(TUNABLES_NEXTBOOT, t, value, &line);

	if (error) {
		tunables_dir(dir, sizeof(dir));
		fprintf(stderr, "ofedctrl: %s/" TUNABLES_NEXTBOOT, dir);
		if (line)
			fprintf(stderr, ", line %u", line);
		fprintf(stderr,
			": roce_v2_mode cannot be read; set it again with "
			"no -r -o roce_v2_mode=0\n");
		return 1;
	}
	snprintf(digits, sizeof(digits), "%ld", *value);
	return setenv(ROCE_VARIABLE, digits, 1) == 0 ? 0 : 1;
}

/*
 * What the no command shows as the current value. An ordinary user who runs a
 * core of his own may have no right to note it.
 */
static void note_roce(long value)
{
	const struct tunable *t = tunables_find("roce_v2_mode");
	unsigned line;
	long noted;

	if (tunables_get(TUNABLES_LASTBOOT, t, &noted, &line) == 0 &&
	    noted == value)
		return;
	tunables_put(TUNABLES_LASTBOOT, t, value);
}

static int run_core(const char *program)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		execl(program, CORE, (char *)NULL);
		fprintf(stderr, "ofedctrl: %s: %s\n", program, strerror(errno));
		_exit(127);
	}
	if (child < 0) {
		fprintf(stderr, "ofedctrl: fork: %s\n", strerror(errno));
		return 1;
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return 1;
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "ofedctrl: %s was ended by signal %d\n",
			program, WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

static int load(const char *named)
{
	char program[PATH_MAX];
	long roce;
	int fd;

	if (check_file() != 0)
		return 1;
	fd = control_open();
	if (fd >= 0) {
		close(fd);
		fprintf(stderr, "ofedctrl: " CORE " is already loaded\n");
		return 0;
	}
	if (!named && !find_program(program, sizeof(program))) {
		fprintf(stderr,
			"ofedctrl: the RDMA core (" CORE ") is not part of "
			"this installation; name its program with -k\n");
		return 1;
	}
	if (prepare_roce(&roce) != 0 || run_core(named ? named : program) != 0)
		return 1;
	note_roce(roce);
	return 0;
}

/* ---- -u ----------------------------------------------------------------- */

/* What each program that uses the core has open. */
struct users {
	FILE *file;
	const char *heading;
	int count;
};

static void print_client(void *owner, const char *text)
{
	struct users *users = owner;
	unsigned uid, devices, pairs;
	char name[64];
	int pid;

	if (sscanf(text, "%d %u %u %u %63[^\n]", &pid, &uid, &devices, &pairs,
		   name) != 5)
		return;
	if (users->count++ == 0)
		fprintf(users->file, "%s", users->heading);
	fprintf(users->file,
		"\t%d %s (uid %u; open devices: %u; queue pairs: %u)\n", pid,
		name, uid, devices, pairs);
}

/* Says what unload() would do, and changes nothing. */
static int say_unload(void)
{
	struct users users = {.file = stdout,
			      .heading = "programs that use " CORE ":\n"};
	struct parameters values;
	char words[ERROR_BYTES];
	int error, fd = open_core();

	if (fd < 0)
		return 1;
	parameters_init(&values);
	error = control_call(fd, "clients", print_client, &users, words,
			     sizeof(words));
	if (!error)
		error = control_call(fd, "query", take_value, &values, words,
				     sizeof(words));
	close(fd);
	if (error)
		return refused(error, words);
	if (!users.count) {
		printf("no program uses " CORE "\n");
		return 0;
	}
	printf("their devices would fail at once; those that go on would get "
	       "SIGTERM after %ld ms, and SIGKILL %ld ms later\n",
	       values.value[PARAMETER_DELAY_KILL],
	       values.value[PARAMETER_DELAY_BETWEEN_SIGNALS]);
	return 0;
}

static int unload(void)
{
	struct users users = {.file = stderr,
			      .heading =
				  "ofedctrl: programs that use " CORE
				  " are told, and ended if they go on:\n"};
	char words[ERROR_BYTES];
	int error, fd = open_core();

	if (fd < 0)
		return 1;
	error = control_call(fd, "clients", print_client, &users, words,
			     sizeof(words));
	if (!error)
		error = control_call(fd, "unload", NULL, NULL, words,
				     sizeof(words));
	if (error) {
		close(fd);
		return refused(error, words);
	}
	error = control_wait_gone(fd);
	close(fd);
	return error ? refused(error, "") : 0;
}

/* ---- Options ------------------------------------------------------------ */

/* One action; -k goes with -l, -u and -q. */
static bool parse(int argc, char **argv, struct options *options)
{
	int option;

	while ((option = getopt(argc, argv, "luqcnk:p:h")) != -1) {
		switch (option) {
		case 'k':
			options->program = optarg;
			break;
		case 'n':
			options->is_dry = true;
			break;
		case 'p':
			options->assignment = optarg;
			/* fall through */
		case 'l':
		case 'u':
		case 'q':
		case 'c':
		case 'h':
			if (options->action)
				return false;
			options->action = option;
			break;
		default:
			return false;
		}
	}
	return optind == argc && options->action &&
	       (!options->is_dry || options->action == 'u') &&
	       (!options->program || strchr("luq", options->action));
}

static int act(const struct options *options)
{
	switch (options->action) {
	case 'l':
		return load(options->program);
	case 'u':
		return options->is_dry ? say_unload() : unload();
	case 'q':
		return query();
	case 'c':
		return reload();
	case 'p':
		return set_parameter(options->assignment);
	}
	fputs(usage, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.action = 0};

	if (!parse(argc, argv, &options)) {
		fputs(usage, stderr);
		return 1;
	}
	return output_end("ofedctrl", act(&options), 1);
}
