# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# git: git daemon: clone, fetch, push
# programs: git
# needs: git
# length: long
# gets: must=DEMOTED_STDIO may=DEMOTED_EXEC,DEMOTED_PEER,TIMEOUT,FORK,CLOSED
stranger() {
	export GIT_CONFIG_GLOBAL=$place/gitconfig HOME=$place
	git config --global user.name t
	git config --global user.email t@example.com
	git config --global init.defaultBranch main
	git config --global safe.directory '*'
	export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
	git init -q a && data a/file 500000 && data a/b 100
	git -C a add . && git -C a commit -q -m one
	git clone -q --bare a r.git
	git -C r.git config daemon.receivepack true
	serve server git daemon --reuseaddr --listen=127.0.0.1 --port="$port" \
		--base-path="$place" --export-all --enable=receive-pack
	await_port "$port"
	ask git clone -q "git://127.0.0.1:$port/r.git" c
	git -C c rev-parse HEAD
	echo more >>c/b && git -C c commit -q -a -m two
	ask git -C c push -q "git://127.0.0.1:$port/r.git" main
	ask git -C a pull -q "git://127.0.0.1:$port/r.git" main
	git -C a rev-parse HEAD
	ask git ls-remote "git://127.0.0.1:$port/r.git" main
	ask git clone -q "git://127.0.0.1:$port/none.git" d
	ask git -C c fsck
}
