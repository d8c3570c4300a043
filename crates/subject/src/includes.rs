//! Relative `include` paths of the user's configuration, made absolute.
//!
//! Our copy with the substitutions made is in the private directory. So a path that was relative to the original, or to
//! the server's own directory, is written out in full. Line numbers stay as they are, since the server's messages name
//! them.

use std::path::{Path, PathBuf};

/// Rewrites the argument of each of `directives` (compared without case) to the first of `homes` that has it. A pattern
/// counts by its directory. A path that exists nowhere is rewritten to the first of `homes`, for the server to name.
pub(crate) fn absolute(text: &str, directives: &[&str], homes: &[&Path]) -> String {
    text.split_inclusive('\n')
        .map(|line| rewrite(line, directives, homes).unwrap_or_else(|| line.to_owned()))
        .collect()
}

fn rewrite(line: &str, directives: &[&str], homes: &[&Path]) -> Option<String> {
    let code = line.split('#').next()?;
    let lower = code.to_ascii_lowercase();
    let (at, word) = directives.iter().find_map(|word| Some((position(&lower, word)?, word)))?;
    let rest = &code[at + word.len()..];
    let start = at + word.len() + rest.len() - rest.trim_start().len();
    let argument = code[start..].split([';', '\n', ' ', '\t']).next()?;
    let name = argument.trim_matches('"');
    if name.is_empty() || name.starts_with('/') {
        return None;
    }
    let is_there = |path: &PathBuf| {
        let is_pattern = name.contains(['*', '?', '[']);
        if is_pattern { path.parent().is_some_and(Path::is_dir) } else { path.exists() }
    };
    let mut places = homes.iter().map(|home| home.join(name));
    // A missing file is reported where the user looks for it, and not in a directory of ours.
    let full = places.clone().find(is_there).or_else(|| places.next())?;
    Some(format!("{}{}{}", &line[..start], full.display(), &line[start + argument.len()..]))
}

/// Position of the directive as the first word of a statement, followed by white space.
fn position(code: &str, word: &str) -> Option<usize> {
    let word = word.to_ascii_lowercase();
    code.match_indices(&word).map(|(at, _)| at).find(|&at| {
        let before = code[..at].trim_end();
        let first = before.is_empty() || before.ends_with(['{', '}', ';']);
        first && code[at + word.len()..].starts_with(char::is_whitespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_include_is_written_out() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("mime.types"), "").unwrap();
        let here = home.path().display();
        let text = "http { include mime.types; # x\n include\t/a/b;\nInclude none.conf\ninclude *.conf;\n# include mime.types;\n";
        let expected = format!(
            "http {{ include {here}/mime.types; # x\n include\t/a/b;\nInclude {here}/none.conf\ninclude {here}/*.conf;\n# include mime.types;\n"
        );
        assert_eq!(absolute(text, &["include"], &[home.path()]), expected);
    }
}
