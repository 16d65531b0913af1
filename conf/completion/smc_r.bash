# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# smc_r: bash completion of the device commands, smc_run, smit and ofedctrl.
#
# Names of devices, attributes and legal values come from the commands
# themselves, so they are those of the database in use. "make install" links
# this file under the name of each command.

# Below /usr an ordinary user's lsattr is the one of e2fsprogs.
_smc_r_lsattr() {
	PATH=/usr/lib/smc_r/bin:$PATH lsattr "$@" 2>/dev/null
}

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
	[[ -n $1 ]] && _smc_r_lsattr -E -l "$1" -F attribute
}

# attribute=value; bash splits words at "=".
_smc_r_assignment() { # device, what is typed
	local word rest
	if [[ $2 == *=* ]]; then
		# A legal value is a line of one word; others tell of a syntax.
		while read -r word rest; do
			[[ -z $rest && $word == "${2#*=}"* ]] &&
				COMPREPLY+=("$word")
		done < <(_smc_r_lsattr -R -l "$1" -a "${2%%=*}")
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

# Parameters of the RDMA core that runs.
_smc_r_parameters() {
	ofedctrl -q 2>/dev/null | sed -n 's/^[ \t]*\([a-z0-9_]*\)[ \t]*=.*/\1=/p'
}

_smc_r() {
	local command=${1##*/} typed=$2 before=$3 options
	COMPREPLY=()
	case $command in
	mkdev) options="-c -s -t -l -a -d -S -R -f -p -q -w -h" ;;
	rmdev) options="-l -p -d -S -f -R -g -q -h" ;;
	chdev) options="-l -a -P -T -U -f -p -w -g -q -h" ;;
	lsattr) options="-E -D -P -R -F -O -H -l -a -c -s -t -o -Z -f -h" ;;
	lsdev) options="-C -P -c -s -t -l -p -S -F -r -H -f -x -h" ;;
	entstat) options="-d -r -t -j -h" ;;
	cfgmgr) options="-f -s -p -i -l -v -h" ;;
	ofedctrl) options="-l -u -q -c -p -k -n -N -h" ;;
	esac
	options+=" --version"
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
	-p)
		if [[ $command == ofedctrl ]]; then
			_smc_r_words "$typed" "$(_smc_r_parameters)"
			compopt -o nospace
		else
			_smc_r_words "$typed" "$(_smc_r_devices)"
		fi
		;;
	-*l) _smc_r_words "$typed" "$(_smc_r_devices)" ;;
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
		_smc_r_words "$2" "-v -h --version"
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
	*) [[ $2 != -* ]] || _smc_r_words "$2" "-d -i -l -v -e -h --version" ;;
	esac
}

_smc_r_dat_conf() {
	COMPREPLY=()
	case $3 in
	-f) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	*) [[ $2 != -* ]] || _smc_r_words "$2" "-a -r -f -h" ;;
	esac
}

_smc_r_odm() {
	local command=${1##*/} options classes
	COMPREPLY=()
	classes=$(odmshow 2>&1 | sed -n 's/.*a class is needed:\(.*\)\.$/\1/p')
	case $command in
	odmget) options="-q -h" ;;
	odmadd) options="-p -h" ;;
	odmchange | odmdelete) options="-o -q -h" ;;
	*) options="-h" ;;
	esac
	if [[ $2 == -* ]]; then
		_smc_r_words "$2" "$options --version"
	elif [[ $3 == -o || $command == odmget || $command == odmshow ]]; then
		[[ $3 == -q ]] || _smc_r_words "$2" "$classes"
	elif [[ $3 != -q && $command != odmdelete ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
	fi
}

_smc_r_no() {
	COMPREPLY=()
	case $3 in
	-o | -d | -L | -x | -h)
		_smc_r_words "$2" "$(no -a 2>/dev/null | sed 's/^ *\([^ ]*\) =.*/\1/')"
		;;
	*) [[ $2 != -* ]] ||
		_smc_r_words "$2" "-p -r -F -o -d -D -a -h -L -x --version" ;;
	esac
}

_smc_r_netstat() {
	COMPREPLY=()
	case $3 in
	-p | -*sp) _smc_r_words "$2" smc ;;
	-v) _smc_r_words "$2" "$(_smc_r_devices)" ;;
	*) [[ $2 != -* ]] || _smc_r_words "$2" "-s -p -v -h --version" ;;
	esac
}

# smit [options] [fast path]: the names of screens come from the database.
_smc_r_smit() {
	COMPREPLY=()
	case $3 in
	-l | -s) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	*)
		if [[ $2 == -* ]]; then
			_smc_r_words "$2" "-C -x -t -l -s -h --version"
		else
			_smc_r_words "$2" "$(odmget sm_menu_opt sm_name_hdr \
				sm_cmd_hdr 2>/dev/null |
				sed -n 's/^\tid = "\(.*\)"/\1/p')"
		fi
		;;
	esac
}

complete -F _smc_r_smit smit smitty
complete -F _smc_r mkdev rmdev chdev lsattr lsdev cfgmgr entstat ofedctrl
complete -F _smc_r_odm odmget odmadd odmchange odmdelete odmshow odmcreate
complete -F _smc_r_no no
complete -F _smc_r_netstat netstat
complete -F _smc_r_run smc_run ofed_run
complete -F _smc_r_devinfo ibv_devinfo
complete -F _smc_r_dat_conf dat_conf
complete -o bashdefault -o default ibv_devices rping
