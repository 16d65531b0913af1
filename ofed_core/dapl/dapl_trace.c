/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_trace: which calls of uDAPL are shown on standard error. */
#include "ofed_core/dapl/dapl_trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LEVEL_ERROR  1
#define LEVEL_NORMAL 3
#define LEVEL_DETAIL 7

static _Atomic DAT_UINT32 dat_level;
static _Atomic DAT_UINT32 dapl_level;

static DAT_UINT32 level_of(const char *variable)
{
	const char *text = getenv(variable);
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	value = strtoul(text, &end, 10);
	return *end || value > DAPL_TRACE_MAX ? 0 : (DAT_UINT32)value;
}

/* The types of Debian's own messages (DAPL_DBG_TYPE): errors, warnings;
 * connections, endpoints; all. */
static const char *type_of(DAT_UINT32 level)
{
	if (level >= LEVEL_DETAIL)
		return "0xffff";
	return level >= LEVEL_NORMAL ? "0x1b" : "0x3";
}

void dapl_trace_init(void)
{
	dat_level = level_of("DAT_TRACE_LEVEL");
	dapl_level = level_of("DAPL_TRACE_LEVEL");
	if (dapl_level >= LEVEL_ERROR)
		setenv("DAPL_DBG_TYPE", type_of(dapl_level), 0);
}

DAT_RETURN dat_trclvl_query(DAT_UINT32 *dat, DAT_UINT32 *dapl)
{
	if (!dat || !dapl)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	*dat = dat_level;
	*dapl = dapl_level;
	return DAT_SUCCESS;
}

DAT_RETURN dat_trclvl_modify(DAT_UINT32 dat, DAT_UINT32 dapl)
{
	if (dat > DAPL_TRACE_MAX || dapl > DAPL_TRACE_MAX)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	dat_level = dat;
	dapl_level = dapl;
	return DAT_SUCCESS;
}

void dapl_trace_call(const char *name)
{
	if (dat_level >= LEVEL_NORMAL)
		dprintf(STDERR_FILENO, "5C7 %s\n", name);
}

DAT_RETURN dapl_trace_end(const char *name, DAT_RETURN result)
{
	const char *major = "?", *minor = "";

	if (DAT_GET_TYPE(result) == DAT_SUCCESS) {
		if (dapl_level >= LEVEL_DETAIL)
			dprintf(STDERR_FILENO, "5C3 %s done\n", name);
		return result;
	}
	if (dat_level < LEVEL_ERROR && dapl_level < LEVEL_ERROR)
		return result;
	dat_strerror(result, &major, &minor);
	if (dat_level >= LEVEL_ERROR)
		dprintf(STDERR_FILENO, "5C8 %s %s\n", name, major);
	if (dapl_level >= LEVEL_ERROR)
		dprintf(STDERR_FILENO, "5C4 %s %s %s\n", name, major, minor);
	return result;
}
