/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bpf_pins: the directories of bpffs that keep our programs. */
#include "smc_r/bpf/bpf_pins.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "smc_r/os/option_instance.h"

#define RUNDIR    "rundir"
#define NAMESPACE "mount_namespace"

const char *const bpf_programs[BPF_PROGRAMS] = {"smc_option", "smc_release",
						"smc_state", "smc_mark"};

int bpf_pins_fail(const struct bpf_pins *p, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(p->why, p->why_size, format, arguments);
	va_end(arguments);
	return error;
}

int bpf_pins_init(struct bpf_pins *p, const char *rundir, char *why,
		  size_t size)
{
	int error;

	memset(p, 0, sizeof(*p));
	p->rundir = rundir;
	p->why = why;
	p->why_size = size;
	error = option_instance(rundir, &p->instance);
	if (error)
		return bpf_pins_fail(p, error,
				     "the run directory %s is no absolute path",
				     rundir);
	snprintf(p->path, sizeof(p->path), BPF_PINS_TOP "/%08x", p->instance);
	return 0;
}

int bpf_pins_mount(const struct bpf_pins *p)
{
	struct statfs kind;

	if (statfs(BPF_PINS_BPFFS, &kind) == 0 && kind.f_type == BPF_FS_MAGIC)
		return 0;
	if (mount("bpf", BPF_PINS_BPFFS, "bpf",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") == 0)
		return 0;
	if (errno == EPERM || errno == EACCES)
		return bpf_pins_fail(
		    p, -EPERM,
		    "no bpf file system is mounted at " BPF_PINS_BPFFS
		    ", and to mount it needs CAP_SYS_ADMIN");
	return bpf_pins_fail(p, -EOPNOTSUPP,
			     "no bpf file system is mounted at " BPF_PINS_BPFFS
			     ", and it cannot be: %s",
			     strerror(errno));
}

/* "mnt:[4026531841]" */
static bool namespace_name(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/ns/mnt", out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Files of our own a bpffs does not take, but links. */
static void make_note(const struct bpf_pins *p, const char *name,
		      const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	/* A run directory of which no note can be made is not swept. */
	(void)!symlink(text, path);
}

int bpf_pins_make(const struct bpf_pins *p)
{
	char name[64];
	int error = -ENOENT;

	/* The last instance to go takes the parent along; make it again. */
	for (int tries = 0; tries < 3 && error == -ENOENT; tries++) {
		error = 0;
		if (mkdir(BPF_PINS_TOP, 0755) != 0 && errno != EEXIST)
			error = -errno;
		else if (mkdir(p->path, 0700) != 0)
			error = -errno;
	}
	if (error == -EACCES || error == -EPERM)
		return bpf_pins_fail(p, -EPERM,
				     BPF_PINS_TOP
				     " may not be written to; run as root");
	if (error)
		return bpf_pins_fail(p, error, "%s: %s", p->path,
				     strerror(-error));
	make_note(p, RUNDIR, p->rundir);
	if (namespace_name(name, sizeof(name)))
		make_note(p, NAMESPACE, name);
	return 0;
}

int bpf_pins_open(const struct bpf_pins *p, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

/* Ends a link at once; only to unpin it would leave that to a worker. */
static void link_end(const struct bpf_pins *p, const char *name)
{
	int link = bpf_pins_open(p, name);

	if (link < 0)
		return;
	bpf_link_detach(link);
	close(link);
}

int bpf_pins_remove(const struct bpf_pins *p)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *directory;
	int error = 0;

	for (size_t i = BPF_PROGRAMS; i-- > 0;)
		link_end(p, bpf_programs[i]);
	directory = opendir(p->path);
	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", p->path, entry->d_name);
		if (unlink(path) != 0 && !error)
			error = -errno;
	}
	closedir(directory);
	if (rmdir(p->path) != 0 && !error)
		error = -errno;
	/* Other instances may be in it. */
	rmdir(BPF_PINS_TOP);
	return error;
}

static bool read_note(const char *instance, const char *name, char *out,
		      size_t size)
{
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), BPF_PINS_TOP "/%s/%s", instance, name);
	n = readlink(path, out, size);
	if (n <= 0 || (size_t)n >= size)
		return false;
	out[n] = '\0';
	return true;
}

/* In another mount namespace the path may be there. */
static bool is_left(const char *instance, const char *namespace,
		    char rundir[PATH_MAX])
{
	char noted[64];
	struct stat st;

	return read_note(instance, NAMESPACE, noted, sizeof(noted)) &&
	       strcmp(noted, namespace) == 0 &&
	       read_note(instance, RUNDIR, rundir, PATH_MAX) &&
	       lstat(rundir, &st) < 0 && errno == ENOENT;
}

void bpf_pins_sweep(void)
{
	char namespace[64], rundir[PATH_MAX], unused[1];
	struct dirent *entry;
	struct bpf_pins p;
	DIR *directory;

	if (!namespace_name(namespace, sizeof(namespace)))
		return;
	directory = opendir(BPF_PINS_TOP);
	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (is_left(entry->d_name, namespace, rundir) &&
		    bpf_pins_init(&p, rundir, unused, sizeof(unused)) == 0 &&
		    strcmp(strrchr(p.path, '/') + 1, entry->d_name) == 0)
			bpf_pins_remove(&p);
	closedir(directory);
}
