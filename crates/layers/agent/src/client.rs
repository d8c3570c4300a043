//! What is asked of agents: by holders, who log in, have transfers endorsed and take things back; by servers, who listen.
//!
//! Measured side, in the process of whoever asks. An agent is known by the certificate that the bundle of its domain pins, and is
//! shown nothing before it has shown that.

use crate::channel::{Channel, Cut};
use crate::message::{Answer, Question, What};
use crate::session::Session;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_credentials::bundle::{Bundle, Bundles};
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::{Domain, Name};
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::tls::{TlsError, agent_client};
use rustls::{ClientConfig, ClientConnection};
use rustls_pki_types::ServerName;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// For a connection, for TLS, and for an answer.
const WITHIN: Duration = Duration::from_secs(10);
/// An agent that says nothing for so long is silent: it says something each second.
const SILENCE: Duration = Duration::from_secs(5);
/// Between two attempts to hear of it again, from the first to the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// Why an agent did not do it.
#[derive(Debug, Error)]
pub enum AgentError {
    /// There is no bundle of the domain.
    #[error("there is no trust bundle of {0} here; take one in with `bakeoff layer ca import`")]
    UnknownDomain(Domain),
    /// The bundle has no address.
    #[error("the trust bundle of {0} does not say where its agent is; have one made that does")]
    NoAddress(Domain),
    /// The bundle's time is over, and with it the word for its agent.
    #[error(
        "the trust bundle of {0} is over (expired); its administrator makes the next with `bakeoff layer ca bundle`, and \
         `bakeoff layer ca import` takes it in here"
    )]
    Expired(Domain),
    /// Nobody answers as an agent does.
    #[error(
        "the agent of {domain} is not reached at {address}: {error}; is `bakeoff layer ola serve` running there?"
    )]
    Unreached {
        /// Whose.
        domain: Domain,
        /// Where.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// The key.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// It says no.
    #[error("the agent of {domain} refuses ({name}): {sentence}")]
    Refused {
        /// Whose.
        domain: Domain,
        /// The name of the reason.
        name: String,
        /// And what it is.
        sentence: String,
    },
    /// It answers what was not asked.
    #[error("the agent of {0} answers something else than was asked; use the same version here and there")]
    Odd(Domain),
}

/// A leaf, in DER, for whose key this is: that of the last of these identities, an owner's before that of his role.
///
/// # Errors
/// There is none.
pub fn login(key: &SecretKey, bundle: &Bundle, shown: Hello, seconds: u64) -> Result<Vec<u8>, AgentError> {
    // Nobody would take the leaf. (To take something back is never too late.)
    if bundle.is_over(now_unix_s()) {
        return Err(AgentError::Expired(bundle.domain.clone()));
    }
    match ask(key, bundle, &Question::Login { shown, seconds })? {
        Answer::Leaf(leaf) => Ok(leaf),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Statuses of all transfers in a session, each by the agent of its giver's domain.
///
/// # Errors
/// One of them does not endorse it.
pub fn endorse(session: &Session, bundles: &Bundles) -> Result<Vec<(Domain, Vec<u8>)>, AgentError> {
    let shown = session.hello();
    let mut domains: Vec<&Domain> = shown.chain.iter().map(|(giver, _)| giver.domain()).collect();
    domains.sort();
    domains.dedup();
    let status = |domain: &Domain| {
        let bundle = bundles.get(domain).ok_or_else(|| AgentError::UnknownDomain(domain.clone()))?;
        match ask(session.key(), bundle, &Question::Endorse(shown.clone()))? {
            Answer::Status(status) => Ok((domain.clone(), status)),
            _ => Err(AgentError::Odd(domain.clone())),
        }
    };
    domains.into_iter().map(status).collect()
}

/// Takes something back; how much was, ever.
///
/// # Errors
/// It is not taken back.
pub fn revoke(key: &SecretKey, bundle: &Bundle, what: What) -> Result<u64, AgentError> {
    match ask(key, bundle, &Question::Revoke(what))? {
        Answer::Done(epoch) => Ok(epoch),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Has a checkpoint of the audit log of who has this session kept.
///
/// # Errors
/// It is not kept.
pub fn keep(session: &Session, bundle: &Bundle, note: &str) -> Result<(), AgentError> {
    let question = Question::Keep { shown: session.identity().clone(), note: note.to_owned() };
    match ask(session.key(), bundle, &question)? {
        Answer::Kept(_) => Ok(()),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// The last checkpoint that is kept of a server's audit log, if there is one.
///
/// # Errors
/// There is no answer.
pub fn kept(bundle: &Bundle, server: &Name) -> Result<Option<String>, AgentError> {
    match ask(&SecretKey::generate().map_err(TlsError::from)?, bundle, &Question::Kept(server.clone()))? {
        Answer::Kept(note) => Ok(Some(note).filter(|note| !note.is_empty())),
        _ => Err(AgentError::Odd(bundle.domain.clone())),
    }
}

/// Listens to the agents of these domains, a thread each, and tells what they say, until nobody takes it.
///
/// # Errors
/// No thread, or no key to be known by.
pub fn subscribe(bundles: &Bundles, sender: &Sender<Notice>) -> io::Result<()> {
    for bundle in bundles.each().filter(|bundle| !bundle.addresses.is_empty()) {
        let key = SecretKey::generate().map_err(io::Error::other)?;
        let listener = Listener { bundle: bundle.clone(), key, sender: sender.clone() };
        thread::Builder::new().name("agent".to_owned()).spawn(move || listener.listen())?;
    }
    Ok(())
}

/// One question and its answer.
fn ask(key: &SecretKey, bundle: &Bundle, question: &Question) -> Result<Answer, AgentError> {
    let (mut channel, address) = connect(key, bundle, WITHIN)?;
    let domain = bundle.domain.clone();
    let said = channel.write(&question.write(), WITHIN).and_then(|()| channel.read(WITHIN).map_err(why));
    let said = said.map_err(|error| AgentError::Unreached { domain: domain.clone(), address, error })?;
    match Answer::read(&said) {
        Ok(Answer::No(name, sentence)) => Err(AgentError::Refused { domain, name, sentence }),
        Ok(answer) => Ok(answer),
        Err(_) => Err(AgentError::Odd(domain)),
    }
}

/// To the first address that answers as the agent, and which that is.
fn connect(
    key: &SecretKey,
    bundle: &Bundle,
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

/// One agent, and who wants to hear of it.
struct Listener {
    bundle: Bundle,
    key: SecretKey,
    sender: Sender<Notice>,
}

/// Nobody wants to hear any more.
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

    /// As long as it is heard of.
    fn follow(&self, heard: &mut Instant) -> Result<(), Unwanted> {
        let Ok((mut channel, _)) = connect(&self.key, &self.bundle, SILENCE) else { return Ok(()) };
        if channel.write(&Question::Subscribe.write(), SILENCE).is_err() {
            return Ok(());
        }
        while let Ok(said) = channel.read(SILENCE) {
            let news = match Answer::read(&said) {
                Ok(Answer::Epoch(_, items)) => News::Revoked(items),
                Ok(Answer::Alive(_, now_unix_s)) => News::Alive(now_unix_s),
                _ => return Ok(()),
            };
            *heard = Instant::now();
            self.tell(news)?;
        }
        Ok(())
    }

    fn tell(&self, what: News) -> Result<(), Unwanted> {
        self.sender.send(Notice { domain: self.bundle.domain.clone(), what }).map_err(|_| Unwanted)
    }
}
