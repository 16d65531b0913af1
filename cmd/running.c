/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* running: the device as it runs, outside of the database. */
#include "running.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/attrdb.h"
#include "conf/publish.h"
#include "conf/rundir.h"
#include "smc_r/bpf/bpf_load.h"

#include "cure.h"
#include "run_library.h"

#define VERBOSE_VARIABLE "SMC_R_VERBOSE"

bool running_is_left(const struct running *r)
{
	return publish_owner_is(r->rundir, attrdb_dir());
}

int running_init(struct running *r, const char *rundir)
{
	int error;

	memset(r, 0, sizeof(*r));
	r->rundir = r->full = rundir;
	error = snapshot_read(rundir, &r->old);
	r->was_published = error == 0;
	/* A line may have been left without settings. */
	r->had_preload =
	    r->was_published ? r->old.system_preload : running_is_left(r);
	/* A damaged one, or a stranger's, is replaced like a missing one. */
	return error == -ENOENT || error == -EPROTO || error == -EPERM ? 0
								       : error;
}

void running_fini(struct running *r)
{
	ldpreload_fini(&r->edit);
}

static int explain(struct running *r, int error)
{
	snprintf(
	    r->why, sizeof(r->why), "%s%s: %s\n%s", r->rundir, publish_part(),
	    error == -EPERM ? "it belongs to somebody else" : strerror(-error),
	    cure_of(error, RUNDIR_VARIABLE));
	return error;
}

struct preload {
	char library[PATH_MAX];
	char line[PATH_MAX];
};

/* What the line is; and may it be there, if it is wanted? */
static int find_preload(struct running *r, bool wanted, struct preload *p)
{
	int error = run_library_find(p->library, sizeof(p->library), r->why,
				     sizeof(r->why));

	if (error && wanted)
		return error;
	/* The name of the line is enough for taking it away. */
	if (error)
		strcpy(p->library, "/" RUN_LIBRARY_NAME);
	run_library_line(p->library, p->line);
	return wanted ? ldpreload_check(p->library, p->line, r->why,
					sizeof(r->why))
		      : 0;
}

/*
 * There is one file for the host, but there may be devices in other databases:
 * the line is taken away only by the device that asked for it.
 */
static int set_preload(struct running *r, bool wanted, const struct preload *p)
{
	int error = 0;
	size_t used;

	if (wanted || r->had_preload)
		error = ldpreload_set(&r->edit, p->line, wanted, r->why,
				      sizeof(r->why));
	if (!error)
		return 0;
	used = strlen(r->why);
	snprintf(r->why + used, sizeof(r->why) - used, "\n%s",
		 cure_of(error, LDPRELOAD_FILE_VARIABLE));
	r->full = LDPRELOAD_DIRECTORY;
	return error;
}

/* Without BPF processes of this host find each other all the same. */
static bool is_no_bpf(int error)
{
	return error == -EPERM || error == -ENOSYS || error == -EOPNOTSUPP;
}

static int set_bpf(struct running *r, const struct snapshot *s)
{
	const char *verbose = getenv(VERBOSE_VARIABLE);
	int error = -ENOENT;

	if (r->was_published)
		error = bpf_load_update(r->rundir, s, r->why, sizeof(r->why));
	if (error == -ENOENT)
		error = bpf_load_attach(r->rundir, s, r->why, sizeof(r->why));
	if (is_no_bpf(error)) {
		if (verbose && strcmp(verbose, "1") == 0)
			fprintf(stderr,
				"note: no SMC option in TCP, so SMC-R only "
				"within this host: %s\n",
				r->why);
		return 0;
	}
	r->has_bpf = error == 0;
	return error;
}

int running_start(struct running *r, struct snapshot *s)
{
	struct preload preload;
	int error = find_preload(r, s->system_preload, &preload);

	if (error)
		return error;
	error = publish_prepare(r->rundir);
	if (error)
		return explain(r, error);
	/* If we are killed, the next process cleans up after us, and begins by
	 * this flag. */
	r->is_owned = true;
	error = publish_owner_set(r->rundir, attrdb_dir());
	if (error) {
		explain(r, error);
		goto fail;
	}
	/* The settings say that the line is ours as long as it may be there:
	 * after a kill they tell which process takes it away. */
	if (!s->system_preload)
		error = set_preload(r, false, &preload);
	if (error)
		goto fail;
	error = publish_write(r->rundir, s);
	if (error) {
		explain(r, error);
		goto fail;
	}
	r->is_published = true;
	if (s->system_preload)
		error = set_preload(r, true, &preload);
	if (error)
		goto fail;
	error = set_bpf(r, s);
	if (error)
		goto fail;
	return 0;
fail:
	running_undo(r);
	return error;
}

int running_stop(struct running *r)
{
	struct preload preload;
	int error = publish_remove(r->rundir);

	if (error)
		return explain(r, error);
	r->is_withdrawn = true;
	error = find_preload(r, false, &preload);
	if (!error)
		error = set_preload(r, false, &preload);
	/* Without settings the library does nothing where it is loaded. */
	r->keeps_line = error == -EROFS;
	if (error && !r->keeps_line)
		goto fail;
	error = bpf_load_detach(r->rundir);
	if (error && !is_no_bpf(error)) {
		snprintf(r->why, sizeof(r->why), "BPF program: %s",
			 strerror(-error));
		goto fail;
	}
	r->has_bpf = true;
	/* The note lets the device be taken away once more. */
	if (!r->keeps_line)
		publish_owner_clear(r->rundir);
	return 0;
fail:
	running_undo(r);
	return error;
}

/*
 * What fails here cannot be undone once more. The next command that changes
 * the device publishes everything again from the database.
 */
void running_undo(struct running *r)
{
	char why[RUNNING_WHY_SIZE];

	ldpreload_undo(&r->edit);
	if (r->was_published && r->is_withdrawn)
		publish_owner_set(r->rundir, attrdb_dir());
	if (r->was_published && (r->is_published || r->is_withdrawn))
		publish_write(r->rundir, &r->old);
	else if (r->is_published)
		publish_remove(r->rundir);
	if (r->has_bpf && r->was_published)
		bpf_load_attach(r->rundir, &r->old, why, sizeof(why));
	else if (r->has_bpf)
		bpf_load_detach(r->rundir);
	if (r->is_owned && !r->was_published)
		publish_owner_clear(r->rundir);
	r->is_published = r->is_withdrawn = r->has_bpf = r->is_owned = false;
}
