//! Conditions for a test to run, and the namespaces it runs in.

use bakeoff_layers_police::kernel::probe;
use bakeoff_sys::namespace::Namespace;
use std::process::{Child, Command};

/// A namespace; or prints the reason why the test does not run.
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

/// A child that ends with the test.
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
