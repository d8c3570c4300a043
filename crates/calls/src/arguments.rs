//! Command line of `bakeoff calls`.
//!
//! Measuring side, cold. Read by hand: in a guest every instruction before the first batch is paid for, and only
//! bakeoff types it.

use crate::{CallClock, CallOperation, CallsError, Instance, Peers};
use std::ffi::OsString;
use std::str::FromStr;

/// The settings of the process.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub(crate) clock: CallClock,
    pub(crate) place: Instance,
    /// By itself, these operations and at most so many batches of each; else on command, line by line.
    pub(crate) alone: Option<(Vec<CallOperation>, usize)>,
}

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Self, CallsError> {
        let (mut dir, mut program) = (None, OsString::from("/bin/true"));
        let (mut clock, mut peers) = ("monotonic".to_owned(), Peers::Same);
        let (mut depth, mut port) = (8, 0);
        let (mut alone, mut operations, mut batches) = (false, CallOperation::all().collect(), 9);
        while let Some(flag) = words.next() {
            let flag = text(flag)?;
            let mut value = || words.next().ok_or_else(|| wrong(format!("{flag} has no value")));
            match flag.as_str() {
                "--alone" => alone = true,
                "--dir" => dir = Some(value()?),
                "--program" => program = value()?,
                "--clock" => clock = text(value()?)?,
                "--depth" => depth = number(value()?)?,
                "--port" => port = number(value()?)?,
                "--batches" => batches = number::<usize>(value()?)?.max(1),
                "--peers" => peers = chosen(&text(value()?)?)?,
                "--operations" => operations = listed(&text(value()?)?)?,
                _ => return Err(wrong(format!("there is no {flag}"))),
            }
        }
        let dir = dir.ok_or_else(|| wrong("--dir DIR is missing".to_owned()))?;
        let clock =
            CallClock::of_word(&clock).ok_or_else(|| wrong(format!("there is no clock `{clock}` here")))?;
        let place = Instance { dir: dir.into(), depth, program: program.into(), port, peers };
        Ok(Self { clock, place, alone: alone.then_some((operations, batches)) })
    }
}

fn chosen(word: &str) -> Result<Peers, CallsError> {
    let found = Peers::ALL.into_iter().find(|peers| peers.as_str() == word);
    found.ok_or_else(|| wrong(format!("peers are `same` or `other`, not `{word}`")))
}

fn listed(words: &str) -> Result<Vec<CallOperation>, CallsError> {
    let operation =
        |word| CallOperation::of_word(word).ok_or_else(|| wrong(format!("there is no operation `{word}`")));
    words.split(',').map(operation).collect()
}

fn number<N: FromStr>(word: OsString) -> Result<N, CallsError> {
    let word = text(word)?;
    word.parse().map_err(|_| wrong(format!("`{word}` is no number")))
}

fn text(word: OsString) -> Result<String, CallsError> {
    word.into_string().map_err(|word| wrong(format!("{} is not UTF-8", word.display())))
}

const fn wrong(what: String) -> CallsError {
    CallsError::Arguments(what)
}
