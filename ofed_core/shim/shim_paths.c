/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_paths: which paths lead to the core instead of the kernel.
 *
 * The core's sysfs tree also links to the entries of real devices, so a path
 * below the two classes may be rewritten whenever the tree exists.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ofed_core/base/ofed_rundir.h"

/* The bare system call: these files interpose the libc names. */
static bool exists(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

static bool tree_path(char *out, size_t size, const char *below)
{
	char leaf[96];
	char full[256];
	int n = snprintf(leaf, sizeof(leaf), "sysfs/%s", below);

	if (n < 0 || (size_t)n >= sizeof(leaf) ||
	    ofed_rundir_path(full, sizeof(full), leaf) < 0)
		return false;
	n = snprintf(out, size, "%s", full);
	return n >= 0 && (size_t)n < size;
}

/* True when path is prefix itself or lies below it. */
static bool is_below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(path, prefix, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/');
}

static enum shim_path class_path(const char *path, char *out, size_t size)
{
	char root[256];
	int n;

	if (!is_below(path, "/sys/class/infiniband") &&
	    !is_below(path, "/sys/class/infiniband_verbs") &&
	    !is_below(path, "/sys/class/misc/rdma_cm"))
		return SHIM_PATH_OTHER;
	if (!tree_path(root, sizeof(root), "class") || !exists(root))
		return SHIM_PATH_OTHER;
	n = snprintf(out, size, "%s%s", root, path + strlen("/sys/class"));
	return n < 0 || (size_t)n >= size ? SHIM_PATH_OTHER
					  : SHIM_PATH_REWRITTEN;
}

/*
 * One rdma_cm node serves all devices. OFED_CORE_RDMA_CM chooses: "soft"
 * the core, "kernel" the kernel, else the kernel where it has the node.
 */
static bool is_cm_ours(const char *path)
{
	const char *choice = getenv("OFED_CORE_RDMA_CM");
	char tree[256];

	if (choice && strcmp(choice, "kernel") == 0)
		return false;
	if (!tree_path(tree, sizeof(tree), "class/misc/rdma_cm") ||
	    !exists(tree))
		return false;
	return (choice && strcmp(choice, "soft") == 0) || !exists(path);
}

static enum shim_path node_path(const char *path, unsigned *number)
{
	static const char directory[] = "/dev/infiniband/";
	const char *name = path + sizeof(directory) - 1;
	char below[64];
	char tree[256];
	char *end;

	if (strncmp(path, directory, sizeof(directory) - 1) != 0)
		return SHIM_PATH_OTHER;
	if (strcmp(name, "rdma_cm") == 0)
		return is_cm_ours(path) ? SHIM_PATH_CM : SHIM_PATH_OTHER;
	if (strncmp(name, "uverbs", 6) != 0 || name[6] < '0' || name[6] > '9')
		return SHIM_PATH_OTHER;
	*number = (unsigned)strtoul(name + 6, &end, 10);
	if (*end || *number > 255 || exists(path))
		return SHIM_PATH_OTHER;
	snprintf(below, sizeof(below), "class/infiniband_verbs/uverbs%u",
		 *number);
	return tree_path(tree, sizeof(tree), below) && exists(tree)
		   ? SHIM_PATH_UVERBS
		   : SHIM_PATH_OTHER;
}

/* Where AIX's libibverbs, too, looks for the names of drivers. */
static enum shim_path driver_path(const char *path, char *out, size_t size)
{
	static const char drivers[] = "/etc/libibverbs.d";
	const char *directory = secure_getenv("IBV_CONFIG_DIR");
	int n;

	if (!directory || !*directory || !is_below(path, drivers))
		return SHIM_PATH_OTHER;
	n = snprintf(out, size, "%s%s", directory, path + sizeof(drivers) - 1);
	return n < 0 || (size_t)n >= size ? SHIM_PATH_OTHER
					  : SHIM_PATH_REWRITTEN;
}

enum shim_path shim_path(const char *path, char *out, size_t size,
			 unsigned *number)
{
	if (!path || *path != '/')
		return SHIM_PATH_OTHER;
	if (strncmp(path, "/sys/class/", 11) == 0)
		return class_path(path, out, size);
	if (strncmp(path, "/dev/", 5) == 0)
		return node_path(path, number);
	if (strncmp(path, "/etc/", 5) == 0)
		return driver_path(path, out, size);
	return SHIM_PATH_OTHER;
}
