//! Client connection without a socket and without a thread: for benches and fuzzing.

use crate::connection::{Connection, Next};
use crate::counters::Counters;
use crate::site::Site;
use crate::synthetic_load::Costs;
use crate::workspace::Workspace;
use crate::world::{OfAll, World, WorldWorkspace};
use bakeoff_content::Catalogue;
use rustls::ServerConfig;
use std::sync::Arc;

/// The origin's side of a connection: the code that serves, with a kernel that takes everything.
pub struct Conversation {
    connection: Connection,
    workspace: Workspace,
}

impl Conversation {
    /// A client that just connected.
    pub fn new(catalogue: Catalogue) -> Self {
        let (site, counters) = (Arc::new(Site::new(catalogue)), Arc::new(Counters::default()));
        let workspace = Workspace::new(site, counters, Costs::default());
        Self { connection: Connection::without_tls(true, u64::MAX), workspace }
    }

    /// The same over TLS.
    ///
    /// # Panics
    /// The library has no random numbers, or cannot use the settings.
    pub fn over_tls(catalogue: Catalogue, config: &Arc<ServerConfig>) -> Self {
        let Self { workspace, .. } = Self::new(catalogue);
        let connection = Connection::new(Some(config), true, u64::MAX);
        Self { connection: connection.expect("there are random numbers"), workspace }
    }

    /// The same with the origin of a world, which may let replies wait: they go with a later call.
    pub fn with_world(world: World) -> Self {
        let Self { workspace, .. } = Self::new(Catalogue::default());
        let mut world = WorldWorkspace::new(Arc::new(world), OfAll::default(), 0);
        let connection = Connection::without_tls(false, world.requests());
        Self { connection, workspace: workspace.with_world(Some(world)) }
    }

    /// Takes the client's bytes and hands out the origin's, one call for each write: a head, and a body behind it.
    /// Returns whether the connection goes on.
    pub fn receive(&mut self, bytes: &[u8], write: &mut dyn FnMut(&[u8], &'static [u8])) -> bool {
        self.workspace.clear();
        self.connection.received(bytes, &mut self.workspace);
        loop {
            match self.connection.next(&mut self.workspace) {
                Next::Wait => return true,
                Next::Finish { .. } => return false,
                Next::Send => {
                    let (head, body) = self.connection.in_workspace(&self.workspace);
                    write(head, body);
                    self.workspace.counters.sent(self.workspace.out.account());
                    self.workspace.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The writes in answer to these bytes.
    fn writes(bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut writes = Vec::new();
        Conversation::new(Catalogue::default())
            .receive(bytes, &mut |head, body| writes.push((head.len(), body.len())));
        writes
    }

    #[test]
    fn a_reply_is_one_write_and_its_body_is_not_copied() {
        let head = writes(b"GET /bytes/0 HTTP/1.1\r\n\r\n")[0].0;
        assert_eq!(writes(b"GET /bytes/13000 HTTP/1.1\r\n\r\n"), [(head + 4, 13_000)]);
        assert_eq!(writes(b"GET /bytes/100000 HTTP/1.1\r\n\r\n"), [(head + 5, 100_000)]);
    }

    #[test]
    fn replies_to_requests_that_came_together_go_out_together() {
        let head = writes(b"GET /bytes/0 HTTP/1.1\r\n\r\n")[0].0;
        let ten = b"GET /bytes/100 HTTP/1.1\r\n\r\n".repeat(10);
        assert_eq!(writes(&ten), [(10 * (head + 2) + 900, 100)]);
    }

    #[test]
    fn a_large_body_goes_in_pieces() {
        let all = writes(b"GET /bytes/3000000 HTTP/1.1\r\n\r\n");
        assert_eq!(all.iter().map(|(_, body)| body).sum::<usize>(), 3_000_000);
        assert!(all.len() >= 6 && all.iter().all(|(_, body)| *body <= 512 * 1024), "{all:?}");
    }

    #[test]
    fn requests_are_not_kept_without_a_bound() {
        let mut talk = Conversation::new(Catalogue::default());
        // A reply that is under way; then bytes of requests without end.
        talk.workspace.clear();
        talk.connection.received(b"GET /bytes/9 HTTP/1.1\r\n\r\n", &mut talk.workspace);
        talk.connection.sends(talk.workspace.out.account());
        for _ in 0..100 {
            talk.connection.received(&[b'x'; 20_000], &mut talk.workspace);
        }
        talk.connection.sent();
        let Next::Finish { why, unread } = talk.connection.next(&mut talk.workspace) else {
            panic!("it goes on")
        };
        assert_eq!((why, unread), (Some(crate::ending::Ending::TooMuchAhead), true));
    }
}
