/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ports_fuzz: any text as a list of ports, of addresses and of programs. A
 * value that is accepted has a normal form, which is its own normal form and
 * makes a snapshot that can be published.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/devconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_list(const char *attribute, const char *text)
{
	char once[DEVCONF_VALUE_SIZE], twice[DEVCONF_VALUE_SIZE];
	char why[DEVCONF_WHY_SIZE], printed[SNAPSHOT_TEXT_MAX + 1];
	struct devconf_values v = {"1", "", "64", "", "yes", "0", ""};
	struct snapshot s, again;
	const char *wrong;
	int length;

	if (devconf_normalise(attribute, text, once, why) != 0)
		return;
	if (devconf_normalise(attribute, once, twice, why) != 0 ||
	    strcmp(once, twice) != 0)
		abort();
	*devconf_value(&v, attribute) = text;
	if (devconf_snapshot(&v, &s, &wrong, why) != 0)
		abort();
	length = snapshot_format(&s, printed, sizeof(printed));
	if (length < 0 || snapshot_parse(printed, (size_t)length, &again) != 0)
		abort();
	*devconf_value(&v, attribute) = once;
	if (devconf_snapshot(&v, &again, &wrong, why) != 0 ||
	    memcmp(&s, &again, sizeof(s)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	try_list("port_range_list", text);
	try_list("ip_addr_list", text);
	try_list("exclude_list", text);
	free(text);
	return 0;
}
