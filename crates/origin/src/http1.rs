//! HTTP/1.1 connection of one client: bytes in, replies out, in the order of requests.
//!
//! Hot, reads untrusted input. A request that comes alone is read where it lies; bytes that come while a reply is under
//! way are kept, up to a bound. A reply about an object of a world may have to wait for its time; those behind it think
//! meanwhile, and go after it.

use crate::coded::Coded;
use crate::ending::Ending;
use crate::head::{Going, refuse};
use crate::site::{Answer, Piece, SiteRequest};
use crate::unread::Unread;
use crate::waiting::WaitingReply;
use crate::workspace::Workspace;
use crate::world::{Content, Request};
use bakeoff_units::Nanos;
use bakeoff_wire::http1::{RequestError, RequestHead, RequestReader, ServerMethod};

/// The first bytes of a client of HTTP/2 (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The interim reply to `Expect: 100-continue`.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// Most bytes of requests that are kept for a client that does not read its replies: some ten thousand
/// requests.
const AHEAD_AT_MOST: usize = 1 << 20;
/// Memory that a connection may keep while it is empty.
const KEPT_BYTES: usize = 4096;

/// The further course of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// It goes on.
    Open,
    /// The bytes to be sent now are the last; with the reason, if it is not the client's wish.
    Last(Option<Ending>),
}

/// The protocol of the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Requests, or pieces of them.
    Requests,
    /// The beginning of HTTP/2: none of it was used.
    Http2,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Http1 {
    /// Bytes that were not looked at, from `at` on.
    input: Vec<u8>,
    at: usize,
    /// The rest of a request's body, to be passed over.
    skip: Unread,
    reply: Reply,
    keep_alive: bool,
    /// Requests that are still answered.
    requests_left: u64,
    /// When the last bytes came, in a world.
    arrived: Nanos,
    /// Whether no reply was begun yet, so that it may turn out to be HTTP/2.
    undecided: bool,
    /// Whether the last reply is complete.
    over: bool,
    /// Whether bytes came that will not be read.
    unread: bool,
    why: Option<Ending>,
}

/// The reply under way.
#[derive(Debug)]
enum Reply {
    None,
    /// None of it is made yet.
    Waits(Box<Waits>),
    /// The rest of its body.
    Goes(Piece),
    /// The same of a body in a content coding.
    GoesCoded(Coded),
}

impl From<Content> for Reply {
    fn from(content: Content) -> Self {
        match content {
            Content::Plain(piece) => Self::Goes(piece),
            Content::Coded(coded) => Self::GoesCoded(coded),
        }
    }
}

/// A reply that waits for its time, and for the end of its request's body: caches take a reply that comes before that
/// for an error.
#[derive(Debug)]
struct Waits {
    request: Request,
    going: Going,
    due: Nanos,
    /// `None` where it waits for the body alone.
    seat: Option<WaitingReply>,
}

impl Http1 {
    /// A connection that takes so many requests.
    pub(crate) const fn new(http2: bool, requests: u64) -> Self {
        Self {
            input: Vec::new(),
            at: 0,
            skip: Unread::Nothing,
            reply: Reply::None,
            keep_alive: true,
            requests_left: requests,
            arrived: Nanos::ZERO,
            undecided: http2,
            over: false,
            unread: false,
            why: None,
        }
    }

    /// Takes bytes in. The reply to the first request is begun at once if `at_once`.
    ///
    /// # Errors
    ///
    /// When the client is too far ahead of its replies.
    pub(crate) fn received(
        &mut self,
        bytes: &[u8],
        at_once: bool,
        workspace: &mut Workspace,
    ) -> Result<Received, Ending> {
        self.arrived = workspace.now();
        if self.undecided {
            match self.decide(bytes) {
                Some(Received::Http2) => return Ok(Received::Http2),
                Some(Received::Requests) => return Ok(Received::Requests),
                None => self.undecided = false,
            }
        }
        if self.over {
            self.unread = true;
            return Ok(Received::Requests);
        }
        let mut bytes = &bytes[self.pass_over(bytes)..];
        if at_once && matches!(self.reply, Reply::None) && self.input.is_empty() && !bytes.is_empty() {
            bytes = &bytes[self.answer(bytes, workspace)..];
            bytes = &bytes[self.pass_over(bytes)..];
        }
        if self.input.len() - self.at + bytes.len() > AHEAD_AT_MOST {
            self.unread = true;
            return Err(Ending::TooMuchAhead);
        }
        self.input.extend_from_slice(bytes);
        Ok(Received::Requests)
    }

