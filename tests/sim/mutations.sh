#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# mutations: each of these errors is put into the link service, and the
# simulator must find it. GNUmakefile calls it (make sim-mutations):
#
#   mutations.sh DIR CC FLAGS LIBS OBJECT ...
#
# DIR is where objects and programs may go. It prints the seed and what the
# oracle said. Status 1 when one is not found by a seed of make check.
set -euo pipefail

SEEDS=${SEEDS:-300}
dir=$1 cc=$2 flags=$3 libs=$4
shift 4
objects=("$@")
missed=0
mkdir -p "$dir"

# name, file, what sed does to it
mutate() {
	local name=$1 file=smc_r/service/$2 change=$3 said
	local linked=()

	sed "$change" "$file" >"$dir/$name.c"
	if cmp -s "$file" "$dir/$name.c"; then
		echo "$name: changes nothing in $file"
		missed=1
		return
	fi
	# shellcheck disable=SC2086
	$cc $flags -w -c -o "$dir/$name.o" "$dir/$name.c"
	for object in "${objects[@]}"; do
		case $object in
		*/"${file%.c}.o") linked+=("$dir/$name.o") ;;
		*) linked+=("$object") ;;
		esac
	done
	# shellcheck disable=SC2086
	$cc -o "$dir/$name" "${linked[@]}" $libs
	if said=$(timeout 300 "$dir/$name" 1 "$SEEDS" 2>&1); then
		echo "$name: not found by $SEEDS seeds"
		missed=1
	else
		echo "$name: $(tail -n 1 <<<"$said")"
	fi
}

mutate released rc_stream.c \
	's|^\ts->told = v->consumed;|&\n\ts->completed = s->posted;|'
mutate modulus rc_stream.c 's|s->posted % s->peer_size|s->posted % s->own_size|'
mutate flush rc_stream.c 's|if (s->flush && n == ready)|if (s->flush)|'
mutate update rc_stream.c 's|cursor_update_is_due(&w)|w.requested|'
mutate early rc_group_run.c 's|^\tc->has_early = true;||'
mutate ring rc_group_run.c \
	's|if (rc_stream_is_over(&c->pump.stream)) {|if (has_closed(\&c->pump.stream)) {|'
mutate dead rc_group_run.c \
	'/^static void send_of/,/^}/s|^\t\tg->failed = true;|\t\treturn;|'
mutate region rc_group.c \
	'/^void rc_group_forget/,/^}/s|^\trc_region_drop(&c->in);|\tmemset(\&c->in, 0, sizeof(c->in));|'
mutate decline rc_setup.c 's|^\tif (a.take) {|\tif (a.take \&\& a.next != CLC_USE_TCP) {|'
mutate completed rc_pump.c '/^void rc_pump_completed/,/^}/s|rc_stream_released(&p->stream)|0|'
exit "$missed"
