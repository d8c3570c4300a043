//! Origin of a world: objects that follow from their names, and replies that take their time.
//!
//! Hot. Owns the answer to a request for an object of the world, and its think time. No state for an object: a reply is
//! a pure function of the request, the model and the clock. Sockets, order and timers are elsewhere.

mod file;
mod head;
mod latest_stamps;
mod request;

pub use file::WorldError;
pub(crate) use latest_stamps::LatestStamps;
pub(crate) use request::Request;

use crate::barrier::Barrier;
use crate::coded::Coded;
use crate::counters::{Everyone, sum};
use crate::ending::Ending;
use crate::head::Going;
use crate::site::{Piece, path_of};
use crate::waiting::{Waiting, WaitingReply};
use bakeoff_content::world::{Model, ObjectName};
use bakeoff_content::{Body, Distribution, GzipPacker, SplitMix64};
use bakeoff_units::Nanos;
use bakeoff_wire::http1::{RequestHead, ServerMethod, fields};
use bakeoff_wire::parts::Word;
use bakeoff_wire::stamp::{self, Words};
use bakeoff_wire::tally;
use head::{DateClock, Form, Reply, write_head, write_not_found, write_text};
use request::Verdict;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Purpose of random draws made once for a connection, and for requests without a stamp.
const CONNECTIONS: u64 = 0xC099;

/// The settings of a world's origin.
#[derive(Clone, Debug)]
pub struct World {
    /// The model of the objects.
    pub model: Model,
    /// Think time of each reply, from when its request's head was read; below 0 it goes at once.
    pub think: Option<Distribution>,
    /// Number of requests that a connection serves, drawn for each one; below 1 it serves one. `None`: no limit.
    pub requests_per_connection: Option<Distribution>,
    /// Connections on which nothing happens for so long are closed.
    pub idle_timeout: Option<Nanos>,
    /// Whether connections serve more than one request at all.
    pub keep_alive: bool,
}

impl World {
    /// Think time of the reply to a request for an object of this kind with this stamp.
    pub fn think_time(&self, kind: u8, ask: u64) -> Nanos {
        self.model.think_time(self.think.as_ref(), kind, ask)
    }

    /// Number of requests that the next connection serves.
    fn requests(&self, random: &mut SplitMix64) -> u64 {
        match &self.requests_per_connection {
            _ if !self.keep_alive => 1,
            None => u64::MAX,
            Some(requests) => (requests.draw(random) as u64).max(1), // `as` saturates, below 0 to 0
        }
    }
}

/// The body of a reply.
pub(crate) enum Content {
    /// Uncoded.
    Plain(Piece),
    /// In a content coding.
    Coded(Coded),
}

/// The state that all threads share.
#[derive(Clone, Default)]
pub(crate) struct OfAll {
    /// Replies that wait.
    pub(crate) waiting: Arc<Waiting>,
    /// The counters of all threads.
    pub(crate) everyone: Everyone,
    /// The stamps that were answered.
    pub(crate) asked: Arc<LatestStamps>,
    /// The barrier for the parts of a run.
    pub(crate) barrier: Arc<Mutex<Barrier>>,
    /// The origin's own name: the host of the first question of robots for the tally, before anything else.
    pub(crate) host: Arc<OnceLock<Vec<u8>>>,
}

/// A thread's view of the world.
pub(crate) struct WorldWorkspace {
    world: Arc<World>,
    words: Words,
    random: SplitMix64,
    of_all: OfAll,
    date: DateClock,
    /// Memory for the id of an object.
    id: Vec<u8>,
    /// Made when a body is first packed.
    packer: Option<GzipPacker>,
}

impl WorldWorkspace {
    /// Of the thread of this number.
    pub(crate) fn new(world: Arc<World>, of_all: OfAll, thread: u64) -> Self {
        let random = SplitMix64::for_purpose(thread, CONNECTIONS);
        let words = world.model.further_names().map_or_else(Words::default, Words::drawn);
        Self { world, words, random, of_all, date: DateClock::default(), id: Vec::new(), packer: None }
    }

    /// Number of requests that the next connection serves.
    pub(crate) fn requests(&mut self) -> u64 {
        self.world.requests(&mut self.random)
    }

    /// The request for an object of the world that this head is, if it is one.
    pub(crate) fn read(&self, head: &RequestHead<'_>) -> Option<Request> {
        let host = self.of_all.host.get().map(Vec::as_slice);
        let name = ObjectName::parse_path(&self.world.model, path_of(head.target))?;
        Some(Request::new(name, head, &self.words, host))
    }

    /// Whether no request with its stamp was answered before.
    pub(crate) fn is_first(&self, request: &Request) -> bool {
        self.of_all.asked.is_first(request.ask)
    }

    /// Think time of its reply.
    pub(crate) fn think_time(&mut self, request: &Request) -> Nanos {
        let ask = if request.ask == 0 { self.random.next_u64() } else { request.ask };
        self.world.think_time(request.name.kind, ask)
    }

