/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * parameters: the settings of the RDMA core, as /etc/ofed.conf names them.
 *
 * What each of them does is told in ofed.conf(5).
 *
 * The table is constant and needs nothing but libc, so that a command can
 * print the defaults while the core is not loaded. The values are whole
 * numbers of the unit the table gives.
 *
 * Ownership: the caller owns struct parameters; the table is static.
 * Locking:   none here; the daemon guards its values itself.
 */
#ifndef OFED_CORE_PARAMETERS_H
#define OFED_CORE_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

/* The order is the one in which `ofedctrl -q` prints them. */
enum parameter_id {
	PARAMETER_TAVOR_QUIRK,
	PARAMETER_CMA_RESPONSE_TIMEOUT,
	PARAMETER_DEF_PREC2SL,
	PARAMETER_MAD_SENDQ_SIZE,
	PARAMETER_MAD_RCVQ_SIZE,
	PARAMETER_MAX_TIMEOUT,
	PARAMETER_UNIFY_TCP_PORT_SPACE,
	PARAMETER_MCAST_LEAVE_RETRIES,
	PARAMETER_DELAY_KILL,
	PARAMETER_DELAY_BETWEEN_SIGNALS,
	PARAMETER_BIND_ROUTE_INTERFACE,
	PARAMETER_CM_CONNECT_TIMEOUT,
	PARAMETER_CM_CONNECT_MAX_RETRY,
	PARAMETER_CM_DISCONNECT_TIMEOUT,
	PARAMETER_CM_DISCONNECT_MAX_RETRY,
	PARAMETER_ENFORCE_INTERFACE_STATE,
	PARAMETER_RAS_LOG_LEVEL,
	/* From here on: ours, not known to AIX. */
	PARAMETER_WIRE_LOSS,
	PARAMETER_WIRE_DUPLICATE,
	PARAMETER_WIRE_REORDER,
	PARAMETER_WIRE_LOSS_SEED,
	PARAMETER_COUNT
};

enum parameter_kind {
	PARAMETER_AIX,      /* in the AIX manual: `ofedctrl -q` shows it */
	PARAMETER_TEST_AID, /* ours, for tests only */
};

struct parameter {
	const char *name;
	const char *alias; /* second accepted spelling, or NULL */
	long initial;
	long min;
	long max;
	const char *unit; /* "ms", "exponent", "0/1", ... never NULL */
	enum parameter_kind kind;
};

struct parameters {
	long value[PARAMETER_COUNT];
};

extern const struct parameter parameter_table[PARAMETER_COUNT];
/* Words for ras_log_level 0..3: ERROR, WARNING, INFO, DEBUG. */
extern const char *const parameter_log_level_name[4];

/* Path of the configuration file: $OFED_CONF or /etc/ofed.conf. */
const char *parameters_path(void);

void parameters_init(struct parameters *p);

/* NAME or its alias; -ENOENT when unknown. */
int parameter_find(const char *name);

/*
 * Checks and stores one value given as text. -ENOENT: no such parameter;
 * -EINVAL: not a number; -ERANGE: outside min..max. *p changes on 0 only.
 */
int parameters_set(struct parameters *p, const char *name, const char *text);

/*
 * Reads `name=value` lines; '#' starts a comment. A file that does not exist
 * is an empty one. On the first bad line *p keeps what stood before it,
 * *line is that line's number and the error of parameters_set() (or -EINVAL
 * for a line without '=') is returned. Pass a fresh *p to read all or nothing.
 */
int parameters_read(struct parameters *p, const char *path, int *line);

/* The value as `ofedctrl -q` prints it: "8000 ms", "(1) WARNING", "20". */
int parameter_format(char *out, size_t size, int id, long value);

#endif
