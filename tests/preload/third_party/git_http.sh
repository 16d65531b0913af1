# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# git_http: git over HTTP: lighttpd and git http-backend
# programs: git (HTTP)
# needs: git lighttpd /usr/lib/git-core/git-http-backend
# length: long
# gets: smc=2 may=DEMOTED_STDIO,DEMOTED_PEER,DEMOTED_EXEC,DEMOTED_PEER
stranger() {
	export GIT_CONFIG_GLOBAL=$place/gitconfig HOME=$place
	git config --global user.name t
	git config --global user.email t@example.com
	git config --global init.defaultBranch main
	git config --global safe.directory '*'
	export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
	git init -q a && data a/file 3000000
	git -C a add . && git -C a commit -q -m one
	git clone -q --bare a r.git
	git -C r.git config http.receivepack true
	cat >conf <<-EOT
		server.document-root = "$place"
		server.port = $port
		server.bind = "127.0.0.1"
		server.errorlog = "$place/error.txt"
		server.modules = ("mod_alias", "mod_cgi", "mod_setenv")
		alias.url = ( "/git" => "/usr/lib/git-core/git-http-backend" )
		\$HTTP["url"] =~ "^/git" {
		  cgi.assign = ("" => "")
		  setenv.add-environment = ( "GIT_PROJECT_ROOT" => "$place", "GIT_HTTP_EXPORT_ALL" => "1", "HOME" => "$place", "GIT_CONFIG_GLOBAL" => "$place/gitconfig" )
		}
	EOT
	serve server lighttpd -D -f conf
	await_port "$port"
	ask git clone -q "http://127.0.0.1:$port/git/r.git" c
	git -C c rev-parse HEAD
	seq 200000 >c/new && git -C c add new && git -C c commit -q -a -m two
	ask git -C c push -q "http://127.0.0.1:$port/git/r.git" main
	ask git -C a pull -q "http://127.0.0.1:$port/git/r.git" main
	git -C a rev-parse HEAD
	ask git ls-remote "http://127.0.0.1:$port/git/r.git" main
}
