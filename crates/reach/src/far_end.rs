//! The far end of a channel: hears orders, answers beats whatever else is under way, and ends with whoever started it.
//!
//! Measuring side, a process of its own, mostly on another host. It ends when it is told to, when its input ends, or
//! when nothing was heard for a lease.

use super::executable::Executable;
use super::incoming::Incoming;
use super::message::{Answer, EndInfo, Line, Order, PROTOCOL, PieceOf, Speech, line};
use super::taken::Taken;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// The lease until one is named.
const FIRST_LEASE: Nanos = Nanos::from_secs(60);
/// Time between two looks at the lease.
const LOOK: Duration = Duration::from_millis(100);
/// Most bytes that are taken at once.
const LARGEST: u64 = 1 << 30;

/// Follows the orders of a kind of far end.
pub trait Follow<S: Speech> {
    /// Does what an order says, with what was taken until then; `heard_ns`: when it came, by this process' clock.
    ///
    /// # Errors
    /// It cannot be done: a refusal, in words.
    fn follow(&mut self, order: S::Order, taken: &Taken, heard_ns: u64) -> Result<S::Answer, String>;
}

/// Where bytes of far ends go that are called for this one.
pub type Passed = Box<dyn FnMut(u32, bool, &[u8]) + Send>;

/// What a follower may say before its answer, and what it has to look at.
#[derive(Clone)]
pub struct Voice(Arc<Shared>);

impl Voice {
    /// Set once what is under way is to end early.
    pub fn interrupted(&self) -> &AtomicBool {
        &self.0.interrupted
    }

    /// What is done with bytes from the far ends that are called for this one: their number, whether they are of standard
    /// error, and the bytes.
    pub fn on_pass(&self, passed: Passed) {
        *self.0.passed.lock().unwrap_or_else(PoisonError::into_inner) = Some(passed);
    }

    /// Sends bytes of something, `at` behind its beginning.
    pub fn piece(&self, of: PieceOf, at: u64, bytes: &[u8]) {
        let mut words = line(0, &Answer::<()>::Piece { of, at, bytes: bytes.len() as u64 });
        words.extend_from_slice(bytes);
        self.0.say(&words);
    }
}

/// Message of the reading thread.
enum Said<O> {
    Order { n: u64, order: Order<O>, file: Option<File>, heard_ns: u64 },
    Gone(String),
}

/// State that threads share.
struct Shared {
    clock: MonotonicClock,
    /// The moment at which anything was heard last.
    heard_ns: AtomicU64,
    lease_ns: AtomicU64,
    /// What is under way ends at once.
    interrupted: AtomicBool,
    output: Mutex<Box<dyn Write + Send>>,
    passed: Mutex<Option<Passed>>,
}

impl Shared {
    /// That nobody is there any more is noticed by the reading thread.
    fn say(&self, words: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = output.write_all(words).and_then(|()| output.flush());
    }

    fn now_ns(&self) -> u64 {
        self.clock.now().get()
    }
}

/// Time to end by itself, and what is done after it.
#[derive(Clone, Copy)]
struct Grace {
    time: Duration,
    stuck: fn(),
}

/// Works as a far end until it is ended. `threads`: how many it offers. `begin` gives the follower its voice. If it has
/// not ended within `grace` of the other end's, `stuck` is called.
///
/// # Errors
/// The other end is gone, in words.
pub fn attend<S: Speech, F: Follow<S>>(
    (input, output): (impl Read + Send + 'static, impl Write + Send + 'static),
    threads: usize,
    begin: impl FnOnce(Voice) -> F,
    (grace, stuck): (Duration, fn()),
) -> Result<(), String> {
    let clock = MonotonicClock::new();
    let shared = Arc::new(Shared {
        clock,
        heard_ns: AtomicU64::new(clock.now().get()),
        lease_ns: AtomicU64::new(FIRST_LEASE.get()),
        interrupted: AtomicBool::new(false),
        output: Mutex::new(Box::new(output)),
        passed: Mutex::new(None),
    });
    let grace = Grace { time: grace, stuck };
    let (tell, told) = channel();
    let (own, also) = (shared.clone(), tell.clone());
    thread::spawn(move || {
        let why = hear::<S>(&own, input, &tell);
        leave(&own, &tell, why, grace);
    });
    let own = shared.clone();
    thread::spawn(move || {
        let silence = watch(&own);
        leave(&own, &also, format!("nothing was heard of the run for {silence}"), grace);
    });
    let build = Executable::own().map_err(|why| why.to_string())?.sha256;
    let info = EndInfo { build, ..EndInfo::here(threads) };
    work::<S, F>(&shared, &told, &info, begin(Voice(shared.clone())))
}

/// Ends what is under way, and then the process if that is not enough.
fn leave<O>(shared: &Shared, tell: &Sender<Said<O>>, why: String, grace: Grace) {
    shared.interrupted.store(true, Ordering::Relaxed);
    let _ = tell.send(Said::Gone(why));
    thread::sleep(grace.time);
    (grace.stuck)();
}

