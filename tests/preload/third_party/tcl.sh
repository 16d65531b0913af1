# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# tcl: Tcl: fileevent, whose notifier is a thread of its own
# programs: Tcl
# needs: tclsh
# length: long
# gets: smc=8 may=CLOSED,TIMEOUT
stranger() {
	cat >p.tcl <<-'EOT'
		lassign $argv what port
		proc line {c} {
		    if {[gets $c l] >= 0} { puts $c [string reverse $l] } elseif {[eof $c]} { close $c }
		}
		proc came {c host p} {
		    fconfigure $c -blocking 0 -buffering line -translation lf
		    fileevent $c readable [list line $c]
		}
		if {$what eq "server"} { socket -server came -myaddr 127.0.0.1 $port; vwait forever }
		proc answer {c k} {
		    global n done
		    if {[gets $c l] < 0} { if {[eof $c]} { incr done; close $c }; return }
		    incr n($k) [string length $l]
		    if {$l eq "dne"} { close $c; incr done }
		}
		set done 0
		for {set k 1} {$k <= 7} {incr k} {
		    set n($k) 0
		    set c [socket {*}[expr {$k % 2 ? "-async" : ""}] 127.0.0.1 $port]
		    fconfigure $c -blocking 0 -buffering full -translation lf
		    fileevent $c readable [list answer $c $k]
		    for {set i 1} {$i <= 60} {incr i} { puts $c [string repeat x [expr {$i * $k * 50}]] }
		    puts $c end; flush $c
		}
		after 15000 { puts late; exit 1 }
		for {set k 1} {$k <= 7} {incr k} { set want($k) [expr {1830 * 50 * $k + 3}] }
		proc all {} { global n want; for {set k 1} {$k <= 7} {incr k} { if {$n($k) < $want($k)} { return 0 } }; return 1 }
		while {![all]} { vwait n }
		for {set k 1} {$k <= 7} {incr k} { puts "$k $n($k)" }
		set c [socket 127.0.0.1 $port]
		fconfigure $c -translation lf
		puts $c abc; flush $c; puts [gets $c]; close $c
	EOT
	serve server tclsh p.tcl server "$port"
	await_port "$port"
	ask tclsh p.tcl client "$port"
}
