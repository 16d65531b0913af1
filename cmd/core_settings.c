/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* core_settings: the settings of the RDMA core. */
#include "core_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/ofedconf.h"
#include "ofed_core/base/control.h"
#include "ofed_core/base/parameters.h"

#include "core_access.h"
#include "cure.h"

#define RULE "-----------------------------------------\n"

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
	/* The parameter may stand there by its other name, too. */
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

int core_check_file(void)
{
	struct taken taken = {.line = {0}};
	const struct ofedconf_taker taker = {.take = take, .owner = &taken};
	const char *path = parameters_path();
	struct ofedconf_error error;
	bool is_call;
	int result;

	parameters_init(&taken.values);
	result = ofedconf_read(path, &taker, &error);
	if (!result || result == -ENOENT)
		return 0;
	/* An error that is not the kernel's says in its words what to do. */
	is_call = strcmp(error.why, strerror(-result)) == 0;
	if (error.line)
		fprintf(stderr, "ofedctrl: %s:%u: %s\n", path, error.line,
			error.why);
	else
		fprintf(stderr, "ofedctrl: %s: %s%s%s\n", path, error.why,
			is_call ? ". " : "",
			is_call ? cure_of(result, "OFED_CONF") : "");
	return 1;
}

int core_reload(void)
{
	char words[CORE_ERROR_BYTES];
	int error, fd;

	if (core_check_file() != 0)
		return 1;
	fd = core_open();
	if (fd < 0)
		return 1;
	error = control_call(fd, "reload", NULL, NULL, words, sizeof(words));
	close(fd);
	return error ? core_refused(error, words) : 0;
}

/* Those of AIX, which are all that an administrator needs. */
static int say_parameters(const char *wrong)
{
	fprintf(stderr, "ofedctrl: %s: there is no such parameter. There are",
		wrong);
	for (int i = 0; i < PARAMETER_COUNT; i++)
		if (parameter_table[i].kind == PARAMETER_AIX)
			fprintf(stderr, " %s", parameter_table[i].name);
	fputs(".\n", stderr);
	return 1;
}

int core_set_parameter(char *assignment, int (*load)(const char *program))
{
	char request[CONTROL_LINE_BYTES], words[CORE_ERROR_BYTES];
	char *value = strchr(assignment, '=');
	struct parameters scratch;
	int id, error, fd;

	*value++ = '\0';
	id = parameter_find(assignment);
	if (id < 0) {
		return say_parameters(assignment);
	}
	parameters_init(&scratch);
	if (parameters_set(&scratch, assignment, value) != 0) {
		fprintf(stderr,
			"ofedctrl: %s: %s is not a number in %ld to %ld\n",
			assignment, value, parameter_table[id].min,
			parameter_table[id].max);
		return 1;
	}
	fd = control_open(core_namespace);
	if (core_is_absent(fd) && !core_namespace && load(NULL) != 0)
		return 1;
	if (fd < 0)
		fd = core_open();
	if (fd < 0)
		return 1;
	snprintf(request, sizeof(request), "set %s %ld",
		 parameter_table[id].name, scratch.value[id]);
	error = control_call(fd, request, NULL, NULL, words, sizeof(words));
	close(fd);
	return error ? core_refused(error, words) : 0;
}

void core_take_value(void *owner, const char *text)
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

int core_show(const char *program)
{
	char words[CORE_ERROR_BYTES] = "";
	struct parameters values;
	int error = 0, fd = control_open(core_namespace);

	if (fd < 0 && !core_is_absent(fd)) {
		return core_unreached(fd);
	}
	if (fd >= 0 && !core_runs(fd, program)) {
		close(fd);
		fd = -1;
	}
	parameters_init(&values);
	if (fd >= 0) {
		error = control_call(fd, "query", core_take_value, &values,
				     words, sizeof(words));
		close(fd);
	}
	if (error)
		return core_refused(error, words);
	printf("\n" RULE "Current Status\n" RULE CORE " kernel ext : %s\n",
	       fd >= 0 ? "loaded" : "not loaded");
	if (fd >= 0)
		print_settings(&values);
	return 0;
}
