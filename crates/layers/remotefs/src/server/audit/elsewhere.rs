//! Checkpoints that are kept elsewhere: whoever can write to the log's directory cannot cut it off, or put an older copy
//! back, without being found.
//!
//! Measured side, cold. A thread, which waits for the network while the log waits for nothing, but for a moment at the
//! end. Owns when they are sent; how, and to whom, is the caller's. Two wait at most, the first that was not sent and the last:
//! the first of a process says how long the log was when it was opened, so that an older copy is found however fast it
//! grows. The thread is started before the kernel holds the process to the export.

use bakeoff_layers_base::locks::lock;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How often something is sent, or tried again.
const PACE: Duration = Duration::from_secs(10);
/// How long the end of the process waits for the last.
const ENDING: Duration = Duration::from_secs(2);

/// Keeps a checkpoint, a signed note.
pub type Keep = Box<dyn Fn(&str) -> Result<(), NotKept> + Send>;

/// Why one is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// Nobody is reached.
    Away,
    /// It is not taken: the name of the reason.
    Refused(String),
}

/// Where they are sent from.
#[derive(Clone)]
pub(super) struct Elsewhere {
    wishes: Sender<Wish>,
    counts: Arc<Mutex<Counts>>,
}

enum Wish {
    Keep(Note),
    /// What waits, at once; who wants it hears when that was tried.
    Now(Sender<()>),
}

/// A checkpoint, and how many there were with it.
type Note = (u64, String);

#[derive(Default)]
struct Counts {
    made: u64,
    kept: u64,
    /// Why the last one that was sent was not taken.
    refused: Option<String>,
}

impl Elsewhere {
    pub(super) fn start(keep: Keep) -> io::Result<Self> {
        let (wishes, wanted) = channel();
        let counts = Arc::<Mutex<Counts>>::default();
        let its = counts.clone();
        let send = move || send_each(&keep, &wanted, &its);
        thread::Builder::new().name("checkpoints".to_owned()).spawn(send)?;
        Ok(Self { wishes, counts })
    }

    pub(super) fn keep(&self, note: String) {
        let mut counts = lock(&self.counts);
        counts.made += 1;
        let _ = self.wishes.send(Wish::Keep((counts.made, note)));
    }

    /// The end of the process: the next start would say the same, but until then nobody would know.
    pub(super) fn end(&self) {
        let (answer, answered) = channel();
        if self.wishes.send(Wish::Now(answer)).is_ok() {
            let _ = answered.recv_timeout(ENDING);
        }
    }

    /// Lines of the status.
    pub(super) fn status(&self) -> String {
        let counts = lock(&self.counts);
        let refused =
            counts.refused.as_ref().map_or_else(String::new, |name| format!("audit-refused {name}\n"));
        format!("audit-unsent {}\n{refused}", counts.made - counts.kept)
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

/// Until nobody can want anything any more.
fn send_each(keep: &Keep, wanted: &Receiver<Wish>, counts: &Mutex<Counts>) {
    let (mut waiting, mut due) = (Vec::new(), Instant::now());
    loop {
        let patience = if waiting.is_empty() { PACE } else { due.saturating_duration_since(Instant::now()) };
        let answer = match wanted.recv_timeout(patience) {
            Ok(Wish::Keep(note)) => {
                waiting.truncate(1);
                waiting.push(note);
                None
            }
            Ok(Wish::Now(answer)) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if !waiting.is_empty() && (answer.is_some() || Instant::now() >= due) {
            send(keep, &mut waiting, counts);
            due = Instant::now() + PACE;
        }
        drop(answer);
    }
}

/// In their order, until one is not taken.
fn send(keep: &Keep, waiting: &mut Vec<Note>, counts: &Mutex<Counts>) {
    while let Some((number, note)) = waiting.first() {
        let kept = keep(note);
        let mut counts = lock(counts);
        counts.refused = match &kept {
            Err(NotKept::Refused(name)) => Some(name.clone()),
            Ok(()) | Err(NotKept::Away) => None,
        };
        if kept.is_err() {
            return;
        }
        counts.kept = *number;
        waiting.remove(0);
    }
}
