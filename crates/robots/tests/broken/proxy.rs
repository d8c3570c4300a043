//! A small caching proxy in front of one origin, which can be given one fault.
//!
//! Cold: a thread for each connection, one lock for the store, no bounds. It keeps `public` replies for as long as
//! their max-age says, then validates them by their ETag; of a reply that varies it keeps each form by itself. From the
//! origin it always fetches whole objects, and answers conditions, ranges and HEAD from them: any object requested once
//! is there.

use crate::breakage::{Breakage, Leaving, not_modified};
use crate::message::{Message, Peer};
use bakeoff_wire::http1::parse_http_date;
use bakeoff_wire::stamp::Words;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One in so many of the requests that could be spoiled is, by its stamp: also when it is sent again.
const ONE_IN: u64 = 4;
/// Number of clients above which it is under load.
const LOAD: usize = 2;

/// A delayed request waits until so many others were answered, or so long: all may be delayed.
const OVERTAKEN_BY: usize = 20;
const DAWDLING: Duration = Duration::from_millis(500);

/// Runs until the test's process ends.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

/// The proxy's own account of its work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Requests that went to the origin.
    pub(crate) forwarded: u64,
    /// Requests, by their stamps, whose reply it spoiled.
    pub(crate) wronged: HashSet<u64>,
}

struct Shared {
    origin: SocketAddr,
    breakage: Breakage,
    /// The words of the stamps that it passes on.
    words: Words,
    store: Mutex<HashMap<String, Message>>,
    /// Bodies of versions that were replaced.
    replaced: Mutex<HashMap<String, Vec<u8>>>,
    /// Idle connections to the origin.
    idle: Mutex<Vec<Peer>>,
    /// Clients that are connected.
    there: AtomicUsize,
    answered: AtomicUsize,
    account: Mutex<Account>,
}

/// A client that is counted as long as it is connected.
struct There<'c>(&'c AtomicUsize);

impl<'c> There<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count)
    }
}

impl Drop for There<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A whole object for a client, and whether the origin never heard of it.
struct Found {
    whole: Message,
    hit: bool,
}

impl Proxy {
    pub(crate) fn start(origin: SocketAddr, breakage: Breakage) -> Self {
        Self::with_words(origin, breakage, Words::default())
    }