    /// Whether it asks for the tally. The reply has a body, which no other method may get.
    pub(crate) fn is_about_the_tally(&self, request: &RequestHead<'_>) -> bool {
        request.method == ServerMethod::Get && request.target == tally::PATH.as_bytes()
    }

    /// Writes the tally of all threads: the whole reply. It counts itself from the next one on.
    pub(crate) fn write_tally(&mut self, request: &RequestHead<'_>, going: Going, out: &mut Vec<u8>) {
        let is_of_robots = |(name, value): (&[u8], &[u8])| {
            name.eq_ignore_ascii_case(stamp::NAME.as_bytes()) && value == tally::OF_ROBOTS.as_bytes()
        };
        if let Some(host) = request.host.filter(|_| fields(request.text).any(is_of_robots)) {
            self.of_all.host.get_or_init(|| host.to_vec());
        }
        let mut lines = Vec::new();
        sum(self.of_all.everyone.iter().map(|counters| &**counters)).sent().write(&mut lines);
        if let Some(number) = self.world.model.number() {
            tally::write_names(number, &mut lines);
        }
        self.date.look();
        write_text(b"200 OK", self.date.text(), &lines, going, out);
    }

    /// Whether it is a part's word, well-formed or not.
    pub(crate) fn is_about_parts(&self, request: &RequestHead<'_>) -> bool {
        Word::is_meant(request.target)
    }

    /// Writes the answer to a part: the whole reply. A refused part gets the reason, and no more.
    pub(crate) fn write_meeting(
        &mut self,
        request: &RequestHead<'_>,
        now: Nanos,
        going: Going,
        out: &mut Vec<u8>,
    ) -> Result<(), Ending> {
        self.date.look();
        let word = Word::parse(request.target).filter(|_| request.method == ServerMethod::Put);
        let Some(word) = word else {
            write_text(b"400 Bad Request", self.date.text(), b"", Going::End, out);
            return Err(Ending::NoPart);
        };
        let mut barrier = self.of_all.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        match barrier.hear(&word, now) {
            Ok(answer) => {
                let mut lines = Vec::new();
                answer.write(&mut lines);
                write_text(b"200 OK", self.date.text(), &lines, going, out);
                Ok(())
            }
            Err(refusal) => {
                let line = format!("{}\n", refusal.label());
                write_text(b"409 Conflict", self.date.text(), line.as_bytes(), Going::End, out);
                Err(Ending::PartRefused(refusal))
            }
        }
    }

    /// Counts a reply that waits, as long as what is returned is held.
    pub(crate) fn seat(&self) -> WaitingReply {
        WaitingReply::take(&self.of_all.waiting)
    }

    /// Writes the head of the reply, with the truth of this moment. Returns the body, and whether it is a 304.
    pub(crate) fn reply(&mut self, request: &Request, going: Going, out: &mut Vec<u8>) -> (Content, bool) {
        let now_secs = self.date.look();
        let found = self.world.model.object(&request.name);
        let Some((object, kind)) = found.zip(self.world.model.kinds().get(usize::from(request.name.kind)))
        else {
            write_not_found(self.date.text(), going, out);
            return (Content::Plain(Piece::nothing()), false);
        };
        let version = object.at(now_secs);
        let body = object.body(version.number);
        let verdict = request.decide(&version, body.len());
        let in_gzip = object.gzip && request.takes_gzip;
        let packed = if in_gzip { pack(&mut self.packer, &body, verdict) } else { None };
        let form = match verdict {
            _ if !object.gzip => Form::Only,
            Verdict::NotModified if in_gzip => Form::Gzip,
            _ if packed.is_some() => Form::Gzip,
            _ => Form::Plain,
        };
        self.id.clear();
        request.name.write_id(&self.world.model, &mut self.id);
        let reply = Reply {
            request,
            words: &self.words,
            verdict,
            cachable: object.cachable && request.is_safe(),
            version: &version,
            form,
            length: body.len(),
            form_length: packed.as_ref().map_or(body.len(), |packed| packed.len() as u64),
            media_type: &kind.media_type,
            id: &self.id,
            date: self.date.text(),
            now_secs,
        };
        write_head(&reply, going, out);
        let content = match (verdict, packed) {
            (Verdict::Whole, Some(packed)) if request.wants_body() => Content::Coded(Coded::new(packed)),
            (Verdict::Whole, None) if request.wants_body() => Content::Plain(Piece::of(body)),
            (Verdict::Part(start, end), _) => Content::Plain(Piece { body, start, end }),
            _ => Content::Plain(Piece::nothing()),
        };
        (content, verdict == Verdict::NotModified)
    }
}

/// The body in gzip, where all of it is the reply.
fn pack(packer: &mut Option<GzipPacker>, body: &Body, verdict: Verdict) -> Option<Vec<u8>> {
    if verdict == Verdict::Whole { packer.get_or_insert_default().pack(body) } else { None }
}
