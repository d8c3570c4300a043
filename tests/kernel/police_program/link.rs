//! Link of two networks by a pair of devices, with the addresses of `packets`.

use bakeoff_sys::namespace::Namespace;
use std::process::Command;

pub(crate) const IP: &str = "/usr/sbin/ip";

/// Runs an `ip` command in a network; it must succeed.
pub(crate) fn ip(network: &Namespace, words: &str) {
    let output = network.run(|| Command::new(IP).args(words.split(' ')).output().unwrap()).unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Joins `here` with 198.18.0.1, 2001:db8::1 and 02:00:00:00:00:01, and `there` with 2 for 1.
pub(crate) fn join(here: &Namespace, there: &Namespace) {
    let peer = format!("peer name there address 02:00:00:00:00:02 netns {}", there.path().display());
    ip(here, &format!("link add here address 02:00:00:00:00:01 type veth {peer}"));
    for (network, device, host) in [(here, "here", 1), (there, "there", 2)] {
        ip(network, &format!("address add 198.18.0.{host}/24 dev {device}"));
        ip(network, &format!("address add 2001:db8::{host}/64 dev {device} nodad"));
        ip(network, &format!("link set {device} up"));
    }
}
