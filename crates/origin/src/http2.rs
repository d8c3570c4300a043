//! HTTP/2 connection of one client: frames in, replies out, streams in turn.
//!
//! Hot, reads untrusted input. Owns the order of streams; `wire` decides how much may be sent when.

use crate::ending::Ending;
use crate::head::push_range;
use crate::http1::NextStep;
use crate::outgoing::Outgoing;
use crate::site::{Answer, Piece, SiteRequest};
use crate::workspace::Workspace;
use bakeoff_content::LAST_MODIFIED;
use bakeoff_wire::digits::push_decimal;
use bakeoff_wire::h2::{ConnectionError, SendGrant, ServerConnection, ServerStep, Settings, StreamId};
use bakeoff_wire::http1::ServerMethod;
use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub(crate) struct Http2 {
    wire: ServerConnection,
    /// Replies that may go on, the next one first.
    ready: VecDeque<Reply>,
    /// Replies whose window is closed.
    blocked: Vec<Reply>,
    failure: Option<ConnectionError>,
    /// Replies without a body whose heads wait in the output.
    heads: u64,
    /// Memory for values of header fields.
    values: [Vec<u8>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Reply {
    stream: StreamId,
    piece: Piece,
}

impl Http2 {
    pub(crate) fn new() -> Self {
        Self {
            wire: ServerConnection::new(Settings::default()),
            ready: VecDeque::new(),
            blocked: Vec::new(),
            failure: None,
            heads: 0,
            values: Default::default(),
        }
    }

    /// Takes bytes in.
    pub(crate) fn received(&mut self, mut bytes: &[u8], workspace: &mut Workspace) {
        while self.failure.is_none() {
            let used = match self.wire.step(bytes) {
                Ok(ServerStep::More) => return,
                Ok(ServerStep::Request { used, stream, head, .. }) => {
                    let answer = workspace.answer(&SiteRequest {
                        method: head.method,
                        target: head.path,
                        if_modified_since: head.if_modified_since,
                        if_none_match: None, // no reply over HTTP/2 has a tag
                        range: head.range,
                    });
                    let with_body = head.method == ServerMethod::Get;
                    self.reply(stream, &answer, with_body);
                    used
                }
                Ok(ServerStep::Body { skip, len, .. }) => skip + len,
                Ok(ServerStep::Reset { used, stream, .. } | ServerStep::Malformed { used, stream, .. }) => {
                    self.forget(stream);
                    used
                }
                Ok(ServerStep::GoAway { used, .. }) => used,
                Err(error) => {
                    self.failure = Some(error);
                    self.ready.clear();
                    return;
                }
            };
            bytes = bytes.get(used..).unwrap_or_default();
        }
    }

    /// Puts the bytes that can be sent now in the workspace.
    pub(crate) fn fill(&mut self, peer_done: bool, out: &mut Outgoing) -> NextStep {
        for stream in self.wire.unblocked() {
            if let Some(at) = self.blocked.iter().position(|reply| reply.stream == stream) {
                self.ready.push_back(self.blocked.swap_remove(at));
            }
        }
        let frames = self.wire.output();
        if !frames.is_empty() {
            out.bytes().append(frames);
            out.end_replies(std::mem::take(&mut self.heads));
        }
        while !out.is_full() {
            let Some(reply) = self.ready.pop_front() else { break };
            match self.wire.data(reply.stream, reply.piece.len(), true) {
                Some(grant) => self.put(reply, grant, out),
                None => self.blocked.push(reply),
            }
        }
        match self.failure {
            Some(error) => NextStep::Last(Some(Ending::Http2(error))),
            // A client that has ended its half opens no window any more.
            None if peer_done && self.ready.is_empty() => NextStep::Last(None),
            None => NextStep::Open,
        }
    }

    /// Whether bytes of the client came that were not read.
    pub(crate) const fn has_unread(&self) -> bool {
        self.failure.is_some()
    }

    /// One frame of a body.
    fn put(&mut self, mut reply: Reply, grant: SendGrant, out: &mut Outgoing) {
        out.bytes().extend_from_slice(&grant.head);
        let mut left = grant.len as usize;
        while left > 0 {
            let bytes = reply.piece.take(left);
            if bytes.is_empty() {
                break; // no more is granted than was asked for
            }
            left -= bytes.len();
            out.put_body(bytes);
        }
        if grant.end {
            out.end_replies(1);
        } else {
            self.ready.push_back(reply);
        }
    }

    /// Writes the head; the body, if there is one, is in line then.
    fn reply(&mut self, stream: StreamId, answer: &Answer, with_body: bool) {
        let [length, range] = &mut self.values;
        length.clear();
        range.clear();
        let (status, piece) = match answer {
            Answer::Whole(piece) => (200, Some(*piece)),
            Answer::Part(piece, whole) => {
                push_range(piece.start, piece.end, *whole, range);
                (206, Some(*piece))
            }
            Answer::NotModified => (304, None),
            Answer::NotFound => (404, None),
            Answer::NotAllowed => (405, None),
        };
        push_decimal(piece.map_or(0, |piece| piece.len()), length);
        let kind: &[u8] = b"application/octet-stream";
        let modified = (&b"last-modified"[..], LAST_MODIFIED.as_bytes());
        let length = (&b"content-length"[..], length.as_slice());
        let fields: &[(&[u8], &[u8])] = match answer {
            Answer::Whole(_) => &[(b"content-type", kind), length, modified],
            Answer::Part(..) => &[(b"content-type", kind), length, modified, (b"content-range", range)],
            Answer::NotModified => &[modified],
            Answer::NotFound => &[length],
            Answer::NotAllowed => &[length, (b"allow", b"GET, HEAD")],
        };
        let piece = piece.filter(|piece| with_body && !piece.is_empty());
        if !self.wire.respond(stream, status, fields.iter().copied(), piece.is_none()) {
            return;
        }
        match piece {
            Some(piece) => self.ready.push_back(Reply { stream, piece }),
            None => self.heads += 1,
        }
    }

    /// The client does not want a reply any more.
    fn forget(&mut self, stream: StreamId) {
        self.ready.retain(|reply| reply.stream != stream);
        self.blocked.retain(|reply| reply.stream != stream);
    }
}
