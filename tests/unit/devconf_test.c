/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conf/devconf.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void becomes(const char *attribute, const char *value,
		    const char *wanted)
{
	char out[DEVCONF_VALUE_SIZE], why[DEVCONF_WHY_SIZE] = "";

	cr_assert_eq(devconf_normalise(attribute, value, out, why), 0,
		     "%s=%s: %s", attribute, value, why);
	cr_assert_str_eq(out, wanted, "%s=%s gave %s", attribute, value, out);
	cr_assert_eq(devconf_normalise(attribute, wanted, out, why), 0);
	cr_assert_str_eq(out, wanted, "the normal form is stable");
}

static void fails(const char *attribute, const char *value)
{
	char out[DEVCONF_VALUE_SIZE], why[DEVCONF_WHY_SIZE] = "";

	cr_assert_eq(devconf_normalise(attribute, value, out, why), -EINVAL,
		     "%s=%s", attribute, value);
	cr_assert_neq(why[0], '\0', "%s=%s: no reason", attribute, value);
}

Test(devconf, ports_may_be_separated_by_commas_and_blanks)
{
	becomes("port_range_list", "1-20,23,50", "1-20,23,50");
	becomes("port_range_list", "1 - 20 , 23 50", "1-20,23,50");
	becomes("port_range_list", "  1-20\t23,50  ", "1-20,23,50");
	becomes("port_range_list", "1- 20", "1-20");
	becomes("port_range_list", "1 -20", "1-20");
	becomes("port_range_list", "", "");
	becomes("port_range_list", "   ", "");
	becomes("port_range_list", "65535", "65535");
	becomes("port_range_list", "1-65535", "1-65535");
}

Test(devconf, ports_are_sorted_and_merged)
{
	becomes("port_range_list", "50,23,1-20", "1-20,23,50");
	becomes("port_range_list", "1-20,10-30", "1-30");
	becomes("port_range_list", "1-20,21", "1-21");
	becomes("port_range_list", "7,7,7-7", "7");
	becomes("port_range_list", "0080", "80");
	becomes("port_range_list", "65535,65534", "65534-65535");
}

