//! Words of a command line as values of a plan: URLs, paths, configurations.
//!
//! Measuring side, cold.

use crate::Failure;
use std::path::{Path, PathBuf};

pub(super) fn is_url(side: &str) -> bool {
    side.starts_with("http://") || side.starts_with("https://")
}

pub(super) fn path_of(url: &str) -> String {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    url[after_scheme..].find('/').map_or_else(String::new, |slash| url[after_scheme + slash..].to_owned())
}

/// From the root on, without `..`, under the file's own name.
pub(super) fn whole_path(path: impl AsRef<Path>) -> PathBuf {
    let absolute = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
    let parent = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, absolute.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => absolute,
    }
}

/// Refuses what can be read only once, as `<(sed ...)` or standard input: a run reads its files more than once, and so does
/// one that goes on with it. A file that is not there is said elsewhere.
pub(super) fn can_be_read_again(path: &Path) -> Result<(), Failure> {
    let is_input = path == Path::new("-") && !path.exists();
    let is_passing = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
    if !is_input && !is_passing {
        return Ok(());
    }
    let what = if is_input { "standard input" } else { "a pipe" };
    Err(Failure::usage(format!(
        "{}: {what} can be read only once, and a run reads it more than once: write it to a file, and name that",
        path.display()
    )))
}

pub(super) fn quoted_path(path: &Path) -> String {
    quoted(&whole_path(path).display().to_string())
}

/// `config`, and `tls` where the file asks for a certificate.
pub(super) fn config_lines(config: &str) -> Result<String, Failure> {
    let content = std::fs::read_to_string(config).map_err(|why| {
        Failure::usage(format!("{config}: {why}; give a configuration file that can be read"))
    })?;
    let tls = if content.contains("{cert}") { "tls = true\n" } else { "" };
    Ok(format!("config = {}\n{tls}", quoted_path(Path::new(config))))
}

/// A TOML list of strings.
pub(super) fn list(words: &[String]) -> String {
    toml::Value::from(words.to_vec()).to_string()
}

/// A TOML string.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_what_follows_the_authority() {
        assert_eq!(path_of("http://h:1/a/b?c"), "/a/b?c");
        assert_eq!(path_of("http://h:1"), "");
    }
}
