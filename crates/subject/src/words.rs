//! Last words of a subject: the end of its output, from its log files.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes read from a log's end: more than the lines asked for ever need, and cheap for a log of any size.
const TAIL: u64 = 16 * 1024;

/// The last lines a server printed, and the directory with its whole output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastWords {
    /// At most [`LastWords::MOST`] lines, oldest first.
    pub lines: Vec<String>,
    /// The directory with its output.
    pub dir: PathBuf,
}

impl LastWords {
    /// Number of lines that a message keeps.
    pub const MOST: usize = 20;
}

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines.len() {
            0 => write!(f, "; it printed nothing"),
            n => {
                write!(f, "; its last {n} lines (all in {}):", self.dir.display())?;
                self.lines.iter().try_for_each(|line| write!(f, "\n    {line}"))
            }
        }
    }
}

/// The last lines of standard error, `logs` and standard output in `dir`, together at most
/// `LastWords::MOST`; the first file that has some gives the most.
pub(crate) fn last_words(dir: &Path, logs: &[PathBuf]) -> LastWords {
    let mut files = vec![dir.join("stderr.log")];
    files.extend_from_slice(logs);
    files.push(dir.join("stdout.log"));
    let mut lines = Vec::new();
    for file in files {
        let room = LastWords::MOST - lines.len();
        lines.splice(0..0, last_lines(&file, room));
    }
    LastWords { lines, dir: dir.to_owned() }
}

/// The last `count` lines of a file that are not empty; none when it cannot be read.
pub(crate) fn last_lines(file: &Path, count: usize) -> Vec<String> {
    let text = tail(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|&line| line.to_owned()).collect()
}

/// The first line of a file, without white space around it; none when there is nothing in it.
pub(crate) fn first_line(file: &Path) -> Option<String> {
    let mut text = Vec::new();
    File::open(file).ok()?.take(TAIL).read_to_end(&mut text).ok()?;
    let line = String::from_utf8_lossy(&text).lines().next()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

fn tail(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_come_with_standard_error_last() {
        let dir = tempfile::tempdir().unwrap();
        let numbered = |name: &str| (1..=15).map(|n| format!("{name} {n}\n")).collect::<String>();
        std::fs::write(dir.path().join("stderr.log"), numbered("err")).unwrap();
        std::fs::write(dir.path().join("stdout.log"), numbered("out")).unwrap();
        let words = last_words(dir.path(), &[]);
        assert_eq!(words.lines.len(), LastWords::MOST);
        assert_eq!((words.lines[0].as_str(), words.lines[19].as_str()), ("out 11", "err 15"));
        assert!(last_words(&dir.path().join("none"), &[]).lines.is_empty());
    }
}