Test(devconf, ports_that_make_no_sense_are_refused)
{
	static const char *const bad[] = {
	    "0",     "70000", "65536",  "9-3",    "-5",     "1-",
	    "1--2",  "1-2-3", "a",      "80a",    "1,,2",   ",1",
	    "1,",    "1, ,2", "1.5",    "+80",    "0x50",   "99999999999999999",
	    "80;81", "1 - ",  "1 or 2", "80\n81", "1-2 -3",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		fails("port_range_list", bad[i]);
}

Test(devconf, sixty_four_ranges_are_the_limit)
{
	char text[DEVCONF_VALUE_SIZE] = "", more[DEVCONF_VALUE_SIZE + 16];
	char out[DEVCONF_VALUE_SIZE], why[DEVCONF_WHY_SIZE] = "";

	for (unsigned i = 0; i < SNAPSHOT_RANGES_MAX; i++)
		sprintf(text + strlen(text), "%s%u-%u", i ? "," : "",
			10000 + 3 * i, 10001 + 3 * i);
	becomes("port_range_list", text, text);
	snprintf(more, sizeof(more), "%s,60000", text);
	fails("port_range_list", more);
	/* One that joins two of them leaves room. */
	snprintf(more, sizeof(more), "%s,10002,60000", text);
	cr_assert_eq(devconf_normalise("port_range_list", more, out, why), 0,
		     "%s", why);
	cr_assert_eq(strncmp(out, "10000-10004,10006-", 18), 0);
}

Test(devconf, a_mapped_address_is_the_ipv4_address)
{
	becomes("ip_addr_list", "::ffff:10.0.0.1", "10.0.0.1");
	becomes("ip_addr_list", "10.0.0.1,::ffff:10.0.0.1", "10.0.0.1");
	becomes("ip_addr_list", "::ffff:a00:1 10.0.0.2", "10.0.0.1,10.0.0.2");
}

Test(devconf, at_most_two_different_addresses)
{
	becomes("ip_addr_list", "10.0.0.1, fe80::1", "10.0.0.1,fe80::1");
	becomes("ip_addr_list", "10.0.0.1 10.0.0.1 10.0.0.1", "10.0.0.1");
	becomes("ip_addr_list", "FE80:0::0001", "fe80::1");
	becomes("ip_addr_list", "", "");
	fails("ip_addr_list", "10.0.0.1,10.0.0.2,10.0.0.3");
}

Test(devconf, what_is_no_address_of_a_host_is_refused)
{
	static const char *const bad[] = {
	    "host",
	    "10.0.0",
	    "10.0.0.256",
	    "0.0.0.0",
	    "::",
	    "ff02::1",
	    "224.0.0.1",
	    "255.255.255.255",
	    "10.0.0.1/24",
	    "fe80::1%2",
	    "10.0.0.1,,::1",
	    ",::1",
	    "::1,",
	    "::ffff:0.0.0.0",
	    "1:2:3:4:5:6:7:8:9",
	    "[::1]",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		fails("ip_addr_list", bad[i]);
}

Test(devconf, programs_have_names_without_directory)
{
	becomes("exclude_list", "sshd", "sshd");
	becomes("exclude_list", " sshd , a.out sshd", "sshd,a.out");
	becomes("exclude_list", "", "");
	fails("exclude_list", "/usr/sbin/sshd");
	fails("exclude_list", "sshd,,a");
	fails("exclude_list", "a-name-of-exactly-32-bytes-in-all");
}

Test(devconf, switches_and_memory_are_numbers_in_their_range)
{
	becomes("enabled", "1", "1");
	becomes("max_memory", "16", "16");
	becomes("max_memory", "65536", "65536");
	fails("enabled", "2");
	fails("enabled", "");
	fails("enabled", "yes");
	fails("system_preload", "-1");
	becomes("autosmc", "no", "no");
	fails("autosmc", "0");
	fails("autosmc", "");
	fails("max_memory", "15");
	fails("max_memory", "65537");
	fails("max_memory", "-1");
	fails("max_memory", "1024M");
	fails("max_memory", "18446744073709551617");
}

static struct devconf_values good(void)
{
	return (struct devconf_values){
	    .enabled = "1",
	    .ip_addr_list = "10.0.0.1,fe80::1",
	    .max_memory = "1024",
	    .port_range_list = "6379,8000-8100",
	    .autosmc = "yes",
	    .system_preload = "0",
	    .exclude_list = "sshd",
	};
}

Test(devconf, a_set_of_values_becomes_a_snapshot)
{
	static const char wanted[] = "smc_r0 version 1\n"
				     "generation 0\n"
				     "enabled 1\n"
				     "ip_addr_list 10.0.0.1 fe80::1\n"
				     "max_memory_bytes 1073741824\n"
				     "port_range_list 6379 8000-8100\n"
				     "system_preload 0\n"
				     "exclude_list sshd\n"
				     "end\n";
	struct devconf_values v = good();
	char text[SNAPSHOT_TEXT_MAX + 1], why[DEVCONF_WHY_SIZE];
	const char *attribute;
	struct snapshot s;

	cr_assert_eq(devconf_snapshot(&v, &s, &attribute, why), 0);
	cr_assert_eq(snapshot_format(&s, text, sizeof(text)),
		     (int)strlen(wanted));
	cr_assert_str_eq(text, wanted);
}

Test(devconf, the_attribute_that_is_wrong_is_named)
{
	static const struct {
		const char *attribute, *value;
	} bad[] = {
	    {"enabled", "2"},
	    {"ip_addr_list", "nowhere"},
	    {"max_memory", "0"},
	    {"port_range_list", "70000"},
	    {"autosmc", "1"},
	    {"system_preload", "maybe"},
	    {"exclude_list", "/bin/sh"},
	    {"max_memory", NULL},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct devconf_values v = good();
		char why[DEVCONF_WHY_SIZE] = "";
		const char *attribute = "";
		struct snapshot s;

		*devconf_value(&v, bad[i].attribute) = bad[i].value;
		cr_assert_eq(devconf_snapshot(&v, &s, &attribute, why),
			     -EINVAL);
		cr_assert_str_eq(attribute, bad[i].attribute);
		cr_assert_neq(why[0], '\0');
	}
}

Test(devconf, other_attributes_have_no_place)
{
	struct devconf_values v = good();

	cr_assert_null(devconf_value(&v, "colour"));
	becomes("colour", "any words, as they are", "any words, as they are");
}
