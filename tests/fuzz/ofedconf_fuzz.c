/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofedconf_fuzz: any bytes as /etc/ofed.conf. What ofedctrl lets pass the RDMA
 * core must read too, and to the same values.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conf/ofedconf.h"
#include "ofed_core/base/parameters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taken {
	struct parameters values;
	bool unknown;
	unsigned line;
};

static int take(void *owner, const struct ofedconf_setting *s,
		char why[OFEDCONF_WHY_SIZE])
{
	struct taken *t = owner;

	if (s->line <= t->line || strtol(s->text, NULL, 10) != s->value)
		abort();
	t->line = s->line;
	snprintf(why, OFEDCONF_WHY_SIZE, "%s", s->name);
	if (parameter_find(s->name) < 0) {
		t->unknown = true;
		return 0;
	}
	return parameters_set(&t->values, s->name, s->text);
}

static void compare_with_core(const struct taken *t, const char *text,
			      size_t size)
{
	struct parameters values;
	char path[64];
	int line, i;
	int fd = memfd_create("ofed.conf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	parameters_init(&values);
	if (parameters_read(&values, path, &line) != 0)
		abort();
	for (i = 0; i < PARAMETER_COUNT; i++) {
		if (values.value[i] != t->values.value[i])
			abort();
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct taken t = {.line = 0};
	const struct ofedconf_taker taker = {take, &t};
	struct ofedconf_error error;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	parameters_init(&t.values);
	if (ofedconf_parse(text, size, &taker, &error) == 0) {
		if (!t.unknown)
			compare_with_core(&t, text, size);
	} else if (!*error.why) {
		abort();
	}
	free(text);
	return 0;
}
