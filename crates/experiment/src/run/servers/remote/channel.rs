//! Channels to generators: launchers, their standard input and output, beats, and the loss of any of them.
//!
//! Measuring side. Owns the launchers' processes and the threads that read them; a beat and its answer are all that
//! happens while load runs. No exit code of a launcher means anything: a channel that closes before `stopped` is a loss.

use super::executable::{self, Executable};
use super::incoming::Incoming;
use super::lease::{Leases, Loss, LossCause};
use super::message::{Answer, GeneratorInfo, Line, Order, PlanTerms, line};
use super::place::Place;
use crate::run::RunError;
use bakeoff_results::{PlaceSetup, digest};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// Time within which all generators are there.
const THERE_WITHIN: Nanos = Nanos::from_secs(60);
/// Until it is answered a `hello` is said again and again.
const AGAIN: Nanos = Nanos::from_secs(1);
/// Longest time until Ctrl-C or a loss is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// Time to end after `stop`; then launchers are killed.
const STOP_WITHIN: Nanos = Nanos::from_secs(1);
/// Time for the last words of a launcher whose channel closed: on a busy machine they come late.
const LAST_WORDS_WITHIN: Nanos = Nanos::from_secs(3);
/// Bytes that a launcher or a login shell may print before the generator speaks.
const NOISE: usize = 1 << 16;
/// Characters of last words that are shown.
const SHOWN: usize = 300;

/// All channels of a run.
pub(super) struct Channels {
    shared: Arc<Shared>,
    numbers: AtomicU64,
}

struct Shared {
    clock: MonotonicClock,
    lease: Nanos,
    peers: Vec<Peer>,
    state: Mutex<State>,
    changed: Condvar,
}

/// One launcher.
struct Peer {
    place: String,
    trial: String,
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
}

impl Peer {
    /// Ends the launcher, if it does not end by itself while it may.
    fn end(&self, may_yet: impl Fn() -> bool) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        while may_yet() && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

struct State {
    leases: Leases,
    ends: Vec<End>,
    /// Nothing is to be said any more.
    over: bool,
}

/// State of the far end of a channel.
#[derive(Default)]
struct End {
    /// Its host, once it has said so.
    host: Option<String>,
    /// By the number of the order.
    answers: BTreeMap<u64, Answer>,
    /// Its launcher's last words.
    said: String,
    /// Nothing more will be said there.
    has_said_all: bool,
    /// The beat that is not answered yet, and when it was sent.
    beat: Option<(u64, Nanos)>,
    /// The shortest round trip.
    trip: Option<Trip>,
}

/// A beat and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    pub(super) time: Nanos,
    /// The generator's monotonic clock less this one's.
    mono_offset_ns: i64,
    /// The same of the wall clocks.
    pub(super) wall_offset_ns: i64,
}

