#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# corpus: run a fuzz harness over its corpus and say so in TAP.
#
# usage: tests/fuzz/corpus.sh PROGRAM CORPUS
#
# One test for the whole corpus. When the program ends early, its files are run
# one by one, so that the one to look at is named.
set -u
program=$1 corpus=$2
echo 1..1
if said=$("$program" "$corpus" 2>&1); then
	echo "ok - $corpus: $said"
	exit 0
fi
echo "not ok - $corpus"
printf '%s\n' "$said" | sed 's/^/# /'
for file in "$corpus"/*; do
	"$program" "$file" >/dev/null 2>&1 || echo "# fails: $file"
done
exit 1
