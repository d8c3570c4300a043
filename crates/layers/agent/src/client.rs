//! Client of agents: holders log in, have transfers endorsed and revoke; servers subscribe to revocations.
//!
//! Measured side, in the caller's process. The client knows an agent by the certificate that its domain's bundle
//! pins, and shows nothing before the agent has shown that.

use crate::channel::{Channel, Cut};
use crate::message::{AgentReply, AgentRequest, RevocationTarget};
use crate::session::AgentSession;
use crate::trust::LiveBundles;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::bundle::{Bundles, DomainBundle};
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::tls::{TlsError, agent_client};
use rustls::{ClientConfig, ClientConnection};
use rustls_pki_types::ServerName;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time limit for a connection, for TLS, and for an answer.
const WITHIN: Duration = Duration::from_secs(10);
/// An agent that sends nothing for this long is silent: it sends something each second.
const SILENCE: Duration = Duration::from_secs(5);
/// First and longest pause between attempts to reach a silent agent.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// Errors of asking an agent.
#[derive(Debug, Error)]
pub enum AgentError {
    /// There is no bundle of the domain.
    #[error("there is no trust bundle of {0} here; take one in with `bakeoff layer ca import`")]
    UnknownDomain(Domain),
    /// The bundle has no address of an agent.
    #[error("the trust bundle of {0} does not say where its agent is; have one made that does")]
    NoAddress(Domain),
    /// The bundle has expired, and its word for the agent with it.
    #[error(
        "the trust bundle of {0} is over (expired); its administrator makes the next with `bakeoff layer ca bundle`, and \
         `bakeoff layer ca import` takes it in here"
    )]
    Expired(Domain),
    /// No agent answers there.
    #[error(
        "the agent of {domain} is not reached at {address}: {error}; is `bakeoff layer ola serve` running there?"
    )]
    Unreached {
        /// The domain.
        domain: Domain,
        /// The address.
        address: String,
        /// The I/O error.
        error: io::Error,
    },
    /// The key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The agent refused.
    #[error("the agent of {domain} refuses ({name}): {sentence}")]
    Refused {
        /// The domain.
        domain: Domain,
        /// The name of the reason.
        name: String,
        /// The reason as a sentence.
        sentence: String,
    },
    /// The answer does not fit the question.
    #[error("the agent of {0} answers something else than was asked; use the same version here and there")]
    Odd(Domain),
}