/// Waits until nothing was heard for a lease.
fn watch(shared: &Shared) -> Nanos {
    loop {
        thread::sleep(LOOK);
        let silent = shared.now_ns().saturating_sub(shared.heard_ns.load(Ordering::Relaxed));
        if silent > shared.lease_ns.load(Ordering::Relaxed) {
            return Nanos::from_millis(silent / 1_000_000);
        }
    }
}

/// Reads orders until there are no more. Beats are answered here, whatever else is under way.
fn hear<S: Speech>(shared: &Shared, input: impl Read, tell: &Sender<Said<S::Order>>) -> String {
    let answer = |n, answer: Answer<()>| shared.say(&line(n, &answer));
    let mut incoming = Incoming::new(input, || shared.heard_ns.store(shared.now_ns(), Ordering::Relaxed));
    loop {
        let text = match incoming.line() {
            Ok(Some(text)) => text,
            Ok(None) => return "the run closed the channel".to_owned(),
            Err(why) => return format!("the channel cannot be read: {why}"),
        };
        let heard_ns = shared.now_ns();
        let Ok(Line { n, say: order }) = serde_json::from_slice::<Line<Order<S::Order>>>(&text) else {
            return "the run says what is no order".to_owned();
        };
        let file = match &order {
            Order::Beat => {
                let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                answer(n, Answer::Beat { mono_ns: shared.now_ns(), wall_ns: wall.as_nanos() as u64 });
                continue;
            }
            Order::Interrupt => {
                shared.interrupted.store(true, Ordering::Relaxed);
                continue;
            }
            Order::Pass { number, errors, bytes } => {
                let Ok(Some(piece)) = incoming.bytes(*bytes) else {
                    return "the run closed the channel".to_owned();
                };
                if let Some(passed) = &mut *shared.passed.lock().unwrap_or_else(PoisonError::into_inner) {
                    passed(*number, *errors, &piece);
                }
                continue;
            }
            Order::Stop => {
                shared.interrupted.store(true, Ordering::Relaxed);
                None
            }
            Order::Take { name, bytes, .. } => match take(&mut incoming, *bytes) {
                Ok(file) => Some(file),
                Err(why) => {
                    answer(n, Answer::Refused { why: format!("{name}: {why}") });
                    return format!("{name}: {why}");
                }
            },
            Order::Hello { .. } | Order::Own(_) => None,
        };
        if tell.send(Said::Order { n, order, file, heard_ns }).is_err() {
            return "it has stopped".to_owned();
        }
    }
}

fn take<R: Read, F: Fn()>(incoming: &mut Incoming<R, F>, bytes: u64) -> io::Result<File> {
    if bytes > LARGEST {
        return Err(io::Error::other(format!("{bytes} bytes are more than is taken")));
    }
    let mut file = tempfile::tempfile()?;
    match incoming.raw(bytes, |piece| file.write_all(piece))? {
        true => Ok(file),
        false => Err(io::Error::other("the channel closed in the middle of it")),
    }
}

/// Follows orders.
fn work<S: Speech, F: Follow<S>>(
    shared: &Shared,
    told: &Receiver<Said<S::Order>>,
    info: &EndInfo,
    mut own: F,
) -> Result<(), String> {
    let mut taken = Taken::default();
    while let Ok(said) = told.recv() {
        let (n, order, file, heard_ns) = match said {
            Said::Order { n, order, file, heard_ns } => (n, order, file, heard_ns),
            Said::Gone(why) => return Err(why),
        };
        let answered = match order {
            Order::Hello { protocol, build, lease_ms } => greeted(shared, info, (protocol, &build, lease_ms)),
            Order::Take { name, sha256, .. } => file
                .ok_or_else(|| "nothing came with it".to_owned())
                .and_then(|file| taken.keep(&name, &sha256, file))
                .map(|()| Answer::Taken),
            Order::Own(order) => own.follow(order, &taken, heard_ns).map(Answer::Own),
            Order::Beat | Order::Interrupt | Order::Pass { .. } => continue, // they do not come here
            Order::Stop => {
                shared.say(&line(n, &Answer::<S::Answer>::Stopped));
                return Ok(());
            }
        };
        shared.say(&line(n, &answered.unwrap_or_else(|why| Answer::Refused { why })));
    }
    Err("its threads ended".to_owned())
}

fn greeted<A>(
    shared: &Shared,
    info: &EndInfo,
    (protocol, build, lease_ms): (u32, &str, u64),
) -> Result<Answer<A>, String> {
    if protocol != PROTOCOL || build != info.build {
        let short = |build: &str| build.chars().take(12).collect::<String>();
        return Err(format!(
            "its `bakeoff` is of another build (SHA-256 {}...) than the run's ({}...): copy the run's executable to that \
             host, to where its PATH finds it",
            short(&info.build),
            short(build)
        ));
    }
    shared.lease_ns.store(lease_ms.saturating_mul(1_000_000), Ordering::Relaxed);
    Ok(Answer::Here(info.clone()))
}
