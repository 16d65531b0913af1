#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# check: spin proves the model and refutes each of its mutations. In TAP.
#
# usage: tests/model/check.sh    (make check-model)
#
# A scene is a line "#define NAME NUMBER /* proof: TEXT */" of a .pml file: no
# wake-up is lost there. A mutation is one "#define NAME NUMBER /* SCENE, ...:
# TEXT */": in each of those scenes spin must find one that is. A search that was
# cut short counts for nothing. Then the names of steps: each of those that
# smc_r/os/inject.h lists stands in the C and as a label in the model, and the model
# has no other ones.
#
# What spin said is in build/model/CASE/log; where a wake-up was lost, the trail
# is beside it: pan -r FILE.trail.
set -u
cd "$(dirname "$0")/../.." || exit 2

here=tests/model
out=$PWD/build/model

for tool in spin "${CC:-gcc}"; do
	if ! command -v "$tool" >/dev/null; then
		echo "1..0 # SKIP $tool is not installed"
		exit 0
	fi
done
rm -rf "$out"
mkdir -p "$out" || exit 2

# ---- cases ----

model_of() { # file
	case $1 in
	*/fences.pml) echo fences ;;
	*) echo wakeups ;;
	esac
}

# MODEL SCENE NUMBER MUTATION TEXT, MUTATION 0 for proofs; a line each.
list() {
	local file model
	for file in "$here"/*.pml; do
		model=$(model_of "$file")
		sed -nE 's,^#define ([A-Z_]+) +([0-9]+) /\* (proof|[A-Z_, ]+): (.*) \*/$,\1 \2 \3: \4,p' \
			"$file" | sed "s/^/$model /"
	done | awk '
	{
		model = $1; name = $2; number = $3
		text = $0
		sub(/^[^:]*: /, "", text)
		scenes = $0
		sub(/:.*/, "", scenes)
		sub(/^[^ ]* [^ ]* [^ ]* /, "", scenes)
		if (scenes == "proof")
			proofs[++n] = model " " name " " number " 0 proven: " text
		else
			mutations[++m] = model " " number " " text "|" scenes
		if (scenes == "proof")
			scene[model " " name] = number
	}
	END {
		for (i = 1; i <= n; i++)
			print proofs[i]
		for (i = 1; i <= m; i++) {
			split(mutations[i], part, "|")
			split(part[1], word, " ")
			text = part[1]
			sub(/^[^ ]* [^ ]* /, "", text)
			count = split(part[2], place, ", ")
			for (k = 1; k <= count; k++)
				print word[1], place[k], scene[word[1] " " place[k]],
					word[2], "refuted: " text
		}
	}'
}

build() { # model
	mkdir -p "$out/$1" && cd "$out/$1" &&
		spin -a "$OLDPWD/$here/$1.pml" &&
		"${CC:-gcc}" -Og -w -DSAFETY -DNOFAIR -DVECTORSZ=512 \
			-o pan pan.c
}

# Its verdict goes into a file: "ok" or what is wrong.
# shellcheck disable=SC2317 # called by xargs
run_case() { # model, scene, number, mutation
	local dir="$out/$1.$2.$4" pan="$out/$1/pan" verdict=ok
	mkdir -p "$dir" && cd "$dir" || return
	SCENE=$3 MUTATION=$4 timeout 120 "$pan" -m10000 -w20 -n >log 2>&1
	if [ "$4" = 0 ]; then
		if grep -q '^pan:1: invalid end state\|errors: [1-9]' log; then
			verdict='a wake-up is lost'
		elif ! grep -q 'errors: 0$' log ||
			grep -qi 'not completed\|too small\|out of memory' log; then
			verdict='the search was cut short'
		fi
	elif ! grep -q 'errors: 1$' log ||
		! grep -q '^pan:1: invalid end state' log; then
		verdict='no wake-up is lost'
	fi
	echo "$verdict" >verdict
}
export out
export -f run_case

# ---- names of steps ----

# One a line.
steps_listed() {
	sed -n '/^enum inject_step/,/^}/p' smc_r/os/inject.h |
		grep -oE '\bSTEP_[A-Z_]+\b' | sort -u
}

# shellcheck disable=SC2317 # called by check_steps
steps_in_model() {
	sed -nE 's/^(STEP_[A-Z_]*[A-Z])(_[a-z_]+)?:.*/\1/p' "$here"/*.pml |
		sort -u
}

# shellcheck disable=SC2317
steps_in_code() {
	grep -rhoE 'inject_step\(STEP_[A-Z_]+\)' --include='*.[ch]' smc_r |
		grep -oE 'STEP_[A-Z_]+' | sort -u
}

check_steps() { # what, command
	local odd
	odd=$(comm -3 <(steps_listed) <("$2") | tr -d '\t' | tr '\n' ' ')
	if [ -z "$(steps_listed)" ]; then
		report ok "$1 # SKIP smc_r/os/inject.h lists no steps"
	elif [ -n "$odd" ]; then
		report "not ok" "$1" "not in both: $odd"
	else
		report ok "$1"
	fi
}

# ---- TAP ----

n=0
failed=0
report() { # "ok" or "not ok", text, reason
	n=$((n + 1))
	echo "$1 $n - $2"
	[ "$1" = ok ] || failed=1
	[ $# -lt 3 ] || echo "# $3"
}

cases=$(list)
echo "1..$(($(wc -l <<<"$cases") + 2))"
(build wakeups) >"$out/wakeups.log" 2>&1 &
if ! (build fences) >"$out/fences.log" 2>&1 || ! wait $!; then
	sed 's/^/# /' "$out"/*.log
	echo "Bail out! spin or the compiler refuses the model"
	exit 1
fi
cut -d' ' -f1-4 <<<"$cases" |
	xargs -P "$(nproc)" -L1 bash -c 'run_case "$@"' run_case
while read -r model scene _ mutation text; do
	name="$model: $text ($scene)"
	verdict=$(cat "$out/$model.$scene.$mutation/verdict" 2>/dev/null)
	if [ "$verdict" = ok ]; then
		report ok "$name"
	else
		report "not ok" "$name" "${verdict:-it did not run}, see build/model/$model.$scene.$mutation"
	fi
done <<<"$cases"
check_steps 'the steps of smc_r/os/inject.h are those of the model' steps_in_model
check_steps 'the steps of smc_r/os/inject.h are those of the code' steps_in_code
exit $failed
