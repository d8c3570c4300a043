//! Commands as they are typed behind `--`, as the arms of a plan.
//!
//! From words to the text of a plan; everything is checked as a plan afterwards.

use super::names;
use super::names::named;
use super::words::quoted;
use crate::Failure;

/// What stands between two commands.
const BETWEEN: &str = "--";

/// Two commands or more, with the names of their arms.
pub(super) struct Programs {
    arms: Vec<(String, Vec<String>)>,
}

impl Programs {
    /// Each command behind a `--` of its own. Where there is only one, and every word of it has spaces, each is a line for the
    /// shell.
    pub(super) fn of(words: &[String], given: &[String]) -> Result<Self, Failure> {
        let has_spaces = |word: &String| word.trim().contains(char::is_whitespace);
        let mut groups: Vec<&[String]> = words.split(|word| word == BETWEEN).collect();
        if groups.len() == 1 && words.iter().all(has_spaces) {
            groups = words.chunks(1).collect();
        }
        if groups.len() < 2 || groups.iter().any(|group| group.is_empty()) {
            return Err(Failure::usage(
                "give two commands, each behind a -- of its own, such as -- gzip -kf a -- zstd -kf a",
            ));
        }
        let program = |group: &&[String]| {
            let first = group.first().and_then(|word| word.split_whitespace().next());
            first.unwrap_or("command").to_owned()
        };
        let made = names::of_programs(&groups.iter().map(program).collect::<Vec<_>>());
        let command = |group: &[String]| match group {
            [line] if has_spaces(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            words => words.to_vec(),
        };
        let commands = groups.into_iter().map(command);
        Ok(Self { arms: named(made, given)?.into_iter().zip(commands).collect() })
    }

    /// Name of the first one.
    pub(super) fn baseline(&self) -> &str {
        self.arms.first().map_or("", |(name, _)| name)
    }

    /// `[workload]`, and `[arm.NAME]` of each.
    pub(super) fn sections(&self) -> String {
        let arm = |(name, words): &(String, Vec<String>)| {
            // Plans have substitutions in braces; these words mean themselves.
            let word = |word: &String| quoted(&word.replace('{', "{{").replace('}', "}}"));
            let words: Vec<String> = words.iter().map(word).collect();
            format!("\n[arm.{}]\ncommand = [{}]\n", quoted(name), words.join(", "))
        };
        let arms: String = self.arms.iter().map(arm).collect();
        format!("\n[workload]\nkind = \"command\"\n{arms}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(words: &[&str], names: &[&str]) -> Result<String, String> {
        let [words, names] =
            [words, names].map(|list| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        Programs::of(&words, &names).map(|programs| programs.sections()).map_err(|failure| failure.message)
    }

    #[test]
    fn commands_are_told_apart_by_dashes_or_by_quotes() {
        let arms = sections(&["gzip", "-k", "a", "--", "/bin/zstd", "{}"], &[]).unwrap();
        let expected = "[arm.\"gzip\"]\ncommand = [\"gzip\", \"-k\", \"a\"]\n\n[arm.\"zstd\"]\ncommand = [\"/bin/zstd\", \"{{}}\"]\n";
        assert!(arms.ends_with(expected), "{arms}");
        let lines = sections(&["sort a | uniq", "sort -u a"], &["pipe", "sort"]).unwrap();
        assert!(lines.contains("[arm.\"pipe\"]\ncommand = [\"sh\", \"-c\", \"sort a | uniq\"]"), "{lines}");
        assert!(lines.contains("[arm.\"sort\"]"), "{lines}");
        let twice = sections(&["sh", "a", "--", "sh", "b"], &[]).unwrap();
        assert!(twice.contains("[arm.\"sh1\"]") && twice.contains("[arm.\"sh2\"]"), "{twice}");
    }

    #[test]
    fn one_command_is_none_to_compare() {
        for words in [&["gzip", "a"][..], &["gzip a"], &["gzip", "--"], &["--", "gzip"]] {
            assert!(sections(words, &[]).unwrap_err().contains("each behind a --"), "{words:?}");
        }
        assert!(sections(&["a", "--", "b"], &["x"]).unwrap_err().contains("--name"));
    }
}
