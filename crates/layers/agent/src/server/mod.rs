//! On-line agent of a domain: a daemon that counter-signs identities for hours, endorses transfers, and announces
//! revocations.
//!
//! Measured side, a process of its own until SIGTERM, fed by strangers. A thread a connection, as those are few and
//! ask seldom; one accepts, one waits for signals and writes the status. Owns the life of the process and of
//! connections; `decide` owns the answers.

mod book;
mod checkpoints;
mod decide;
mod groups;

use crate::channel::{Channel, Cut};
use crate::files::{self, FileError};
use crate::message::{AgentReply, AgentRequest};
use crate::refusal::No;
use crate::roll::Roll;
use crate::trust::{self, TrustError};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::daemon::door::{
    self, ConnectionHandler, ListenError, Seat, SeatLimits, Seats, SentAway, listen,
};
use bakeoff_layers_base::daemon::mount::STATUS_DELAY;
use bakeoff_layers_base::daemon::status::StatusFile;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_base::plain::PathError;
use bakeoff_layers_credentials::bundle::DomainBundle;
use bakeoff_layers_credentials::key::{PublicKey, SecretKey};
use bakeoff_layers_credentials::name::Domain;
use bakeoff_layers_credentials::tls::{self, TlsError, peer_key};
use book::{Book, Limits};
use checkpoints::Checkpoints;
use decide::Agent;
use groups::Groups;
use nix::sys::socket::{setsockopt, sockopt};
use rustls::{ServerConfig, ServerConnection};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// Limits on connections, each with a thread. A peer is known once a question of his was answered.
const SEATS: SeatLimits = SeatLimits { all: 64, strangers: 16, strangers_of_address: 8 };
/// Limit on those of them that are subscriptions.
const MOST_SUBSCRIBERS: usize = 48;
/// Time limit for the TLS handshake, for a whole question, and for taking an answer.
const WITHIN: Duration = Duration::from_secs(10);
/// Interval of signs of life to subscribers.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Options of the agent.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The agent's directory, as `authority::init` made it.
    pub dir: PathBuf,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// File that the counters are written to.
    pub status: Option<PathBuf>,
}