/// Outcome of waiting for answers.
pub(super) enum Waited {
    /// One a generator.
    All(Vec<Answer>),
    /// Ctrl-C.
    Interrupted,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// A channel that is closed says so by itself: its reader notices.
    fn say(&self, generator: usize, line: &[u8], raw: &[u8]) {
        let mut input = self.peers[generator].input.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut input, line, raw);
    }

    /// Says it once nothing else is being said there; false: something is until after this moment.
    fn say_by(&self, generator: usize, line: &[u8], until: Nanos) -> bool {
        loop {
            if let Ok(mut input) = self.peers[generator].input.try_lock() {
                put(&mut input, line, &[]);
                return true;
            }
            if self.clock.now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// What a shell that lacks the run's executable is sent; each piece that goes renews the lease.
    fn send_executable(&self, generator: usize) -> io::Result<()> {
        let mut input = self.peers[generator].input.lock().unwrap_or_else(PoisonError::into_inner);
        let renew = || self.state().leases.heard(generator, self.clock.now());
        input.as_mut().map_or(Ok(()), |input| executable::send(input, renew))
    }

    fn kill(&self, generator: usize) {
        let mut child = self.peers[generator].child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
    }
}

fn put(input: &mut Option<ChildStdin>, line: &[u8], raw: &[u8]) {
    if let Some(input) = input {
        let _ = input.write_all(line).and_then(|()| input.write_all(raw)).and_then(|()| input.flush());
    }
}

impl Channels {
    /// Starts all launchers.
    pub(super) fn open(
        places: &[Place],
        executable: &Executable,
        lease: Nanos,
        logs: &Path,
    ) -> Result<Self, RunError> {
        let clock = MonotonicClock::new();
        let (mut peers, mut ends) = (Vec::new(), Vec::new());
        for place in places {
            let (child, input, output, errors) = launched(place, executable)
                .inspect_err(|_| peers.iter().for_each(|peer: &Peer| peer.end(|| false)))?;
            ends.push((output, errors));
            peers.push(Peer {
                place: place.to_string(),
                trial: place.trial(),
                child: Mutex::new(child),
                input: Mutex::new(Some(input)),
            });
        }
        let state = State {
            leases: Leases::new(peers.len(), THERE_WITHIN, clock.now()),
            ends: peers.iter().map(|_| End::default()).collect(),
            over: false,
        };
        let shared =
            Arc::new(Shared { clock, lease, peers, state: Mutex::new(state), changed: Condvar::new() });
        for (generator, (output, errors)) in ends.into_iter().enumerate() {
            let (own, log) = (shared.clone(), logs.join(format!("launcher-{}.log", generator + 1)));
            thread::spawn(move || note_words(&own, generator, errors, &log));
            let own = shared.clone();
            thread::spawn(move || hear(&own, generator, output));
        }
        Ok(Self { shared, numbers: AtomicU64::new(0) })
    }

    /// Waits until all generators are there; from then on leases hold.
    pub(super) fn greet(
        &self,
        hello: &Order,
        interrupted: &AtomicBool,
    ) -> Result<Vec<GeneratorInfo>, RunError> {
        let n = self.number();
        let words = line(n, hello);
        loop {
            let now = self.now();
            (0..self.shared.peers.len()).for_each(|generator| {
                self.shared.say_by(generator, &words, now);
            });
            let until = now + AGAIN;
            let answered = |state: &State| {
                let named = |end: &End| end.host.is_some() || end.answers.contains_key(&n);
                state.ends.iter().all(named)
            };
            if self.wait(interrupted, Some(until), answered)? {
                break;
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
        }
        let mut infos = Vec::new();
        for (generator, answer) in self.taken(n).into_iter().enumerate() {
            match answer {
                Answer::Generator(info) => infos.push(info),
                other => return Err(self.unfit(generator, &other)),
            }
        }
        let now = self.now();
        self.shared.change(|state| {
            state.leases.begin(self.shared.lease, now);
            for (end, info) in state.ends.iter_mut().zip(&infos) {
                end.host = Some(info.host.clone());
            }
        });
        let shared = self.shared.clone();
        thread::spawn(move || pulse(&shared));
        Ok(infos)
    }

    /// Hands bytes over to all generators; `plan`: what each is told along with it.
    pub(super) fn hand_over(
        &self,
        name: &str,
        bytes: &[u8],
        plan: Option<&[PlanTerms]>,
        interrupted: &AtomicBool,
    ) -> Result<(), RunError> {
        let sha256 = digest::sha256(&[bytes]);
        let n = self.number();
        self.say(n, |generator| {
            let plan = plan.and_then(|terms| terms.get(generator).cloned());
            let name = name.to_owned();
            (Order::Take { name, bytes: bytes.len() as u64, sha256: sha256.clone(), plan }, bytes)
        });
        let Waited::All(answers) = self.answers(n, interrupted)? else { return Err(RunError::Interrupted) };
        let refused = answers.iter().enumerate().find(|(_, answer)| !matches!(answer, Answer::Taken));
        refused.map_or(Ok(()), |(generator, answer)| Err(self.unfit(generator, answer)))
    }

    /// Says the same to all generators and waits for their answers. After Ctrl-C nothing is said.
    pub(super) fn say_to_all(&self, order: &Order, interrupted: &AtomicBool) -> Result<Waited, RunError> {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Waited::Interrupted);
        }
        let n = self.number();
        self.say(n, |_| (order.clone(), &[]));
        self.answers(n, interrupted)
    }

    /// Ends all generators, and their launchers if these do not end by themselves.
    pub(super) fn stop(&self) {
        if std::mem::replace(&mut self.shared.state().over, true) {
            return;
        }
        let words = line(self.number(), &Order::Stop);
        let until = self.now() + STOP_WITHIN;
        for generator in 0..self.shared.peers.len() {
            if !self.shared.say_by(generator, &words, until) {
                self.shared.kill(generator);
            }
        }
        let mut state = self.shared.state();
        while !state.leases.all_ended() && self.now() < until {
            state = wait_for(&self.shared.changed, state);
        }
        drop(state);
        let until = self.now() + STOP_WITHIN;
        for peer in &self.shared.peers {
            peer.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        self.shared.peers.iter().for_each(|peer| peer.end(|| self.now() < until));
    }

    pub(super) fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// A moment of a generator's clock, by this one.
    pub(super) fn here(&self, generator: usize, there_ns: u64) -> Option<Nanos> {
        let trip = self.shared.state().ends[generator].trip?;
        Some(Nanos::new(there_ns.saturating_add_signed(trip.mono_offset_ns.saturating_neg())))
    }

    pub(super) fn trips(&self) -> Vec<Option<Trip>> {
        self.shared.state().ends.iter().map(|end| end.trip).collect()
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(2, Ordering::Relaxed) // odd numbers are those of beats
    }

    fn say<'b>(&self, n: u64, of: impl Fn(usize) -> (Order, &'b [u8])) {
        for generator in 0..self.shared.peers.len() {
            let (order, raw) = of(generator);
            self.shared.say(generator, &line(n, &order), raw);
        }
    }

    fn answers(&self, n: u64, interrupted: &AtomicBool) -> Result<Waited, RunError> {
        let all = |state: &State| state.ends.iter().all(|end| end.answers.contains_key(&n));
        Ok(match self.wait(interrupted, None, all)? {
            true => Waited::All(self.taken(n)),
            false => Waited::Interrupted,
        })
    }

    /// The answers to an order, all of which are there. Earlier ones are of no use any more.
    fn taken(&self, n: u64) -> Vec<Answer> {
        let take = |end: &mut End| {
            let answer = end.answers.remove(&n);
            end.answers.clear();
            answer
        };
        self.shared.state().ends.iter_mut().filter_map(take).collect()
    }

    /// Waits until it is so; false if the time or the run ends before.
    fn wait(
        &self,
        interrupted: &AtomicBool,
        until: Option<Nanos>,
        is_so: impl Fn(&State) -> bool,
    ) -> Result<bool, RunError> {
        let mut state = self.shared.state();
        loop {
            if is_so(&state) {
                return Ok(true);
            }
            if let Some(loss) = state.leases.lost(self.now()) {
                drop(state);
                return Err(self.lost(loss));
            }
            if interrupted.load(Ordering::Relaxed) || until.is_some_and(|until| self.now() >= until) {
                return Ok(false);
            }
            state = wait_for(&self.shared.changed, state);
        }
    }

    fn lost(&self, loss: Loss) -> RunError {
        let mut state = self.shared.state();
        let until = self.now() + LAST_WORDS_WITHIN;
        while !state.ends[loss.generator].has_said_all
            && loss.cause == LossCause::Closed
            && self.now() < until
        {
            state = wait_for(&self.shared.changed, state);
        }
        let is_there = state.ends[loss.generator].host.is_some();
        drop(state);
        let why = match loss.cause {
            LossCause::Silent(time) => {
                format!("it was silent for {}", Nanos::from_millis(time.get() / 1_000_000))
            }
            LossCause::Closed => "its channel closed before it had said that it stopped".to_owned(),
        };
        if !is_there {
            return self.not_there(loss.generator, why);
        }
        RunError::GeneratorLost {
            generator: self.named(loss.generator),
            why,
            said: self.last_words(loss.generator),
        }
    }

    fn not_there(&self, generator: usize, why: String) -> RunError {
        let said = self.last_words(generator);
        let trial = &self.shared.peers[generator].trial;
        RunError::Generators(format!(
            "generator {} is not there: {why}. {said} Nothing was sent. Try it by hand: `{trial}`",
            self.named_by_place(generator)
        ))
    }

    fn last_words(&self, generator: usize) -> String {
        match self.shared.state().ends[generator].said.trim() {
            "" => "Its launcher said nothing.".to_owned(),
            said => {
                format!("The last words of its launcher: {}.", said.chars().take(SHOWN).collect::<String>())
            }
        }
    }

    fn named_by_place(&self, generator: usize) -> String {
        format!("{} ({})", generator + 1, self.shared.peers[generator].place)
    }

    fn named(&self, generator: usize) -> String {
        let host = self.shared.state().ends[generator].host.clone();
        let place = &self.shared.peers[generator].place;
        PlaceSetup::in_words(generator + 1, &format!("{}, {place}", host.as_deref().unwrap_or("not there")))
    }

    /// An answer other than the one that the order has.
    pub(super) fn unfit(&self, generator: usize, answer: &Answer) -> RunError {
        match answer {
            Answer::Refused { why } => {
                RunError::Generators(format!("generator {} refuses: {why}", self.named_by_place(generator)))
            }
            other => self.garbage(generator, &format!("{other:?}").chars().take(SHOWN).collect::<String>()),
        }
    }

    /// An answer that cannot be used.
    pub(super) fn garbage(&self, generator: usize, what: &str) -> RunError {
        RunError::Generators(format!(
            "{} answers what no order has as its answer: {what}",
            self.named(generator)
        ))
    }

    /// A slice that is not the run's.
    pub(super) fn other_slice(&self, generator: usize) -> RunError {
        RunError::Generators(format!(
            "{} makes other requests of the plan than this machine does (their digests differ); nothing was measured with \
             them. Report it: plan, log and build are the same on both",
            self.named(generator)
        ))
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        self.stop();
    }
}

