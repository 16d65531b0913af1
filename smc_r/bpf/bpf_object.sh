#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# bpf_object: prints a file's bytes as the C file that bpf_object.h announces.
#
# usage: smc_r/bpf/bpf_object.sh FILE
#
# An empty FILE stands for "there was no clang to compile the BPF program".
set -eu
file=$1
size=$(wc -c <"$file")
build=$(cksum <"$file" | cut -d' ' -f1)

echo '/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */'
echo '#include "smc_r/bpf/bpf_object.h"'
echo
echo "const size_t bpf_object_size = $((size));"
echo "const uint32_t bpf_object_build = ${build}u;"
echo '_Alignas(8) const unsigned char bpf_object[] = {'
od -A n -v -t x1 "$file" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
echo '0};'
