//! TLS client of one worker: begins sessions, and decides which of them resume an earlier one.

use super::share::ShareRule;
use super::store::SessionStore;
use super::{Share, TlsSession};
use bakeoff_sys::thread::cpu_time;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// Begins the sessions of one thread with one server. Shares nothing that changes with other threads.
#[derive(Debug)]
pub struct TlsClient {
    name: ServerName<'static>,
    /// For connections that resume sessions and leave theirs to others.
    resuming: Arc<ClientConfig>,
    /// For the others.
    fresh: Arc<ClientConfig>,
    sessions: Arc<SessionStore>,
    rule: ShareRule,
}

impl TlsClient {
    pub(super) fn new(
        config: &ClientConfig,
        resume: Share,
        name: ServerName<'static>,
        connections: usize,
    ) -> Self {
        let sessions = Arc::new(SessionStore::new(connections));
        // Copies share verifier and client certificate, without which the library refuses to resume another copy's
        // session.
        let with = |resumption| {
            let mut copy = config.clone();
            copy.resumption = resumption;
            Arc::new(copy)
        };
        Self {
            name,
            resuming: with(Resumption::store(sessions.clone())),
            fresh: with(Resumption::disabled()),
            sessions,
            rule: ShareRule::new(resume),
        }
    }

    /// Keeps sessions for so many connections at once from now on, or for as many as before if those were
    /// more.
    pub(crate) fn make_room(&self, connections: usize) {
        self.sessions.make_room(connections);
    }

    /// Begins the next connection's session; its first flight waits in [`TlsSession::take_output`].
    ///
    /// The n-th connection belongs to those that resume by a fixed rule: of the first n it takes the
    /// share asked for, rounded up. Whether it can depends on whether a ticket is there.
    ///
    /// # Errors
    /// When the library has no random numbers, or cannot use the settings.
    pub fn session(&mut self) -> Result<TlsSession, rustls::Error> {
        let start = cpu_time();
        let wanted = self.rule.takes_next();
        let config = if wanted { &self.resuming } else { &self.fresh };
        let before = self.sessions.given();
        let mut session = TlsSession::begin(config.clone(), self.name.clone(), wanted)?;
        let offered = (self.sessions.given() > before).then(|| self.sessions.clone());
        session.began(offered, cpu_time().since(start));
        Ok(session)
    }
}
