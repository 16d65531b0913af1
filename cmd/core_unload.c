/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* core_unload: ends the RDMA core, and the programs that use it. */
#include "core_unload.h"

#include <stdio.h>
#include <unistd.h>

#include "ofed_core/base/control.h"
#include "ofed_core/base/parameters.h"

#include "core_access.h"
#include "core_settings.h"

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

int core_say_unload(void)
{
	struct users users = {.file = stdout,
			      .heading = "programs that use " CORE ":\n"};
	struct parameters values;
	char words[CORE_ERROR_BYTES];
	int error, fd = core_open();

	if (fd < 0)
		return 1;
	parameters_init(&values);
	error = control_call(fd, "clients", print_client, &users, words,
			     sizeof(words));
	if (!error)
		error = control_call(fd, "query", core_take_value, &values,
				     words, sizeof(words));
	close(fd);
	if (error)
		return core_refused(error, words);
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

int core_unload(const char *program)
{
	struct users users = {.file = stderr,
			      .heading =
				  "ofedctrl: programs that use " CORE
				  " are told, and ended if they go on:\n"};
	char words[CORE_ERROR_BYTES];
	int error, fd = core_open();

	if (fd < 0)
		return 1;
	if (!core_runs(fd, program)) {
		close(fd);
		fprintf(stderr, "ofedctrl: %s is not loaded\n", program);
		return 1;
	}
	error = control_call(fd, "clients", print_client, &users, words,
			     sizeof(words));
	if (!error)
		error = control_call(fd, "unload", NULL, NULL, words,
				     sizeof(words));
	if (error) {
		close(fd);
		return core_refused(error, words);
	}
	error = control_wait_gone(fd);
	close(fd);
	return error ? core_refused(error, "") : 0;
}
