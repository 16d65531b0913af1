/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofedctrl: loads, unloads and configures the RDMA core, ofed_core.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core_access.h"
#include "core_load.h"
#include "core_settings.h"
#include "core_unload.h"
#include "output.h"
#include "version.h"

static const char usage[] =
    "Usage: ofedctrl { [-k KernextName] -l|u|q } | "
    "[ -c | -p ParameterName=Value ] | -h\n"
    "\n"
    "  -l  load the RDMA core\n"
    "  -u  unload it; programs that use it are ended\n"
    "  -q  show whether it is loaded, and its settings\n"
    "  -k  the path of the core's program that is meant\n"
    "  -c  read the configuration file again\n"
    "  -p  change a parameter until it is read again or the core unloaded;\n"
    "      loads the core first if it is not\n"
    "  -n  with -u: only say which programs would be ended, and when\n"
    "  -N  the network namespace whose core is meant, by its name; not -l\n"
    "  -h  this text\n";

struct options {
	int action; /* the letter, 0 none */
	bool is_dry;
	const char *program;
	char *assignment;
};

static bool is_assignment(const char *text)
{
	const char *value = strchr(text, '=');

	return value && value != text && value[1];
}

static bool is_name(const char *text)
{
	return *text && *text != '.' && !strchr(text, '/');
}

/* One action; -k goes with -l, -u and -q, -N with all that ask the core. */
static bool parse(int argc, char **argv, struct options *options)
{
	int option;

	while ((option = getopt(argc, argv, "luqcnk:p:hN:")) != -1) {
		switch (option) {
		case 'k':
			options->program = optarg;
			break;
		case 'n':
			options->is_dry = true;
			break;
		case 'N':
			if (!is_name(optarg))
				return false;
			core_namespace = optarg;
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
	       (!options->program || strchr("luq", options->action)) &&
	       (!core_namespace || strchr("uqcp", options->action));
}

static int act(const struct options *options)
{
	if (options->program && core_check_program(options->program) != 0)
		return 1;
	switch (options->action) {
	case 'l':
		return core_load(options->program);
	case 'u':
		return options->is_dry ? core_say_unload()
				       : core_unload(options->program);
	case 'q':
		return core_show(options->program);
	case 'c':
		return core_reload();
	case 'p':
		return core_set_parameter(options->assignment, core_load);
	}
	fputs(usage, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.action = 0};
	int status;

	if (version_answer("ofedctrl", argc, argv, &status))
		return status;
	if (!parse(argc, argv, &options)) {
		fputs(usage, stderr);
		return 1;
	}
	if (options.assignment && !is_assignment(options.assignment)) {
		fprintf(stderr,
			"ofedctrl: -p %s: ParameterName=Value is needed; "
			"ofedctrl -q shows names and values\n",
			options.assignment);
		fputs(usage, stderr);
		return 1;
	}
	return output_end("ofedctrl", act(&options), 1);
}
