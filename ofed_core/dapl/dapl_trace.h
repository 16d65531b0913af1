/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_trace: which calls of uDAPL are shown on standard error.
 *
 * There are two levels from 0, nothing, to 10. A line begins with the number of
 * AIX's trace hook: that of DAT has calls (5C7, from level 3 on) and errors
 * (5C8, from 1), that of DAPL ends of calls (5C3, from 7) and errors (5C4, from
 * 1).
 *
 * Locking: none; a level may change at any time.
 */
#ifndef OFED_CORE_DAPL_TRACE_H
#define OFED_CORE_DAPL_TRACE_H

#include <dat2/udat.h>

#define DAPL_TRACE_MAX 10

/* Reads DAT_TRACE_LEVEL and DAPL_TRACE_LEVEL; anything else counts as 0. */
void dapl_trace_init(void);

/*
 * What programs find in the attributes debug_query and debug_modify. A level
 * above DAPL_TRACE_MAX changes nothing and is DAT_INVALID_PARAMETER, as is
 * NULL.
 */
DAT_RETURN dat_trclvl_query(DAT_UINT32 *dat, DAT_UINT32 *dapl);
DAT_RETURN dat_trclvl_modify(DAT_UINT32 dat, DAT_UINT32 dapl);

void dapl_trace_call(const char *name);
/* Returns result. */
DAT_RETURN dapl_trace_end(const char *name, DAT_RETURN result);

#endif