    /// In a run with stamps of these words.
    pub(crate) fn with_words(origin: SocketAddr, breakage: Breakage, words: Words) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            origin,
            breakage,
            words,
            store: Mutex::default(),
            replaced: Mutex::default(),
            idle: Mutex::default(),
            there: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            account: Mutex::default(),
        });
        let of_threads = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = of_threads.clone();
                // A client that goes away is no failure of the test.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn account(&self) -> Account {
        self.shared.account.lock().unwrap().clone()
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut client = BufReader::new(stream);
        let _there = There::new(&self.there);
        while let Some(request) = Message::read(&mut client)? {
            let (mut reply, hit) = self.answer(&request)?;
            self.answered.fetch_add(1, SeqCst);
            let leaving = self.spoil(&request, &mut reply, hit);
            if request.get("connection") == Some("close") {
                reply.set("connection", "close");
            }
            let bytes = reply.bytes();
            match leaving {
                Leaving::Whole => client.get_mut().write_all(&bytes)?,
                Leaving::Short(missing) => {
                    return client.get_mut().write_all(&bytes[..bytes.len() - missing]);
                }
                Leaving::Nothing => return Ok(()),
            }
            if request.get("connection") == Some("close") {
                break;
            }
        }
        Ok(())
    }

    /// The right reply, as far as the cache is whole; and whether the origin never heard of it.
    fn answer(&self, request: &Message) -> io::Result<(Message, bool)> {
        if request.word(0) == "POST" && self.breakage == Breakage::KeepsPosts {
            let key = format!("POST {}", request.word(1));
            let kept = self.store.lock().unwrap().get(&key).cloned();
            if let Some(kept) = kept {
                self.wrong(request);
                return Ok((kept, true));
            }
            let reply = self.forward(request)?;
            self.store.lock().unwrap().insert(key, reply.clone());
            return Ok((reply, false));
        }
        if request.word(0) == "POST" {
            self.store.lock().unwrap().remove(request.word(1));
            if self.breakage == Breakage::RepeatsPosts && self.strikes(request) {
                self.wrong(request);
                self.forward(request)?;
            }
            return Ok((self.forward(&self.upload(request))?, false));
        }
        if self.breakage == Breakage::Dawdles && self.strikes(request) {
            let (began, before) = (Instant::now(), self.answered.load(SeqCst));
            while self.answered.load(SeqCst) < before + OVERTAKEN_BY && began.elapsed() < DAWDLING {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let mut found = self.find(request)?;
        if self.breakage == Breakage::SwapsObjects && found.hit && self.strikes(request) {
            found.whole = self.another(request).unwrap_or(found.whole);
        }
        if self.breakage == Breakage::Unpacks && !accepts_gzip(request) {
            found.whole.unpack();
        }
        if self.breakage == Breakage::IgnoresVary && is_coded(&found.whole) && !accepts_gzip(request) {
            self.wrong(request);
        }
        let right = found.whole.body.clone();
        self.age(request, &mut found.whole);
        let changed = found.whole.body != right;
        let reply = self.select(request, found.whole);
        if changed && !reply.body.is_empty() {
            self.wrong(request);
        }
        Ok((reply, found.hit))
    }

    fn find(&self, request: &Message) -> io::Result<Found> {
        let keys = [self.key(request, true), self.key(request, false)];
        let store = self.store.lock().unwrap();
        let kept = keys.iter().find_map(|key| store.get(key)).cloned();
        drop(store);
        let Some(kept) = kept else { return self.fetch(request, None) };
        let bypasses = match self.breakage {
            Breakage::NeverKeeps => true,
            Breakage::BypassesUnderLoad => self.there.load(SeqCst) > LOAD,
            _ => false,
        };
        if bypasses {
            self.wrong(request);
            return self.fetch(request, None);
        }
        let fresh = is_fresh(&kept);
        let private = !kept.get("cache-control").is_some_and(|control| control.contains("public"));
        let stale = !fresh && (private || self.breakage == Breakage::ServesStale);
        let reload = request.get("cache-control").is_some();
        let ignored = reload && fresh && self.breakage == Breakage::IgnoresReload;
        if stale || ignored {
            self.wrong(request);
        } else if reload || !fresh {
            return self.fetch(request, Some(kept).filter(|_| !reload));
        }
        Ok(Found { whole: aged(kept), hit: true })
    }

    /// The key under which a reply is kept, which varies or not.
    fn key(&self, request: &Message, varies: bool) -> String {
        let path = request.word(1);
        let one_form = matches!(self.breakage, Breakage::IgnoresVary | Breakage::Unpacks);
        match request.get("accept-encoding") {
            _ if one_form || !varies => path.to_owned(),
            accepted => format!("{path} {}", accepted.unwrap_or_default()),
        }
    }

    /// Fetches from the origin; returns the kept reply if the origin confirms it.
    fn fetch(&self, request: &Message, kept: Option<Message>) -> io::Result<Found> {
        let mut asked = Message::new(format!("GET {} HTTP/1.1", request.word(1)));
        for name in ["host", &self.words.field.to_lowercase()] {
            asked.set(name, request.get(name).unwrap_or_default());
        }
        match request.get("accept-encoding") {
            _ if self.breakage == Breakage::Unpacks => asked.set("accept-encoding", "gzip"),
            Some(accepted) => asked.set("accept-encoding", accepted),
            None => {}
        }
        if self.breakage == Breakage::PassesHop && request.get(&self.words.hop.to_lowercase()).is_some() {
            self.wrong(request);
            asked.set(&self.words.hop, "1");
        }
        if let Some(tag) = kept.as_ref().and_then(|kept| kept.get("etag")) {
            asked.set("if-none-match", tag);
        }
        let came = self.forward(&asked)?;
        if let Some(old) = kept.as_ref().filter(|_| came.word(1) == "200") {
            self.replaced.lock().unwrap().insert(request.word(1).to_owned(), old.body.clone());
        }
        let whole = match kept {
            Some(mut kept) if came.word(1) == "304" => {
                kept.update(&came);
                kept
            }
            _ => came,
        };
        let control = whole.get("cache-control").unwrap_or_default();
        if control.contains("public") || self.breakage == Breakage::KeepsPrivate {
            let key = self.key(request, whole.get("vary").is_some());
            self.store.lock().unwrap().insert(key, whole.clone());
        }
        Ok(Found { whole, hit: false })
    }

    /// A POST as the origin gets it.
    fn upload(&self, request: &Message) -> Message {
        let mut upload = request.clone();
        match self.breakage {
            _ if !self.strikes(request) || request.body.is_empty() => return upload,
            Breakage::CutsUploads => upload.set_body(request.body[..request.body.len() / 2].to_vec()),
            Breakage::ChangesUploads => upload.body[0] ^= 1,
            Breakage::GetsUploads => {
                upload.set_body(Vec::new());
                upload.first = upload.first.replace("POST", "GET");
            }
            _ => return upload,
        }
        self.wrong(request);
        upload
    }

    fn forward(&self, request: &Message) -> io::Result<Message> {
        self.account.lock().unwrap().forwarded += 1;
        let idle = self.idle.lock().unwrap().pop();
        let mut peer = match idle {
            Some(peer) => peer,
            None => BufReader::new(TcpStream::connect(self.origin)?),
        };
        peer.get_mut().set_nodelay(true)?;
        peer.get_mut().write_all(&request.bytes())?;
        let mut reply = Message::read(&mut peer)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.idle.lock().unwrap().push(peer);
        reply.remove("connection");
        reply.set("via", "1.1 test");
        Ok(reply)
    }

    /// The requested part of the object.
    fn select(&self, request: &Message, mut whole: Message) -> Message {
        let date =
            |message: &Message, name| message.get(name).and_then(|date| parse_http_date(date.as_bytes()));
        let since = date(request, "if-modified-since");
        let unmodified = since.is_some() && date(&whole, "last-modified") <= since;
        let (tag, own) = (request.get("if-none-match"), whole.get("etag"));
        let matches = tag.is_some() && tag.map(strong) == own.map(strong);
        let blind = self.breakage == Breakage::MatchesAnyTag && self.strikes(request);
        if blind && tag.is_some() && !matches {
            self.wrong(request);
            not_modified(&mut whole);
        } else if unmodified || matches {
            if self.breakage == Breakage::IgnoresConditions && self.strikes(request) {
                self.wrong(request);
                return whole;
            }
            not_modified(&mut whole);
        } else if let Some(range) = request.get("range") {
            let start = whole.body.clone();
            if self.breakage == Breakage::IgnoresRanges && self.strikes(request) {
                self.wrong(request);
                return whole;
            }
            part(range, &mut whole);
            if self.breakage == Breakage::StartsRangesAtZero && self.strikes(request) {
                let start = start[..whole.body.len()].to_vec();
                if start != whole.body {
                    self.wrong(request);
                    whole.set_body(start);
                }
            }
        } else if request.word(0) == "HEAD" {
            whole.body.clear();
        }
        whole
    }

    /// Puts bytes of the version before into an object.
    fn age(&self, request: &Message, whole: &mut Message) {
        let of_ranges = self.breakage == Breakage::KeepsOldParts;
        let is_meant = request.word(0) == "GET" && of_ranges == request.get("range").is_some();
        let replaced = self.replaced.lock().unwrap();
        let Some(old) = replaced.get(request.word(1)).filter(|_| is_meant && self.strikes(request)) else {
            return;
        };
        match self.breakage {
            Breakage::KeepsOldBodies | Breakage::KeepsOldParts => whole.body.clone_from(old),
            Breakage::JoinsVersions => {
                let half = old.len() / 2;
                whole.body[..half].copy_from_slice(&old[..half]);
            }
            _ => {}
        }
    }

    /// Any other object that is kept.
    fn another(&self, request: &Message) -> Option<Message> {
        let store = self.store.lock().unwrap();
        let (_, other) = store.iter().find(|(path, _)| *path != request.word(1))?;
        self.wrong(request);
        Some(aged(other.clone()))
    }

    fn spoil(&self, request: &Message, reply: &mut Message, hit: bool) -> Leaving {
        let spares = self.breakage == Breakage::SparesBakeoff && is_bakeoff(request);
        if spares || !self.strikes(request) {
            return Leaving::Whole;
        }
        let leaving = self.breakage.spoil(request.word(0), reply, hit, now_secs());
        if leaving.is_some() {
            self.wrong(request);
        }
        leaving.unwrap_or(Leaving::Whole)
    }

    fn wrong(&self, request: &Message) {
        self.account.lock().unwrap().wronged.insert(self.ask(request));
    }

    fn ask(&self, request: &Message) -> u64 {
        let value = request.get(&self.words.field.to_lowercase()).unwrap();
        self.words.parse_ask(value.as_bytes()).unwrap()
    }

    fn strikes(&self, request: &Message) -> bool {
        self.ask(request).is_multiple_of(ONE_IN)
    }
}

/// Whether path or fields are those of a run whose names are not drawn.
fn is_bakeoff(request: &Message) -> bool {
    let is_path = ["/w", "/s", "/t", "/_"].iter().all(|word| request.word(1).contains(word));
    is_path || request.get("x-bakeoff").is_some() || request.has_value("ask=")
}

fn accepts_gzip(request: &Message) -> bool {
    request.get("accept-encoding") == Some("gzip")
}

fn is_coded(reply: &Message) -> bool {
    reply.get("content-encoding").is_some()
}

/// A tag as weak comparison sees it.
fn strong(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Seconds since the origin wrote or confirmed it.
fn age(kept: &Message) -> u64 {
    let date = kept.get("date").and_then(|date| parse_http_date(date.as_bytes())).unwrap();
    now_secs().saturating_sub(date)
}

fn is_fresh(kept: &Message) -> bool {
    let max_age =
        kept.get("cache-control").and_then(|control| control.split_once("max-age=")?.1.parse().ok());
    max_age.is_some_and(|max_age: u64| age(kept) < max_age)
}

fn aged(mut kept: Message) -> Message {
    kept.set("age", age(&kept).to_string());
    kept
}

/// The bytes `bytes=FIRST-LAST` of a whole reply.
fn part(range: &str, reply: &mut Message) {
    let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let whole = reply.body.len();
    "HTTP/1.1 206 Partial Content".clone_into(&mut reply.first);
    reply.set("content-range", format!("bytes {first}-{last}/{whole}"));
    reply.set_body(reply.body[first..=last].to_vec());
}
