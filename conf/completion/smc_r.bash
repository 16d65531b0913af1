# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# smc_r: bash completion of the device commands, smc_run and ofedctrl.
#
# Names of devices, attributes and legal values come from the commands
# themselves, so they are those of the database in use. "make install" links
# this file under the name of each command.

_smc_r_devices() {
	lsdev -C -F name 2>/dev/null
}

# The word after the last -l.
_smc_r_device() {
	local i
	for ((i = COMP_CWORD - 1; i > 0; i--)); do
		if [[ ${COMP_WORDS[i - 1]} == -*l ]]; then
			printf '%s\n' "${COMP_WORDS[i]}"
			return
		fi
	done
}

_smc_r_attributes() { # device
	[[ -n $1 ]] && lsattr -E -l "$1" -F attribute 2>/dev/null
}

# attribute=value; bash splits words at "=".
_smc_r_assignment() { # device, what is typed
	local word
	if [[ $2 == *=* ]]; then
		for word in $(lsattr -R -l "$1" -a "${2%%=*}" 2>/dev/null); do
			[[ $word == "${2#*=}"* && $word != *...* ]] &&
				COMPREPLY+=("$word")
		done
	else
		for word in $(_smc_r_attributes "$1"); do
			[[ $word == "$2"* ]] && COMPREPLY+=("$word=")
		done
		compopt -o nospace
	fi
}

_smc_r_words() { # what is typed, words...
	local typed=$1
	shift
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "$typed")
}

_smc_r() {
	local command=${1##*/} typed=$2 before=$3 options
	COMPREPLY=()
	case $command in
	mkdev) options="-c -s -t -l -a -d -S -R -f -p -q -w -h" ;;
	rmdev) options="-l -p -d -S -f -R -g -q -h" ;;
	chdev) options="-l -a -P -T -U -f -p -w -g -q -h" ;;
	lsattr) options="-E -D -P -R -F -O -H -l -a -c -s -t -Z -f -h" ;;
	lsdev) options="-C -P -c -s -t -l -p -S -F -r -H -f -x -h" ;;
	entstat) options="-d -r -t" ;;
	ofedctrl) options="-l -u -q -c -p -k -n -N -h" ;;
	esac
	# An attribute=value under the cursor may be three words to bash.
	if [[ $before == = && ${COMP_WORDS[COMP_CWORD - 3]-} == -a ]]; then
		typed=${COMP_WORDS[COMP_CWORD - 2]}=$typed
		before=-a
	elif [[ $typed == = && ${COMP_WORDS[COMP_CWORD - 2]-} == -a ]]; then
		typed=$before=
		before=-a
	fi
	case $before in
	-f | -k)
		mapfile -t COMPREPLY < <(compgen -f -- "$typed")
		return
		;;
	-c) _smc_r_words "$typed" "$(lsdev -P -r class 2>/dev/null)" ;;
	-s) _smc_r_words "$typed" "$(lsdev -P -r subclass 2>/dev/null)" ;;
	-t) _smc_r_words "$typed" "$(lsdev -P -r type 2>/dev/null)" ;;
	-*l | -p) _smc_r_words "$typed" "$(_smc_r_devices)" ;;
	-a)
		case $command in
		mkdev | chdev) _smc_r_assignment "$(_smc_r_device)" "$typed" ;;
		*) _smc_r_words "$typed" \
			"$(_smc_r_attributes "$(_smc_r_device)")" ;;
		esac
		;;
	*)
		if [[ $typed == -* ]]; then
			_smc_r_words "$typed" "$options"
		elif [[ $command == entstat ]]; then
			_smc_r_words "$typed" "$(_smc_r_devices)"
		elif [[ $command == lsattr ]]; then
			# e2fsprogs' meaning of the name: files.
			mapfile -t COMPREPLY < <(compgen -f -- "$typed")
		fi
		;;
	esac
}

# smc_run [options] command [arguments]: complete what follows as a command.
_smc_r_run() {
	local i
	if ((COMP_CWORD == 1)) && [[ $2 == -* ]]; then
		_smc_r_words "$2" "-v -h"
		return
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || break
	done
	if declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	fi
}

_smc_r_devinfo() {
	COMPREPLY=()
	case $3 in
	-d) _smc_r_words "$2" "$(ibv_devinfo -l 2>/dev/null | tail -n +2)" ;;
	*) [[ $2 != -* ]] || _smc_r_words "$2" "-d -i -l -v -e -h" ;;
	esac
}

complete -F _smc_r mkdev rmdev chdev lsattr lsdev entstat ofedctrl
complete -F _smc_r_run smc_run
complete -F _smc_r_devinfo ibv_devinfo