/// Asks for a leaf, in DER. The key belongs to the last of these identities; a role's owner comes before the role.
///
/// # Errors
/// The agent did not give one.
pub fn login(
    key: &SecretKey,
    bundle: &DomainBundle,
    shown: Hello,
    seconds: u64,
) -> Result<Vec<u8>, AgentError> {
    // Every verifier would refuse the leaf. (Revoking is never too late.)
    if bundle.is_over(now_unix_s()) {
        return Err(AgentError::Expired(bundle.domain.clone()));
    }
    match ask(key, bundle, &AgentRequest::Login { shown, seconds })? {
        AgentReply::Leaf(leaf) => Ok(leaf),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Statuses of all transfers in a session, each from the agent of its giver's domain.
///
/// # Errors
/// An agent does not endorse one of them.
pub fn endorse(session: &AgentSession, bundles: &Bundles) -> Result<Vec<(Domain, Vec<u8>)>, AgentError> {
    let shown = session.hello();
    let mut domains: Vec<&Domain> = shown.chain.iter().map(|(giver, _)| giver.domain()).collect();
    domains.sort();
    domains.dedup();
    let status = |domain: &Domain| {
        let bundle = bundles.get(domain).ok_or_else(|| AgentError::UnknownDomain(domain.clone()))?;
        match ask(session.key(), bundle, &AgentRequest::Endorse(shown.clone()))? {
            AgentReply::Status(status) => Ok((domain.clone(), status)),
            _ => Err(AgentError::Odd(domain.clone())),
        }
    };
    domains.into_iter().map(status).collect()
}

/// Revokes an item, as the holder of the last of these identities or of the agent's key, who shows none; returns the
/// number of revocations ever made.
///
/// # Errors
/// It is not revoked.
pub fn revoke(
    key: &SecretKey,
    bundle: &DomainBundle,
    shown: Hello,
    what: RevocationTarget,
) -> Result<u64, AgentError> {
    match ask(key, bundle, &AgentRequest::Revoke { shown, what })? {
        AgentReply::Done(epoch) => Ok(epoch),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Has the agent keep a checkpoint of the audit log of this session's holder.
///
/// # Errors
/// It is not kept.
pub fn keep(session: &AgentSession, bundle: &DomainBundle, note: &str) -> Result<(), AgentError> {
    let question = AgentRequest::Keep { shown: session.identity().clone(), note: note.to_owned() };
    match ask(session.key(), bundle, &question)? {
        AgentReply::Kept(_) => Ok(()),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Last kept checkpoint of a server's audit log, if there is one.
///
/// # Errors
/// The agent did not answer.
pub fn kept(bundle: &DomainBundle, server: &PrincipalName) -> Result<Option<String>, AgentError> {
    match ask(&SecretKey::generate().map_err(TlsError::from)?, bundle, &AgentRequest::Kept(server.clone()))? {
        AgentReply::Kept(note) => Ok(Some(note).filter(|note| !note.is_empty())),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Subscriptions to the agents of all domains of a directory.
#[derive(Debug)]
pub struct Subscriptions {
    bundles: LiveBundles,
    sender: Sender<Notice>,
    followed: Mutex<HashSet<Domain>>,
}

impl Subscriptions {
    /// Subscribes to each agent, in a thread, and sends its notices until the receiver is gone.
    ///
    /// # Errors
    /// No thread can be started, or no key can be made to connect with.
    pub fn begin(bundles: &LiveBundles, sender: Sender<Notice>) -> io::Result<Self> {
        let new = Self { bundles: bundles.clone(), sender, followed: Mutex::default() };
        new.follow().map(|()| new)
    }

    /// Subscribes to the agents of domains that came since. The others' threads find newer bundles by themselves.
    ///
    /// # Errors
    /// As for [`begin`](Self::begin).
    pub fn follow(&self) -> io::Result<()> {
        let bundles = self.bundles.now();
        for bundle in bundles.each().filter(|bundle| !bundle.addresses.is_empty()) {
            if !lock(&self.followed).insert(bundle.domain.clone()) {
                continue;
            }
            let key = SecretKey::generate().map_err(io::Error::other)?;
            let (bundles, sender) = (self.bundles.clone(), self.sender.clone());
            let listener = Listener { domain: bundle.domain.clone(), bundles, key, sender };
            thread::Builder::new().name("agent".to_owned()).spawn(move || listener.listen())?;
        }
        Ok(())
    }
}

/// Asks one question and returns the answer.
fn ask(key: &SecretKey, bundle: &DomainBundle, question: &AgentRequest) -> Result<AgentReply, AgentError> {
    let (mut channel, address) = connect(key, bundle, WITHIN)?;
    let domain = bundle.domain.clone();
    let said = channel.write(&question.write(), WITHIN).and_then(|()| channel.read(WITHIN).map_err(why));
    let said = said.map_err(|error| AgentError::Unreached { domain: domain.clone(), address, error })?;
    match AgentReply::read(&said) {
        Ok(AgentReply::No(name, sentence)) => Err(AgentError::Refused { domain, name, sentence }),
        Ok(answer) => Ok(answer),
        Err(_) => Err(AgentError::Odd(domain)),
    }
}

/// Connects to the first address that answers as the agent, and returns that address.
fn connect(
    key: &SecretKey,
    bundle: &DomainBundle,
    within: Duration,
) -> Result<(Channel<ClientConnection>, String), AgentError> {
    let config = Arc::new(agent_client(key, bundle.roots())?);
    let mut last = AgentError::NoAddress(bundle.domain.clone());
    for address in &bundle.addresses {
        match reach(address, &config, within) {
            Ok(channel) => return Ok((channel, address.clone())),
            Err(error) => {
                let (domain, address) = (bundle.domain.clone(), address.clone());
                last = AgentError::Unreached { domain, address, error };
            }
        }
    }
    Err(last)
}

fn reach(
    address: &str,
    config: &Arc<ClientConfig>,
    within: Duration,
) -> io::Result<Channel<ClientConnection>> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let mut last = io::Error::from(ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        let stream = TcpStream::connect_timeout(&address, within);
        match stream.and_then(|stream| Channel::asking(stream, config.clone(), host.clone(), within)) {
            Ok(channel) => return Ok(channel),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn why(cut: Cut) -> io::Error {
    match cut {
        Cut::Closed | Cut::Half => ErrorKind::UnexpectedEof.into(),
        Cut::Silent => ErrorKind::TimedOut.into(),
        Cut::TooLarge => ErrorKind::FileTooLarge.into(),
        Cut::Failed(error) => error,
    }
}

/// Subscription to one agent, and the receiver of its notices.
struct Listener {
    domain: Domain,
    bundles: LiveBundles,
    key: SecretKey,
    sender: Sender<Notice>,
}

/// The receiver is gone.
struct Unwanted;

impl Listener {
    fn listen(&self) {
        let mut heard = Instant::now();
        let mut pause = PAUSES[0];
        loop {
            let before = heard;
            if self.follow(&mut heard).is_err() {
                return;
            }
            if heard.elapsed() >= SILENCE && self.tell(News::Silent).is_err() {
                return;
            }
            pause = if heard == before { (pause * 2).min(PAUSES[1]) } else { PAUSES[0] };
            thread::sleep(pause);
        }
    }

    /// Follows the agent as long as it is alive.
    fn follow(&self, heard: &mut Instant) -> Result<(), Unwanted> {
        let bundles = self.bundles.now();
        let Some(bundle) = bundles.get(&self.domain) else { return Ok(()) };
        let Ok((mut channel, _)) = connect(&self.key, bundle, SILENCE) else { return Ok(()) };
        if channel.write(&AgentRequest::Subscribe.write(), SILENCE).is_err() {
            return Ok(());
        }
        let mut revoked = Vec::new();
        while let Ok(said) = channel.read(SILENCE) {
            let news = match AgentReply::read(&said) {
                Ok(AgentReply::Epoch { items, last, .. }) => {
                    revoked.extend(items);
                    if !last {
                        continue;
                    }
                    News::Revoked(std::mem::take(&mut revoked))
                }
                Ok(AgentReply::Alive(_, now_unix_s)) => News::Alive(now_unix_s),
                _ => return Ok(()),
            };
            *heard = Instant::now();
            self.tell(news)?;
        }
        Ok(())
    }

    fn tell(&self, what: News) -> Result<(), Unwanted> {
        self.sender.send(Notice { domain: self.domain.clone(), what }).map_err(|_| Unwanted)
    }
}
