//! Sending of checkpoints to be kept elsewhere: then nobody who can write to the log's directory can cut it off, or
//! restore an older copy, without being found out.
//!
//! Measured side, cold. A thread, which waits for the network while the log waits for nothing, except for a moment at
//! the end. Owns the times of sending; the caller knows how and to whom. At most two wait, the first unsent one and
//! the last: the first of a process holds the log's length when it was opened, so that an older copy is found however
//! fast it grows. The thread is started before the kernel confines the process to the export.

use bakeoff_layers_base::locks::lock;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Interval of sending, or of a new attempt.
const PACE: Duration = Duration::from_secs(10);
/// Longest wait for the last one at the end of the process.
const ENDING: Duration = Duration::from_secs(2);

/// Has a checkpoint, a signed note, kept.
pub type Keep = Box<dyn Fn(&str) -> Result<(), NotKept> + Send>;

/// Reasons why one is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// Nobody can be reached.
    Away,
    /// It is refused: the name of the reason.
    Refused(String),
}

/// State of the sending thread.
#[derive(Clone)]
pub(super) struct Elsewhere {
    wishes: Sender<CopyRequest>,
    counts: Arc<Mutex<Counts>>,
}

enum CopyRequest {
    Keep(Note),
    /// Send everything at once; the sender is told once that was tried.
    Now(Sender<()>),
}

/// A checkpoint, and the number of checkpoints including it.
type Note = (u64, String);

#[derive(Default)]
struct Counts {
    made: u64,
    kept: u64,
    /// Reason for the last refusal.
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
        let _ = self.wishes.send(CopyRequest::Keep((counts.made, note)));
    }

    /// Sends the last ones at the end of the process: the next start would do so, but until then nobody would know.
    pub(super) fn end(&self) {
        let (answer, answered) = channel();
        if self.wishes.send(CopyRequest::Now(answer)).is_ok() {
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

/// Main loop of the thread, until all users are gone.
fn send_each(keep: &Keep, wanted: &Receiver<CopyRequest>, counts: &Mutex<Counts>) {
    let (mut waiting, mut due) = (Vec::new(), Instant::now());
    loop {
        let patience = if waiting.is_empty() { PACE } else { due.saturating_duration_since(Instant::now()) };
        let answer = match wanted.recv_timeout(patience) {
            Ok(CopyRequest::Keep(note)) => {
                waiting.truncate(1);
                waiting.push(note);
                None
            }
            Ok(CopyRequest::Now(answer)) => Some(answer),
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

/// Sends them in order, up to the first failure.
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
