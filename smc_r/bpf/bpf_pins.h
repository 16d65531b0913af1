/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bpf_pins: the directories of bpffs that keep BPF programs of ours.
 *
 * <bpffs>/smc_r/<instance>/ holds the links and the maps of one run directory,
 * and says whose they are: "rundir" is a link to it, "mount_namespace" to the
 * name of the one in which that path means something.
 *
 * Functions return 0 or -errno, and say why by bpf_pins_fail() where a caller
 * could not.
 *
 * Locking: as bpf_load.
 */
#ifndef SMC_R_BPF_PINS_H
#define SMC_R_BPF_PINS_H

#include <stddef.h>
#include <stdint.h>

#define BPF_PINS_BPFFS "/sys/fs/bpf"
#define BPF_PINS_TOP   BPF_PINS_BPFFS "/smc_r"

/*
 * In the order of attaching: what answers marks comes last, so that a mark
 * is never accepted before the program that acts on it is there.
 */
#define BPF_PROGRAMS 4
extern const char *const bpf_programs[BPF_PROGRAMS];

struct bpf_pins {
	const char *rundir;
	uint32_t instance;
	char path[sizeof(BPF_PINS_TOP) + 16]; /* BPF_PINS_TOP/<instance> */
	char *why;
	size_t why_size;
};

/* Words for the caller; returns the error. */
int bpf_pins_fail(const struct bpf_pins *p, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The caller keeps rundir and why. */
int bpf_pins_init(struct bpf_pins *p, const char *rundir, char *why,
		  size_t size);

/* Mounts a bpffs where there is none. */
int bpf_pins_mount(const struct bpf_pins *p);

/* The directory, which must not be there, and whose it is. */
int bpf_pins_make(const struct bpf_pins *p);

/* The descriptor of a pin, or -errno. Says nothing. */
int bpf_pins_open(const struct bpf_pins *p, const char *name);

/* Ends the links and takes all away; 0 also when nothing is there. Says
 * nothing. */
int bpf_pins_remove(const struct bpf_pins *p);

/*
 * Takes away what belongs to run directories that are gone: their programs run
 * for each socket of the host, and the kernel takes 64 of a kind. Nobody could
 * name them to rmdev any more.
 */
void bpf_pins_sweep(void);

#endif
