//! Explanation of access decisions in a mount, asked through the mount itself.
//!
//! Measured side, cold. A question is the name of a symbolic link that does not exist until it is looked up, and
//! whose text is the answer. Its name is longer than a file's name can be. Any user who may look up a name may ask
//! about it.

use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Prefix of a question: longer than the longest name. The name in question follows; without one it is the directory
/// itself.
const QUESTION: [u8; 256] = {
    let (mut name, start) = ([b'.'; 256], *b".bakeoff-remotefs-why");
    let mut at = 0;
    while at < start.len() {
        name[at] = start[at];
        at += 1;
    }
    name
};
/// First number of answers, above all objects' numbers.
const FIRST: u64 = 1 << 63;

/// Explains the decisions on a path in a mount: a line for each operation.
///
/// # Errors
/// It is in no mount of ours, or in one without credentials.
pub fn why(path: &Path) -> io::Result<String> {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let (directory, name) = match path.file_name() {
        Some(name) if !is_directory => (path.parent().unwrap_or(Path::new("")), name),
        _ => (path, OsStr::new("")),
    };
    let mut question = OsStr::from_bytes(&QUESTION).to_owned();
    question.push(name);
    Ok(fs::read_link(directory.join(question))?.into_os_string().to_string_lossy().into_owned())
}

/// The name that is asked about, if this is a question.
pub(super) fn asked(name: &OsStr) -> Option<&[u8]> {
    name.as_bytes().strip_prefix(&QUESTION)
}

/// Answers that the kernel may still ask for.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<(u64, HashMap<u64, OsString>)>);

impl Answers {
    /// Keeps an answer; returns its number.
    pub(super) fn keep(&self, text: Vec<u8>) -> u64 {
        let mut answers = self.lock();
        answers.0 += 1;
        let number = FIRST | answers.0;
        answers.1.insert(number, std::os::unix::ffi::OsStringExt::from_vec(text));
        number
    }

    /// The answer with this number.
    pub(super) fn get(&self, number: u64) -> Option<OsString> {
        self.lock().1.get(&number).cloned().filter(|_| number >= FIRST)
    }

    /// Drops an answer that the kernel has forgotten; returns whether the number was an answer's.
    pub(super) fn forget(&self, number: u64) -> bool {
        number >= FIRST && self.lock().1.remove(&number).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, OsString>)> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_no_files_name_and_says_what_it_is_about() {
        let mut question = OsStr::from_bytes(&QUESTION).to_owned();
        assert!(question.len() > crate::frame::FileName::MOST_BYTES);
        assert_eq!(asked(&question), Some(&b""[..]));
        question.push("file");
        assert_eq!((asked(&question), asked(OsStr::new("file"))), (Some(&b"file"[..]), None));
        let answers = Answers::default();
        let number = answers.keep(b"so".to_vec());
        assert_eq!(answers.get(number).as_deref(), Some(OsStr::new("so")));
        assert!(answers.forget(number) && !answers.forget(number) && !answers.forget(7));
    }
}
