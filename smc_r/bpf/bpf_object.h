/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bpf_object: the compiled BPF program, smc_option.bpf.c, as bytes. make
 * writes the file that defines them (smc_r/bpf/bpf_object.sh).
 */
#ifndef SMC_R_BPF_OBJECT_H
#define SMC_R_BPF_OBJECT_H

#include <stddef.h>
#include <stdint.h>

extern const unsigned char bpf_object[];
extern const size_t bpf_object_size;    /* bytes; 0: built without clang */
extern const uint32_t bpf_object_build; /* checksum of the bytes */

#endif