    /// The bytes that were kept while it was undecided.
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// Puts the bytes that can be sent now in the workspace, bodies in pieces of at most `most` bytes.
    pub(crate) fn fill(&mut self, most: usize, peer_done: bool, workspace: &mut Workspace) -> NextStep {
        while !self.over && !workspace.out.is_full() {
            let is_whole = match &mut self.reply {
                Reply::Goes(piece) => {
                    if !piece.is_empty() {
                        workspace.out.put_body(piece.take(most));
                    }
                    piece.is_empty()
                }
                Reply::GoesCoded(coded) => coded.put(&mut workspace.out),
                Reply::None | Reply::Waits(_) => {
                    if self.begin(peer_done, workspace) {
                        continue;
                    }
                    break;
                }
            };
            if is_whole {
                workspace.out.end_replies(1);
                self.reply = Reply::None;
                self.over = !self.keep_alive;
                if workspace.burns() {
                    break; // a reply does not wait for what the next request costs
                }
            }
        }
        if self.over { NextStep::Last(self.why) } else { NextStep::Open }
    }

    /// When the reply that waits is due; `None` where none waits, or where its request is not complete.
    pub(crate) const fn due(&self) -> Option<Nanos> {
        match &self.reply {
            Reply::Waits(waits) if self.skip.is_over() => Some(waits.due),
            _ => None,
        }
    }

    /// Whether nothing is under way but what the client may still send.
    pub(crate) const fn is_idle(&self) -> bool {
        matches!(self.reply, Reply::None) || !self.skip.is_over()
    }

    /// Ends the conversation for this reason, without a last reply; half a request is forgotten.
    pub(crate) fn leave(&mut self, why: Ending) {
        self.input.clear();
        self.at = 0;
        self.skip = Unread::Nothing;
        self.over = true;
        self.why = Some(why);
    }