fn wait_for<'s>(changed: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
}

type Launched = (Child, ChildStdin, ChildStdout, ChildStderr);

/// A launcher in a process group of its own: Ctrl-C is for the run, which ends its generators.
fn launched(place: &Place, executable: &Executable) -> Result<Launched, RunError> {
    let words = place.words(executable);
    let failed =
        |why: &str| RunError::Generators(format!("the launcher of {place} cannot be started: {why}"));
    let (program, arguments) = words.split_first().ok_or_else(|| failed("it has no words"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|why| failed(&format!("{program}: {why}")))?;
    let ends = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(input), Some(output), Some(errors)) = ends else { return Err(failed("it has no pipes")) };
    Ok((child, input, output, errors))
}

/// Keeps what a launcher says on standard error, and its last line.
fn note_words(shared: &Shared, generator: usize, errors: ChildStderr, log: &PathBuf) {
    let mut errors = BufReader::new(errors);
    let mut text = Vec::new();
    while let Ok(1..) = errors.read_until(b'\n', &mut text) {
        let _ = log.parent().map(fs::create_dir_all);
        let _ =
            OpenOptions::new().create(true).append(true).open(log).and_then(|mut log| log.write_all(&text));
        let words = String::from_utf8_lossy(&text).trim().to_owned();
        if !words.is_empty() {
            shared.change(|state| state.ends[generator].said = words);
        }
        text.clear();
    }
    shared.change(|state| state.ends[generator].has_said_all = true);
}

