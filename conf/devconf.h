/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * devconf: what the attributes of smc_r0 mean.
 *
 * Checks values beyond their type, writes them in one normal form, and turns a
 * whole set of them into the snapshot that engines read.
 *
 * Lists are separated by commas, blanks, or both:
 *	ip_addr_list	at most two IPv4 or IPv6 addresses of this host;
 *			::ffff:a.b.c.d is the IPv4 address a.b.c.d
 *	port_range_list	ports 1 to 65535 and ranges: 1-20,23,50. Blanks may
 *			surround the '-'.
 *	exclude_list	names of programs, without directory
 *
 * Pure: no clock, no descriptor, no heap.
 */
#ifndef CONF_DEVCONF_H
#define CONF_DEVCONF_H

#include "snapshot.h"

#define DEVCONF_DEVICE     "smc_r0"
#define DEVCONF_UNIQUETYPE "tcpip/smc/smc_r"
#define DEVCONF_VALUE_SIZE 1024 /* bytes of a value, with the final NUL */
#define DEVCONF_WHY_SIZE   160

struct devconf_values {
	const char *enabled;
	const char *ip_addr_list;
	const char *max_memory; /* megabytes */
	const char *port_range_list;
	const char *autosmc; /* yes or no */
	const char *system_preload;
	const char *exclude_list;
};

/* The place of the attribute in v; NULL when smc_r0 has no such attribute. */
const char **devconf_value(struct devconf_values *v, const char *attribute);

/* What a value that was refused should have counted: " (MB)", or "". */
const char *devconf_unit(const char *attribute);

/*
 * The value in its normal form: ports sorted and merged, addresses as
 * inet_ntop(3) prints them, each once, commas between. 0, or -EINVAL with the
 * reason in why. An attribute without a form of its own is copied.
 */
int devconf_normalise(const char *attribute, const char *value,
		      char out[DEVCONF_VALUE_SIZE], char why[DEVCONF_WHY_SIZE]);

/*
 * 0, or -EINVAL with the name of the attribute in *attribute (a constant) and
 * the reason in why; *out is untouched then. The generation is 0.
 */
int devconf_snapshot(const struct devconf_values *v, struct snapshot *out,
		     const char **attribute, char why[DEVCONF_WHY_SIZE]);

#endif
