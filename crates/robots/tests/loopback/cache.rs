//! A cache and its origin in one: a thread for each connection, all behind one lock. Slow and simple.

use bakeoff_content::world::{Model, Object, ObjectName};
use bakeoff_wire::http1::{http_date, parse_http_date};
use bakeoff_wire::stamp::{OriginAction, ReplyStamp, Upload, Words};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// Its behaviour towards its clients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Correct.
    Honest,
    /// From the 1000th request on it gives the object before.
    Confused,
}

/// Runs until the test's process ends.
pub(crate) struct Cache {
    pub(crate) address: SocketAddr,
    store: Arc<Mutex<Store>>,
}

struct Store {
    model: Arc<Model>,
    manner: Manner,
    /// The stamp of the request for which each object was fetched.
    held: HashMap<ObjectName, u64>,
    asked: u64,
    last: Option<ObjectName>,
}

/// A request's lines.
struct Request {
    method: String,
    path: String,
    fields: HashMap<String, String>,
    /// Of a POST.
    upload: Option<Upload>,
}

impl Cache {
    pub(crate) fn start(model: Arc<Model>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = Store { model, manner, held: HashMap::new(), asked: 0, last: None };
        let store = Arc::new(Mutex::new(store));
        let shared = store.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let store = shared.clone();
                thread::spawn(move || serve(stream, &store));
            }
        });
        Self { address, store }
    }

    pub(crate) fn asked(&self) -> u64 {
        self.store.lock().unwrap().asked
    }
}

fn serve(stream: TcpStream, store: &Mutex<Store>) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let reply = store.lock().unwrap().answer(&request);
        if reader.get_mut().write_all(&reply).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let path = target.strip_prefix("http://origin.test").unwrap().to_owned();
    let mut fields = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        fields.insert(name.to_lowercase(), value.to_owned());
    }
    let mut upload = Upload::default();
    if let Some(length) = fields.get("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        upload.take(&body);
    }
    let upload = (method == "POST").then_some(upload);
    Some(Request { method, path, fields, upload })
}

impl Store {
    fn answer(&mut self, request: &Request) -> Vec<u8> {
        self.asked += 1;
        let mut name = ObjectName::parse_path(&self.model, request.path.as_bytes()).unwrap();
        let before = self.last.replace(name);
        if self.manner == Manner::Confused && self.asked >= 1000 {
            name = before.unwrap();
        }
        let object = self.model.object(&name).unwrap();
        let ask = Words::default().parse_ask(request.fields["x-bakeoff"].as_bytes()).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let version = object.at(now);
        let plain = request.method == "GET" && !request.fields.contains_key("range");
        let reload = request.fields.contains_key("cache-control");
        let since =
            request.fields.get("if-modified-since").map(|date| parse_http_date(date.as_bytes()).unwrap());
        if since.is_some_and(|since| version.last_modified.is_some_and(|modified| modified <= since)) {
            return reply(
                "304 Not Modified",
                (&*self.model, &object),
                (OriginAction::Valid(ask), None),
                now,
                None,
            );
        }
        let held = self.held.get(&name).copied().filter(|_| !reload);
        let told = OriginAction::Made(held.filter(|_| request.upload.is_none()).unwrap_or(ask));
        if plain && object.cachable && held.is_none() {
            self.held.insert(name, ask);
        }
        let len = object.size;
        let (told, of) = ((told, request.upload), (&*self.model, &object));
        match request.fields.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) {
            Some((first, last)) => {
                let (first, last) = (first.parse().unwrap(), last.parse::<u64>().unwrap().min(len - 1));
                reply("206 Partial Content", of, told, now, Some((first, last)))
            }
            None if request.method == "HEAD" => reply("200 OK", of, told, now, None),
            None => reply("200 OK", of, told, now, Some((0, len.wrapping_sub(1)))),
        }
    }
}

/// With the bytes from first to last, or with none.
fn reply(
    status: &str,
    (model, object): (&Model, &Object),
    (told, posted): (OriginAction, Option<Upload>),
    now: u64,
    part: Option<(u64, u64)>,
) -> Vec<u8> {
    let version = object.at(now);
    let len = part.map_or(object.size, |(first, last)| last.wrapping_sub(first).wrapping_add(1));
    let mut head =
        format!("HTTP/1.1 {status}\r\nDate: {}\r\nETag: \"{:016x}\"\r\n", http_date(now), version.etag);
    head += &version
        .last_modified
        .map_or(String::new(), |date| format!("Last-Modified: {}\r\n", http_date(date)));
    head += &version.expires.map_or(String::new(), |date| format!("Expires: {}\r\n", http_date(date)));
    head += &match version.expires {
        Some(expires) => format!("Cache-Control: public, max-age={}\r\n", expires - now),
        None if object.cachable => "Cache-Control: public\r\n".to_owned(),
        None => "Cache-Control: private, no-cache\r\n".to_owned(),
    };
    head += "Content-Type: application/octet-stream\r\n";
    if let (true, Some((first, last))) = (status.starts_with("206"), part) {
        head += &format!("Content-Range: bytes {first}-{last}/{}\r\n", object.size);
    }
    if !status.starts_with("304") {
        head += &format!("Content-Length: {len}\r\n");
    }
    let (mut id, mut out) = (Vec::new(), head.into_bytes());
    object.name.write_id(model, &mut id);
    out.extend_from_slice(b"X-Bakeoff: ");
    ReplyStamp { told, object: &id, version: version.number, posted }.write(&Words::default(), &mut out);
    out.extend_from_slice(b"\r\n\r\n");
    if let Some((first, _)) = part {
        let mut body = Vec::new();
        object.body(version.number).write_to(&mut body).unwrap();
        out.extend_from_slice(&body[first as usize..(first + len) as usize]);
    }
    out
}
