/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * method: what the commands do to a device: configure, unconfigure, undefine
 * (AIX: the programs in /usr/lib/methods).
 *
 * Each works inside one change of the database, which method_change() begins
 * and ends, and returns an exit status, the reason printed.
 */
#ifndef CMD_METHOD_H
#define CMD_METHOD_H

#include "attrdb/device.h"
#include "message.h"
#include "running.h"

#define METHOD_DEFINE      "/usr/lib/methods/defsmcr"
#define METHOD_CONFIGURE   "/usr/lib/methods/cfgsmcr"
#define METHOD_CHANGE      "/usr/lib/methods/chgsmcr"
#define METHOD_UNCONFIGURE "/usr/lib/methods/ucfgsmcr"

struct method {
	const struct cmd *cmd;
	struct attrdb *db;
	struct running running;
	bool is_running; /* running is in use, and to be undone or finished */
	bool lacks_db;   /* db is NULL, because it cannot be had */
};

/*
 * Opens the database for a change (made where it is missing, if the command
 * creates), and has the work done. What it did stays, in the database and in
 * the running device, if it returns EXIT_DONE and can be committed; else all of
 * it is undone. m->db is NULL where there is no database; and for a command
 * that ends_anyway where none can be had, which was said, but not where another
 * command has it.
 */
int method_change(const struct cmd *cmd, bool creates, char *const *argv,
		  int (*work)(struct method *m, void *request), void *request);

/*
 * Looks at the device as it runs now. To be called, in the name of a method,
 * before the database is changed.
 */
int method_begin(struct method *m, const struct attrdb_device *device,
		 const char *method);

/*
 * Brings the running device to the running values that the database has for
 * it, in the name of a method.
 */
int method_apply(struct method *m, const struct attrdb_device *device,
		 const char *method);

/* Defined or Available -> Available; device->status follows. */
int method_configure(struct method *m, struct attrdb_device *device);
/* -> Defined. Refused while connections are in progress. */
int method_unconfigure(struct method *m, struct attrdb_device *device);
/*
 * Whether one that is Defined, or that this database does not have, runs all
 * the same: a mkdev was killed. method_unconfigure() takes a Defined one out of
 * service too; method_clear() one that there is not.
 */
bool method_is_left(const struct attrdb_device *device);
int method_clear(struct method *m, const char *name);
/* Defined -> gone. */
int method_undefine(struct method *m, const struct attrdb_device *device);

const char *method_state_name(int status);

/*
 * The state of a device with this one in the database. One of ours that is
 * Available there, but not in the run directory, is Defined: the host was
 * started anew since.
 */
int method_status(int stored, const char *uniquetype);

#endif
