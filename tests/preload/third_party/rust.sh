# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# rust: std::net, a thread for each connection
# programs: Rust programs
# needs: rustc
# length: long
# gets: smc=4
stranger() {
	cat >p.rs <<-'EOT'
		use std::{env, io::*, net::*, thread};
		fn main() {
		    let a: Vec<String> = env::args().collect();
		    if a[1] == "server" {
		        for s in TcpListener::bind(("127.0.0.1", a[2].parse().unwrap())).unwrap().incoming() {
		            thread::spawn(move || { let s = s.unwrap(); copy(&mut &s, &mut &s).ok(); });
		        }
		    }
		    let t: Vec<_> = (0..6u8).map(|i| { let p = a[2].parse().unwrap(); thread::spawn(move || {
		        let s = TcpStream::connect(("127.0.0.1", p)).unwrap();
		        let mut w = s.try_clone().unwrap();
		        let j = thread::spawn(move || { for k in 0..50usize { w.write_all(&vec![i; k * 999]).unwrap(); } w.shutdown(Shutdown::Write).unwrap(); });
		        let mut b = Vec::new(); (&s).read_to_end(&mut b).unwrap(); j.join().unwrap();
		        assert!(b.iter().all(|x| *x == i)); b.len() }) }).collect();
		    println!("{:?}", t.into_iter().map(|x| x.join().unwrap()).collect::<Vec<_>>());
		}
	EOT
	rustc -O -o p p.rs 2>/dev/null
	serve server ./p server "$port"
	await_port "$port"
	ask ./p client "$port"
}