/// Reasons for not serving.
#[derive(Debug, Error)]
pub enum AgentServeError {
    /// A file of its directory cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its bundle cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Its key and certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Its bundle does not pin its key.
    #[error("{}: no certificate in the bundle is over agent.key; bring back the key, or have a bundle made for this one", .0.display())]
    NotPinned(PathBuf),
    /// Its directory has several domains, or none.
    #[error("{}: not the directory of one domain's agent; `bakeoff layer ca init` makes one", .0.display())]
    NoDomain(PathBuf),
    /// The file of groups is malformed.
    #[error("{}: {why}", path.display())]
    Groups {
        /// Path of the file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// Its persistent state cannot be used.
    #[error("{}: {error}", path.display())]
    Book {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The status file.
    #[error(transparent)]
    Status(#[from] PathError),
    /// Signals or threads failed.
    #[error("cannot serve: {0}")]
    Process(#[from] io::Error),
}

/// State shared by all threads.
struct Server {
    agent: Agent,
    config: RwLock<Arc<ServerConfig>>,
    seats: Arc<Seats>,
    subscribers: AtomicUsize,
    counts: Mutex<BTreeMap<String, u64>>,
}

/// Serves until SIGTERM or SIGINT; passes the address to `ready`, and findings at SIGHUP to `note`.
///
/// # Errors
/// It could not begin.
pub fn serve(
    options: &AgentOptions,
    ready: impl FnOnce(SocketAddr),
    note: impl Fn(&str),
) -> Result<(), AgentServeError> {
    let server = Arc::new(Server::open(&options.dir)?);
    let (listener, address) = listen(options.listen)?;
    let mut status = StatusFile::begin(options.status.as_deref(), server.status("listening", address))?;
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let (sender, events) = channel();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().try_for_each(|signal| sender.send(signal)).is_ok())?;
    door::open(listener, Arc::downgrade(&server))?;
    ready(address);
    loop {
        match events.recv_timeout(STATUS_DELAY) {
            Ok(SIGHUP) => match server.read_again(&options.dir) {
                Ok(()) => note("groups, bundle and key were read again"),
                Err(why) => note(&format!("{why}; groups, bundle and key are as they were")),
            },
            Ok(_) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // A full disk leaves the old one.
        let _ = status.write(server.status("listening", address));
    }
    let _ = status.write(server.status("ended", address));
    Ok(())
}

fn groups(dir: &Path, domain: &Domain) -> Result<Groups, AgentServeError> {
    let path = dir.join("groups");
    let text = String::from_utf8(files::read(&path)?).map_err(|_| "not a text in UTF-8".to_owned());
    text.and_then(|text| Groups::read(&text, domain)).map_err(|why| AgentServeError::Groups { path, why })
}

impl Server {
    fn open(dir: &Path) -> Result<Self, AgentServeError> {
        let (bundle, key, config) = keys(dir)?;
        let path = dir.join("book");
        let book = Book::open(&path, Limits::SERVING, now_unix_s())
            .map_err(|error| AgentServeError::Book { path, error })?;
        let groups = groups(dir, &bundle.domain)?;
        let checkpoints = Checkpoints::below(dir)?;
        Ok(Self {
            agent: Agent::new(bundle, key, Roll::of(dir), groups, (book, checkpoints)),
            config: RwLock::new(Arc::new(config)),
            seats: Seats::new(SEATS),
            subscribers: AtomicUsize::new(0),
            counts: Mutex::default(),
        })
    }

    /// Takes groups, bundle and key that are there now, or none of them.
    fn read_again(&self, dir: &Path) -> Result<(), AgentServeError> {
        let (bundle, key, config) = keys(dir)?;
        if bundle.domain != self.agent.domain {
            return Err(AgentServeError::NoDomain(dir.to_owned()));
        }
        self.agent.regroup(groups(dir, &bundle.domain)?);
        self.agent.rekey(bundle.ca, key);
        *write(&self.config) = Arc::new(config);
        Ok(())
    }

    fn count(&self, name: &str) {
        let mut counts = lock(&self.counts);
        *counts.entry(name.to_owned()).or_default() += 1;
    }

    fn refuse(&self, no: &No) {
        self.count(&format!("refused.{}", no.name()));
    }

    fn status(&self, state: &str, address: SocketAddr) -> String {
        let (epoch, revoked) = self.agent.size();
        let mut text = format!(
            "state {state}\naddress {address}\ndomain {}\nepoch {epoch}\nrevoked {revoked}\nconnected {}\nsubscribers {}\n",
            self.agent.domain,
            self.seats.taken(),
            self.subscribers.load(Ordering::Relaxed)
        );
        for (name, count) in &*lock(&self.counts) {
            let _ = writeln!(text, "{name} {count}");
        }
        text
    }
}

/// Bundle and key of an agent, which the bundle pins, and what it shows in TLS.
fn keys(dir: &Path) -> Result<(DomainBundle, SecretKey, ServerConfig), AgentServeError> {
    let bundle = own_bundle(dir)?;
    let key = files::read_secret_key(&dir.join("agent.key"))?;
    let is_own = |root: &&_| peer_key(Some(std::slice::from_ref(*root))) == Some(key.public());
    let pinned = bundle.roots().iter().find(is_own);
    let config = tls::agent_server(&key, pinned.ok_or_else(|| AgentServeError::NotPinned(dir.to_owned()))?)?;
    Ok((bundle, key, config))
}

/// The bundle of the agent's own domain, which is the only one in its directory.
///
/// # Errors
/// There is none, or several.
pub fn own_bundle(dir: &Path) -> Result<DomainBundle, AgentServeError> {
    trust::only(&dir.join("trust"))?.ok_or_else(|| AgentServeError::NoDomain(dir.to_owned()))
}

impl ConnectionHandler for Server {
    fn seats(&self) -> &Arc<Seats> {
        &self.seats
    }

    fn attend(&self, stream: TcpStream, seat: &Seat) {
        self.count("connections");
        if let Err(no) = attend(self, stream, seat) {
            self.refuse(&no);
        }
    }

    fn send_away(&self, why: SentAway) {
        self.count(&format!("refused.{}", why.name()));
    }
}

/// Serves a connection until its end; returns a reason if the client is to blame.
fn attend(server: &Server, stream: TcpStream, seat: &Seat) -> Result<(), No> {
    // A client that vanished silently holds no thread for long.
    let _ = setsockopt(&stream, sockopt::TcpUserTimeout, &10_000);
    let mut channel =
        Channel::serving(stream, read(&server.config).clone(), WITHIN).map_err(|_| No::NoHandshake)?;
    if channel.tls().alpn_protocol() != Some(tls::AGENT) {
        return Err(No::OtherProtocol);
    }
    let peer = peer_key(channel.tls().peer_certificates()).ok_or(No::NoHandshake)?;
    let mut asked = false;
    loop {
        let message = match channel.read(WITHIN) {
            Ok(message) => message,
            Err(Cut::Silent) if asked => return Ok(()),
            Err(Cut::Closed | Cut::Failed(_)) => return Ok(()),
            Err(Cut::Silent | Cut::Half) => return say_no(&mut channel, No::HalfMessage),
            Err(Cut::TooLarge) => return say_no(&mut channel, No::TooLarge),
        };
        asked = true;
        let answered = answer(server, peer, &message);
        if answered.is_ok() {
            seat.is_known();
        }
        match answered {
            Ok((AgentRequest::Subscribe, _)) => return subscribed(server, &mut channel),
            Ok((_, answer)) => {
                if channel.write(&answer.write(), WITHIN).is_err() {
                    return Ok(());
                }
            }
            Err(no) => {
                server.refuse(&no);
                if channel.write(&said(&no), WITHIN).is_err() {
                    return Ok(());
                }
            }
        }
    }
}

fn answer(server: &Server, peer: PublicKey, message: &[u8]) -> Result<(AgentRequest, AgentReply), No> {
    let question = AgentRequest::read(message)?;
    let answer = server.agent.answer(peer, &question, now_unix_s())?;
    server.count(match question {
        AgentRequest::Login { .. } => "logins",
        AgentRequest::Endorse(_) => "endorsements",
        AgentRequest::Revoke { .. } => "revocations",
        AgentRequest::Subscribe => "subscriptions",
        AgentRequest::Keep { .. } => "checkpoints",
        AgentRequest::Kept(_) => "checkpoints-asked",
    });
    Ok((question, answer))
}

fn said(no: &No) -> Vec<u8> {
    AgentReply::No(no.name().to_owned(), no.to_string()).write()
}

fn say_no(channel: &mut Channel<ServerConnection>, no: No) -> Result<(), No> {
    let _ = channel.write(&said(&no), HEARTBEAT);
    Err(no)
}

/// Sends notices to a subscriber until it is gone.
fn subscribed(server: &Server, channel: &mut Channel<ServerConnection>) -> Result<(), No> {
    if server.subscribers.fetch_add(1, Ordering::Relaxed) >= MOST_SUBSCRIBERS {
        server.subscribers.fetch_sub(1, Ordering::Relaxed);
        return say_no(channel, No::TooManySubscribers);
    }
    let (mut told, mut next) = server.agent.told(now_unix_s());
    while next.iter().all(|reply| channel.write(&reply.write(), WITHIN).is_ok()) {
        next = match server.agent.wait(told, HEARTBEAT) {
            epoch if epoch == told => vec![AgentReply::Alive(epoch, now_unix_s())],
            _ => {
                let news = server.agent.told(now_unix_s());
                told = news.0;
                news.1
            }
        };
    }
    server.subscribers.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}
