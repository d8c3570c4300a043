//! Store of the TLS sessions that one worker may resume.
//!
//! Hot at handshakes only. The library's own store keeps eight tickets of a server, and a ticket of TLS 1.3 is used
//! once: of 64 connections that open together 56 would find none. This one keeps as many as the worker has had
//! connections in any job. It also tells whether a session was there, which the library does not.

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Fewest tickets of TLS 1.3 that are kept: as many as the library keeps.
const FEWEST_TICKETS: usize = 8;

/// Sessions of a worker with its one server. The library wants the lock; no thread waits for it.
#[derive(Debug)]
pub(super) struct SessionStore {
    inner: Mutex<Sessions>,
}

#[derive(Debug)]
struct Sessions {
    /// The group that the server chose last.
    group: Option<NamedGroup>,
    /// TLS 1.2: one session is as good as another, and may be used often.
    tls12: Option<Tls12ClientSessionValue>,
    /// TLS 1.3: oldest first.
    tickets: VecDeque<Tls13ClientSessionValue>,
    most_tickets: usize,
    /// Number of requests for a session that were met.
    given: u64,
}

impl SessionStore {
    /// For so many connections at once.
    pub(super) fn new(connections: usize) -> Self {
        let inner = Sessions {
            group: None,
            tls12: None,
            tickets: VecDeque::new(),
            most_tickets: connections.max(FEWEST_TICKETS),
            given: 0,
        };
        Self { inner: Mutex::new(inner) }
    }

    /// For so many connections at once from now on, if that is more than before.
    pub(super) fn make_room(&self, connections: usize) {
        let mut sessions = self.sessions();
        sessions.most_tickets = sessions.most_tickets.max(connections);
    }

    /// Number of requests for a session that were met.
    pub(super) fn given(&self) -> u64 {
        self.sessions().given
    }

    /// Forgets the session of TLS 1.2, which would be offered again; a ticket of TLS 1.3 is gone anyway.
    pub(super) fn forget(&self) {
        self.sessions().tls12 = None;
    }

    /// Nothing in here can be half done, so that a panic elsewhere spoils nothing.
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for SessionStore {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.sessions().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.sessions().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.sessions().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let mut sessions = self.sessions();
        let found = sessions.tls12.clone();
        sessions.given += u64::from(found.is_some());
        found
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.sessions().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut sessions = self.sessions();
        if sessions.tickets.len() >= sessions.most_tickets {
            sessions.tickets.pop_front();
        }
        sessions.tickets.push_back(value);
    }

    /// The newest ticket: it is the last to expire.
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut sessions = self.sessions();
        let found = sessions.tickets.pop_back();
        sessions.given += u64::from(found.is_some());
        found
    }
}
