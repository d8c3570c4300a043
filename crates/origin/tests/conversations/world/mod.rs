//! Objects of a world, requested by every method, and connections that end.

mod bodies;
mod codings;
mod lasting;
mod objects;
mod parts;

use crate::support::Reply;
use bakeoff_content::world::{Object, ObjectName, Version};
use bakeoff_origin::World;
use bakeoff_wire::http1::parse_http_date;
use std::io::Read;

const CONTENT: &str = r#"
[[content]]
name = "page"
size = "const:1000B"
life = { length = "const:1day", expires = "nmt+0s" }
media_type = "text/html"
extensions = [".html"]

[[content]]
name = "private"
size = "const:10B"
cachable = "0%"
life = { length = "const:1day", expires = "nmt+0s" }

[[content]]
name = "large"
size = "const:5GB"
gzip = true

[[content]]
name = "empty"
size = "const:0B"

[[content]]
name = "text"
size = "const:300KB"
life = { length = "const:1day", expires = "nmt+0s" }
compressibility = "60%"
gzip = true
"#;
pub(super) const PAGE: u8 = 0;
pub(super) const PRIVATE: u8 = 1;
pub(super) const LARGE: u8 = 2;
pub(super) const EMPTY: u8 = 3;
pub(super) const TEXT: u8 = 4;
/// As distributions have it: 5 * 1024^3.
pub(super) const LARGE_BYTES: u64 = 5 << 30;

pub(super) fn world(origin: &str) -> World {
    World::from_toml(&format!("{CONTENT}\n[origin]\n{origin}\n")).unwrap()
}

pub(super) fn name(kind: u8) -> ObjectName {
    ObjectName { world: 0xfeed, server: 7, kind, number: 42 }
}

pub(super) fn path(name: &ObjectName) -> String {
    let mut path = Vec::new();
    name.write_path(&world("").model, &mut path);
    String::from_utf8(path).unwrap()
}

pub(super) fn id(name: &ObjectName) -> String {
    let mut id = Vec::new();
    name.write_id(&world("").model, &mut id);
    String::from_utf8(id).unwrap()
}

pub(super) fn object(name: &ObjectName) -> Object {
    world("").model.object(name).unwrap()
}

/// The object's version when the reply was made.
pub(super) fn version(name: &ObjectName, reply: &Reply) -> Version {
    object(name).at(parse_http_date(reply.line("date").unwrap().as_bytes()).unwrap())
}

/// The whole object of the version in this reply.
pub(super) fn whole(name: &ObjectName, reply: &Reply) -> Vec<u8> {
    let mut bytes = Vec::new();
    object(name).body(version(name, reply).number).write_to(&mut bytes).unwrap();
    bytes
}

pub(super) fn stamp(told: &str, ask: u64, name: &ObjectName, version: &Version) -> String {
    format!("{told}={ask:016x}; object={}; version={}", id(name), version.number)
}

/// The next reply, of which only the head comes.
pub(super) fn read_head(stream: &mut impl Read) -> Reply {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    Reply::head(&head)
}
