//! The far end of `run --at`: one run of this executable, below a directory of its own that goes with it.
//!
//! A process of its own, on the machine that is measured. Whoever can start it can run anything here, as by ssh. It looks
//! at the directory once a second, and is otherwise asleep beside the run.

use super::follower::{Follower, PIECE};
use super::relay::listen;
use super::{RunEnded, RunOrder, ToRunner};
use crate::Failure;
use crate::exit::Exit;
use bakeoff_experiment::run::Scratch;
use bakeoff_reach::{Follow, PieceOf, Taken, Voice, attend};
use bakeoff_sys::process::{self, Ending, Launch, Signal};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, BufReader, PipeReader, pipe};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time for a run to end by itself once the caller is gone.
const GRACE: Duration = Duration::from_secs(10);
/// Exit code of a runner that had to be ended; nobody looks at it.
const STUCK: i32 = 3;
/// Time between two looks at the run.
const MOMENT: Duration = Duration::from_millis(100);
/// Looks at the run for each at its directory.
const MOMENTS: u32 = 10;

/// Runs what it is told to, once, until the caller ends it.
pub(crate) fn runner() -> Result<Exit, Failure> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let ends = (io::stdin(), io::stdout());
    let ended = attend::<ToRunner, _>(ends, threads, |voice| Runner { voice }, (GRACE, exit_at_once));
    ended.map(|()| Exit::Verdicts).map_err(|why| Failure::failed(format!("runner: {why}")))
}

fn exit_at_once() {
    std::process::exit(STUCK);
}

struct Runner {
    voice: Voice,
}

impl Follow<ToRunner> for Runner {
    fn follow(&mut self, order: RunOrder, taken: &Taken, _heard_ns: u64) -> Result<RunEnded, String> {
        let scratch = Scratch::create(&mut |_| ()).map_err(|why| why.to_string())?;
        let said = |why: io::Error| format!("{}: {why}", scratch.path().display());
        let home = scratch.path().join("plan");
        let results = scratch.path().join("results");
        lay_out(&order, taken, &home).map_err(said)?;
        let socket = scratch.path().join("calls");
        if order.passes {
            listen(&socket, &self.voice).map_err(said)?;
        }
        let run = Started::of(&order, (&home, &results, &socket), &self.voice).map_err(said)?;
        let mut follower = Follower::of(&results);
        let mut send = |path: &str, at, bytes: &[u8]| {
            self.voice.piece(PieceOf::File(path.to_owned()), at, bytes);
        };
        let ending = self.until_it_ends(&run, || follower.look(&mut send)).map_err(said)?;
        run.readers.into_iter().for_each(|reader| drop(reader.join()));
        follower.look(&mut send).map_err(said)?;
        let code = match ending {
            Ending::Exited(code) => Some(code),
            Ending::Killed(_) => None,
        };
        Ok(RunEnded { code, how: ending.to_string(), files: follower.digests().map_err(said)? })
    }
}

impl Runner {
    /// Looks at the run and what it writes; asks it to end when the caller has pressed Ctrl-C or is gone.
    fn until_it_ends(&self, run: &Started, mut look: impl FnMut() -> io::Result<()>) -> io::Result<Ending> {
        let (mut was_asked, mut moments) = (false, 0);
        loop {
            if let Some(reaped) = process::reap_pid(run.pid)? {
                return Ok(reaped.ending);
            }
            if self.voice.interrupted().load(Ordering::Relaxed) && !std::mem::replace(&mut was_asked, true) {
                process::send(run.pid, run.start_ticks, Signal::Terminate)?;
            }
            moments += 1;
            if moments == MOMENTS {
                moments = 0;
                look()?;
            }
            thread::sleep(MOMENT);
        }
    }
}

/// Puts what was taken where the plan looks for it.
fn lay_out(order: &RunOrder, taken: &Taken, home: &Path) -> io::Result<()> {
    let made = |dir: &Path| DirBuilder::new().recursive(true).mode(0o755).create(dir);
    made(home)?;
    for file in &order.files {
        let plain = Path::new(&file.path).components().all(|part| matches!(part, Component::Normal(_)));
        let from = taken.path(&file.taken).filter(|_| plain);
        let from = from.ok_or_else(|| io::Error::other(format!("`{}` did not come", file.path)))?;
        let to = home.join(&file.path);
        to.parent().map_or(Ok(()), made)?;
        fs::copy(from, &to)?;
        let mode = if file.is_program { 0o755 } else { 0o644 };
        fs::set_permissions(&to, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The run, a child that ends with this process.
struct Started {
    pid: u32,
    start_ticks: u64,
    /// Threads that pass on what it prints.
    readers: Vec<JoinHandle<()>>,
}

impl Started {
    fn of(
        order: &RunOrder,
        (home, results, socket): (&Path, &Path, &Path),
        voice: &Voice,
    ) -> io::Result<Self> {
        let program = process::own_executable()?;
        let (output, output_writer) = pipe()?;
        let (errors, errors_writer) = pipe()?;
        let pass_by = order.passes.then(|| OsString::from(format!("--pass-by={}", socket.display())));
        let words = order.words.iter().map(OsString::from).chain(pass_by);
        let out = order
            .out
            .as_ref()
            .map(|_| [OsString::from(format!("--far={}", order.typed)), "--out".into(), results.into()]);
        let columns = ("COLUMNS".into(), order.columns.to_string().into());
        let spawned = process::spawn(Launch {
            argv: [program.clone().into()]
                .into_iter()
                .chain(words)
                .chain(out.into_iter().flatten())
                .collect(),
            env: std::env::vars_os().filter(|(name, _)| name != "COLUMNS").chain([columns]).collect(),
            cwd: home.to_owned(),
            stdin: None,
            stdout: File::from(OwnedFd::from(output_writer)),
            stderr: File::from(OwnedFd::from(errors_writer)),
            cpus: Vec::new(),
            user: None,
            cgroups: Vec::new(),
            demanded_cgroups: Vec::new(),
        })?;
        let start_ticks = process::stat(spawned.pid)?.start_ticks;
        let out = order.out.clone().unwrap_or_default();
        let names = [(results.to_owned(), out), (program, order.program.clone())];
        let reader = |from: PipeReader, of| {
            let (voice, names) = (voice.clone(), names.clone());
            thread::spawn(move || send_lines(from, &of, &voice, &names))
        };
        let readers = vec![reader(output, PieceOf::Output), reader(errors, PieceOf::Errors)];
        Ok(Self { pid: spawned.pid, start_ticks, readers })
    }
}

/// Passes lines on, with the caller's names of the results directory and the program.
fn send_lines(from: PipeReader, of: &PieceOf, voice: &Voice, names: &[(PathBuf, String); 2]) {
    let (mut from, mut line, mut at) = (BufReader::new(from), Vec::new(), 0);
    while let Ok(1..) = from.read_until(b'\n', &mut line) {
        let mut text = String::from_utf8_lossy(&line).into_owned();
        for (own, theirs) in names {
            text = text.replace(&*own.to_string_lossy(), theirs);
        }
        for piece in text.as_bytes().chunks(PIECE) {
            voice.piece(of.clone(), at, piece);
            at += piece.len() as u64;
        }
        line.clear();
    }
}