/// Reads what a generator answers. What is printed before its first answer is not its own.
fn hear(shared: &Shared, generator: usize, output: ChildStdout) {
    let renew = || shared.state().leases.heard(generator, shared.clock.now());
    let mut incoming = Incoming::new(output, renew);
    let (mut noise, mut is_known) = (0, false);
    while let Ok(Some(text)) = incoming.line() {
        let now = shared.clock.now();
        match serde_json::from_slice::<Line<Answer>>(&text) {
            Ok(Line { n, say: Answer::Need { machine } }) => {
                if let Err(why) = executable::demand_kind(&machine) {
                    shared.change(|state| answered(state, generator, (n, Answer::Refused { why }), now));
                } else if shared.send_executable(generator).is_err() {
                    break;
                }
            }
            Ok(Line { n, say }) => {
                is_known = true;
                shared.change(|state| answered(state, generator, (n, say), now));
            }
            Err(_) if !is_known && noise + text.len() < NOISE => noise += text.len() + 1,
            Err(_) => {
                let words = String::from_utf8_lossy(&text).chars().take(SHOWN).collect::<String>();
                shared.change(|state| state.ends[generator].said = format!("`{words}`, which is no answer"));
                break;
            }
        }
    }
    shared.change(|state| state.leases.closed(generator));
}

fn answered(state: &mut State, generator: usize, (n, answer): (u64, Answer), now: Nanos) {
    let end = &mut state.ends[generator];
    match answer {
        Answer::Beat { mono_ns, wall_ns } => {
            let Some((_, sent)) = end.beat.take_if(|(beat, _)| *beat == n) else { return };
            let trip = Trip::of(sent, now, mono_ns, wall_ns);
            if end.trip.is_none_or(|best| trip.time < best.time) {
                end.trip = Some(trip);
            }
        }
        Answer::Stopped => state.leases.stopped(generator),
        other => {
            end.answers.insert(n, other);
        }
    }
}

impl Trip {
    fn of(sent: Nanos, now: Nanos, mono_ns: u64, wall_ns: u64) -> Self {
        let time = now.since(sent);
        let middle = sent.get() + time.get() / 2;
        let wall =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let wall_middle = wall.saturating_sub(time.get() / 2);
        Self {
            time,
            mono_offset_ns: mono_ns.wrapping_sub(middle).cast_signed(),
            wall_offset_ns: wall_ns.wrapping_sub(wall_middle).cast_signed(),
        }
    }
}

/// Says beats until the end, and kills the launcher of a generator that is lost: whoever writes to it goes on.
fn pulse(shared: &Shared) {
    let every = shared.lease.times(0.25);
    let (mut next, mut n) = (shared.clock.now(), 1);
    loop {
        let mut state = shared.state();
        let now = shared.clock.now();
        let lost = state.leases.lost(now);
        if state.over || lost.is_some() {
            drop(state);
            if let Some(loss) = lost {
                shared.kill(loss.generator);
            }
            shared.changed.notify_all();
            return;
        }
        drop(state);
        if now >= next {
            let mut until_next = every;
            for generator in 0..shared.peers.len() {
                let now = shared.clock.now();
                shared.state().ends[generator].beat = Some((n, now));
                // A transfer that is under way renews the lease as well; but what a round trip takes is known by a beat alone.
                if !shared.say_by(generator, &line(n, &Order::Beat), now) {
                    until_next = every.min(Nanos::from_duration(LOOK));
                }
            }
            (next, n) = (now + until_next, n + 2);
        }
        thread::sleep(LOOK.min(every.as_duration()));
    }
}
