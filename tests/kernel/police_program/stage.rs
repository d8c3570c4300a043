//! Whether a test may run, and the namespaces it runs in.

use bakeoff_layers_police::kernel::probe;
use bakeoff_sys::namespace::Namespace;
use std::process::{Child, Command};

/// A namespace, or the reason is printed why the test does not run.
pub(crate) fn namespace(test: &str) -> Option<Namespace> {
    let made = probe().map_err(|missing| missing.to_string());
    match made.and_then(|()| Namespace::create().map_err(|why| format!("no network namespace: {why}"))) {
        Ok(namespace) => Some(namespace),
        Err(missing) => {
            skip(test, &missing);
            None
        }
    }
}

pub(crate) fn skip(test: &str, missing: &str) {
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
}

/// Ends with the test.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// A command's output; it must succeed.
pub(crate) fn output(words: &str) -> String {
    let mut words = words.split(' ');
    let done = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Joins two namespaces by a pair of devices, `here` with 198.18.0.1 and 2001:db8::1, `there` with .2 and ::2.
pub(crate) fn join(here: &Namespace, there: &Namespace) {
    here.run(|| {
        output(&format!("ip link add here type veth peer name there netns {}", there.path().display()));
        address("here", 1);
    })
    .unwrap();
    there.run(|| address("there", 2)).unwrap();
}

fn address(device: &str, host: u8) {
    output(&format!("ip address add 198.18.0.{host}/24 dev {device}"));
    output(&format!("ip address add 2001:db8::{host}/64 dev {device} nodad"));
    output(&format!("ip link set {device} up"));
}