    /// Whether bytes of the client came that were not read.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread || !self.skip.is_over() || self.at < self.input.len()
    }

    /// Whether the first bytes begin HTTP/2; `None`: they do not.
    fn decide(&mut self, bytes: &[u8]) -> Option<Received> {
        let known = self.input.len();
        let (rest, come) = (&PREFACE[known..], &bytes[..bytes.len().min(PREFACE.len() - known)]);
        if !rest.starts_with(come) {
            return None;
        }
        if come.len() == rest.len() {
            return Some(Received::Http2);
        }
        self.input.extend_from_slice(come);
        Some(Received::Requests)
    }

    /// Number of these bytes that belong to a body to be skipped.
    fn pass_over(&mut self, bytes: &[u8]) -> usize {
        let upload = match &mut self.reply {
            Reply::Waits(waits) => waits.request.upload.as_mut(),
            _ => None,
        };
        self.skip.pass_over(bytes, upload).unwrap_or_else(|error| {
            self.leave(error.into());
            self.unread = true;
            bytes.len()
        })
    }

    /// Gets on with the reply under way, or with the next one. When there is none and none can come, it is over.
    fn begin(&mut self, peer_done: bool, workspace: &mut Workspace) -> bool {
        let begun = match self.reply {
            Reply::Waits(_) => self.go_if_due(workspace),
            _ => self.answer_kept(workspace),
        };
        // A client that has ended its half may still wait for a reply, but sends no more of a body.
        let is_waited_for = matches!(self.reply, Reply::Waits(_)) && self.skip.is_over();
        if !begun && peer_done && !is_waited_for {
            let cut_off = !self.skip.is_over() || !self.input.is_empty();
            self.why = cut_off.then_some(Ending::RequestCutOff);
            self.over = true;
        }
        begun
    }

    /// Begins the reply to the next request that was kept, if all its head is there.
    fn answer_kept(&mut self, workspace: &mut Workspace) -> bool {
        if self.at < self.input.len() && !self.undecided {
            let input = std::mem::take(&mut self.input);
            let used = self.answer(&input[self.at..], workspace);
            self.at += used;
            self.at += self.pass_over(&input[self.at..]);
            self.input = input;
            if used > 0 {
                return true;
            }
        }
        self.input.drain(..self.at);
        self.at = 0;
        if self.input.is_empty() && self.input.capacity() > KEPT_BYTES {
            self.input = Vec::new();
        }
        false
    }

    /// Begins the reply to the request at the start of `bytes`. Returns its length, 0 when it is not
    /// complete.
    fn answer(&mut self, bytes: &[u8], workspace: &mut Workspace) -> usize {
        match RequestReader::head(bytes) {
            Ok(None) => 0,
            // The objects of a site are only read, and no request for one needs such a body.
            Ok(Some(request)) if request.chunked && workspace.world.is_none() => {
                self.refuse(RequestError::Coding, workspace);
                bytes.len()
            }
            Ok(Some(request)) => {
                self.reply(&request, workspace);
                request.text.len()
            }
            Err(error) => {
                self.refuse(error, workspace);
                bytes.len()
            }
        }
    }

    fn refuse(&mut self, error: RequestError, workspace: &mut Workspace) {
        refuse(&error.to_string(), workspace.out.bytes());
        self.reply = Reply::Goes(Piece::nothing());
        self.keep_alive = false;
        self.unread = true;
        self.why = Some(error.into());
    }

    fn reply(&mut self, request: &RequestHead<'_>, workspace: &mut Workspace) {
        self.requests_left = self.requests_left.saturating_sub(1);
        self.keep_alive = request.keep_alive && self.requests_left > 0;
        if request.keep_alive && !self.keep_alive {
            self.why = Some(Ending::ServedAll);
        }
        self.skip = Unread::behind(request);
        let going = match self.keep_alive {
            false => Going::End,
            true if request.http_1_0 => Going::OnAsAsked,
            true => Going::On,
        };
        if workspace.tell_tally(request, going) {
            self.reply = Reply::Goes(Piece::nothing());
            return;
        }
        if let Some(met) = workspace.meet(request, going) {
            self.reply = Reply::Goes(Piece::nothing());
            if let Err(why) = met {
                (self.keep_alive, self.why) = (false, Some(why));
            }
            return;
        }
        if let Some(of_world) = workspace.world.as_ref().and_then(|world| world.read(request)) {
            if request.expects_continue {
                workspace.out.bytes().extend_from_slice(CONTINUE);
            }
            return self.think(of_world, going, workspace);
        }
        let answer = workspace.answer(&SiteRequest {
            method: request.method,
            target: request.target,
            if_modified_since: request.if_modified_since,
            if_none_match: request.if_none_match,
            range: request.range,
        });
        workspace.heads.write(&answer, going, workspace.out.bytes());
        self.reply = Reply::Goes(match answer {
            Answer::Whole(piece) | Answer::Part(piece, _) if request.method == ServerMethod::Get => piece,
            _ => Piece::nothing(),
        });
    }

    /// Lets the reply wait, or begins it when there is nothing to wait for.
    fn think(&mut self, request: Request, going: Going, workspace: &mut Workspace) {
        let Some(world) = &mut workspace.world else { return };
        let think = world.think_time(&request);
        if think == Nanos::ZERO && self.skip.is_over() {
            self.reply = workspace.answer_of_world(&request, going).into();
            return;
        }
        let seat = (think > Nanos::ZERO).then(|| world.seat());
        self.reply = Reply::Waits(Box::new(Waits { request, going, due: self.arrived + think, seat }));
    }

    /// Begins the reply that waits if its time has come.
    fn go_if_due(&mut self, workspace: &mut Workspace) -> bool {
        let Reply::Waits(waits) = &mut self.reply else { return false };
        if !self.skip.is_over() {
            return false;
        }
        if waits.seat.is_some() && workspace.now() < waits.due {
            return false;
        }
        self.reply = workspace.answer_of_world(&waits.request, waits.going).into();
        true
    }
}
