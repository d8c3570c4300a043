//! One client's connection without its socket: bytes in, bytes out.
//!
//! Hot, reads untrusted input. Owns the stack of protocols on it, and its end.

use crate::ending::Ending;
use crate::http1::{Http1, NextStep, Received};
use crate::http2::Http2;
use crate::outgoing::Account;
use crate::tls::Session;
use crate::workspace::Workspace;
use bakeoff_units::Nanos;
use rustls::ServerConfig;
use std::sync::Arc;

/// Most bytes of a body that are handed over at a time: other connections get their turn in between.
const PIECE_BYTES: usize = 512 * 1024;
/// The same over TLS, where they are encrypted first: four full records.
const TLS_PIECE_BYTES: usize = 64 * 1024;

/// A connection's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send the bytes in the workspace; then call again.
    Send,
    /// Wait for bytes.
    Wait,
    /// Close: all is sent. If bytes came that were not read, they have to be read first, as to close on them would be a
    /// reset, which can take the reply with it.
    Finish {
        /// The reason, if not the client's wish.
        why: Option<Ending>,
        /// Whether there are such bytes.
        unread: bool,
    },
}

/// See the module.
pub(crate) struct Connection {
    tls: Option<Box<Session>>,
    talk: Talk,
    /// The reason for which it ends now.
    failed: Option<Ending>,
    /// The client has ended its half.
    peer_done: bool,
    said_goodbye: bool,
    /// The account of the bytes on their way to the kernel.
    sending: Option<Account>,
}

enum Talk {
    Http1(Http1),
    Http2(Box<Http2>),
}

impl Connection {
    /// A connection that takes so many requests, if it speaks HTTP/1.1.
    pub(crate) fn new(tls: Option<&Arc<ServerConfig>>, http2: bool, requests: u64) -> Result<Self, Ending> {
        let session = tls.map(|config| Session::new(config.clone())).transpose()?;
        Ok(Self { tls: session.map(Box::new), ..Self::without_tls(http2, requests) })
    }

    pub(crate) const fn without_tls(http2: bool, requests: u64) -> Self {
        Self {
            tls: None,
            talk: Talk::Http1(Http1::new(http2, requests)),
            failed: None,
            peer_done: false,
            said_goodbye: false,
            sending: None,
        }
    }

    /// Takes bytes in. Unless a reply [is being sent](Self::is_sending), the beginning of one may be in the workspace
    /// then.
    pub(crate) fn received(&mut self, bytes: &[u8], workspace: &mut Workspace) {
        if self.failed.is_some() {
            return;
        }
        let at_once = self.sending.is_none();
        let talk = &mut self.talk;
        let taken = match &mut self.tls {
            None => talk.received(bytes, at_once, workspace),
            Some(tls) => tls.receive(bytes, &mut |plain| talk.received(plain, at_once, workspace)),
        };
        self.failed = taken.err();
        self.peer_done |= self.tls.as_ref().is_some_and(|tls| tls.has_ended());
    }

    /// The client has ended its half.
    pub(crate) const fn ended(&mut self) {
        self.peer_done = true;
    }

    /// The next action, with the bytes to be sent in the workspace. Not while a reply is being sent.
    pub(crate) fn next(&mut self, workspace: &mut Workspace) -> Next {
        let most = if self.tls.is_some() { TLS_PIECE_BYTES } else { PIECE_BYTES };
        let course = match (self.failed, &mut self.talk) {
            (Some(why), _) => {
                workspace.out.clear(); // a reply that was begun
                NextStep::Last(Some(why))
            }
            (None, Talk::Http1(http1)) => http1.fill(most, self.peer_done, workspace),
            (None, Talk::Http2(http2)) => http2.fill(self.peer_done, &mut workspace.out),
        };
        if let Some(why) = self.seal(course, workspace) {
            self.failed = Some(why);
            return Next::Finish { why: Some(why), unread: !self.peer_done };
        }
        let (head, body) = self.in_workspace(workspace);
        if !head.is_empty() || !body.is_empty() {
            return Next::Send;
        }
        match course {
            NextStep::Open => Next::Wait,
            NextStep::Last(why) => Next::Finish { why, unread: !self.peer_done && self.has_unread() },
        }
    }

    /// The bytes to be sent, after [`Next::Send`].
    pub(crate) fn in_workspace<'d>(&self, workspace: &'d Workspace) -> (&'d [u8], &'static [u8]) {
        if self.tls.is_some() { (workspace.sealed.bytes(), &[]) } else { workspace.out.parts() }
    }

    /// The bytes of the workspace are not all with the kernel yet.
    pub(crate) const fn sends(&mut self, account: Account) {
        self.sending = Some(account);
    }

    /// Now they are: returns their account.
    pub(crate) fn sent(&mut self) -> Account {
        self.sending.take().unwrap_or_default()
    }

    pub(crate) const fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// When a reply that waits is due.
    pub(crate) const fn due(&self) -> Option<Nanos> {
        match &self.talk {
            Talk::Http1(http1) => http1.due(),
            Talk::Http2(_) => None,
        }
    }

    /// Whether it waits for nothing but its client.
    pub(crate) const fn is_idle(&self) -> bool {
        self.sending.is_none()
            && match &self.talk {
                Talk::Http1(http1) => http1.is_idle(),
                Talk::Http2(_) => false,
            }
    }

    /// Ends it without a last reply.
    pub(crate) fn leave(&mut self, why: Ending) {
        if let Talk::Http1(http1) = &mut self.talk {
            http1.leave(why);
        }
    }

    /// Over TLS: encrypts the contents of the workspace, with a goodbye behind the last. Returns the reason if that
    /// fails.
    fn seal(&mut self, course: NextStep, workspace: &mut Workspace) -> Option<Ending> {
        let tls = self.tls.as_mut()?;
        workspace.sealed.clear();
        tls.take_output(&mut workspace.sealed);
        if !workspace.out.is_empty() {
            let (head, body) = workspace.out.for_encryption();
            if let Err(why) = tls.write(head, body, &mut workspace.sealed) {
                return Some(why);
            }
        }
        if course != NextStep::Open && !self.said_goodbye {
            self.said_goodbye = true;
            tls.say_goodbye(&mut workspace.sealed);
        }
        None
    }

    fn has_unread(&self) -> bool {
        self.failed.is_some()
            || match &self.talk {
                Talk::Http1(http1) => http1.has_unread(),
                Talk::Http2(http2) => http2.has_unread(),
            }
    }
}

impl Talk {
    fn received(&mut self, bytes: &[u8], at_once: bool, workspace: &mut Workspace) -> Result<(), Ending> {
        match self {
            Self::Http2(http2) => http2.received(bytes, workspace),
            Self::Http1(http1) => {
                if http1.received(bytes, at_once, workspace)? == Received::Http2 {
                    let mut http2 = Box::new(Http2::new());
                    http2.received(&http1.take_input(), workspace);
                    http2.received(bytes, workspace);
                    *self = Self::Http2(http2);
                }
            }
        }
        Ok(())
    }
}
