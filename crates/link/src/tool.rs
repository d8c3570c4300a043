//! `ip` and `tc` of iproute2, run inside a namespace. The commands are those that a person would type, so errors can
//! quote them.

use crate::LinkError;
use bakeoff_sys::namespace::Namespace;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// `ip WORDS`. No word holds white space.
pub(crate) fn ip(inside: &Namespace, words: &str) -> Result<(), LinkError> {
    run(inside, "ip", words).map(drop)
}

/// `tc WORDS`. No word holds white space.
pub(crate) fn tc(inside: &Namespace, words: &str) -> Result<(), LinkError> {
    tc_says(inside, words).map(drop)
}

/// The same; returns its output.
pub(crate) fn tc_says(inside: &Namespace, words: &str) -> Result<Vec<u8>, LinkError> {
    run(inside, "tc", words)
}

fn run(inside: &Namespace, program: &'static str, words: &str) -> Result<Vec<u8>, LinkError> {
    let path = find(program).ok_or(LinkError::NoTool { program })?;
    let mut command = Command::new(path);
    command.args(words.split_whitespace()).stdin(Stdio::null());
    let failed = |said: String| LinkError::Tool {
        command: format!("{program} {words}"),
        said: said.trim().to_owned(),
    };
    let output = inside.run(|| command.output()).map_err(LinkError::Namespace)?;
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).replace('\n', " "))),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::split_paths(&path).chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from));
    places.map(|place| place.join(program)).find(|file| file.is_file())
}
