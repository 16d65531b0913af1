/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * running: the device as it runs, outside of the database: the snapshot in
 * the run directory, the line in ld.so.preload, the BPF settings.
 *
 * running_start() changes all of them or none. They stay as they are only if
 * the database can be committed after that; else running_undo() puts the old
 * ones back.
 *
 * Ownership: running_fini() frees what the undo would need.
 * Locking:   the caller holds the write lock of the attribute database.
 */
#ifndef CMD_RUNNING_H
#define CMD_RUNNING_H

#include <limits.h>
#include <stdbool.h>

#include "conf/ldpreload.h"
#include "conf/snapshot.h"

#define RUNNING_WHY_SIZE (PATH_MAX + 512)

struct running {
	const char *rundir;
	struct snapshot old;
	bool was_published; /* old is valid */
	bool is_published;  /* by us, now */
	bool is_withdrawn;  /* by us, now */
	bool is_owned;      /* by our database, now */
	bool has_bpf;       /* attached or updated by us, now */
	bool had_preload;   /* the line in ld.so.preload is this device's */
	struct ldpreload_edit edit;
	bool keeps_line;  /* in ld.so.preload, which cannot be changed */
	const char *full; /* with -ENOSPC: of which directory */
	char why[RUNNING_WHY_SIZE]; /* what failed, in words */
};

/* Looks at what runs now; 0 or -errno. */
int running_init(struct running *r, const char *rundir);
void running_fini(struct running *r);

/*
 * Does it run, at least in part, for this database? Where that says otherwise,
 * a command was killed before it could commit.
 */
bool running_is_left(const struct running *r);

/*
 * The device runs with these settings from now on, whether it ran before or
 * not; s->generation is set. 0, or -errno with r->why, and nothing changed.
 */
int running_start(struct running *r, struct snapshot *s);
/* The device does not run any more. As above. */
int running_stop(struct running *r);

void running_undo(struct running *r);

#endif
