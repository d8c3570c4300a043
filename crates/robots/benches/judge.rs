//! Instructions of a robot's request besides the load generator: chosen, written, its reply judged and entered.
//!
//! `-- --callgrind N` makes exactly N of them and nothing else, for callgrind: the cost of 2 N above that of N is theirs
//! alone. All are hits of an object that never changes, with the head that our origin makes, and the bench writes it.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a benchmark that cannot begin has nothing to say

use bakeoff_loadgen::{Reply, RequestEnd, RequestListener, Target};
use bakeoff_origin::World;
use bakeoff_robots::ledger::{INTERVAL, Ledger};
use bakeoff_robots::{FillGate, Population, Robots, Setting, Spec, TargetForm, Worker};
use bakeoff_units::Nanos;
use bakeoff_wire::http1::http_date;
use bakeoff_workload::Source;
use std::sync::{Arc, mpsc};

/// When the run begins, in seconds since 1970.
const BEGIN: u64 = 1_000_000_000;

const WORLD: &str = "[[content]]\nname = \"any\"\nsize = \"exp:13KB\"\nlife = { length = \"const:2year\", expires = \"nmt+0s\" }\n";
const ROBOTS: &str = "[robots]\nrate = \"1000/s\"\nrecurrence = \"100%\"\n[[phase]]\nname = \"all\"\ngoal = { duration = \"1h\" }\n";

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    let Some(count) = arguments.next() else { return };
    let count: u64 = count.parse().expect("--callgrind takes a number of requests");
    let world = World::from_toml(WORLD).expect("it is a world");
    let setting = Setting {
        world: 7,
        seed: 1,
        start_unix: Nanos::from_secs(BEGIN),
        worker: Worker::ONLY,
        form: TargetForm::Origin,
        gate: FillGate::new(),
    };
    let (send, _records) = mpsc::channel();
    let population = Population::new(
        Arc::new(Spec::from_toml(ROBOTS).expect("they are robots")),
        Arc::new(world.model.clone()),
        setting,
    );
    let target = Target::plain(([127, 0, 0, 1], 80).into(), "origin".to_owned());
    let mut robots = Robots::new(population, Ledger::new(0, INTERVAL, Nanos::ZERO, send), &target);
    for _ in 0..count {
        one(&mut robots);
    }
}

fn one(robots: &mut Robots) {
    let ask = robots.next(0).expect("an hour is long");
    let (ticket, due) = (ask.ticket, ask.at);
    let name = robots.population().flight(ticket).expect("it is in flight").name;
    let object = robots.population().object(&name).expect("the world has it");
    let (version, mut id) = (object.at(BEGIN), Vec::new());
    name.write_id(robots.population().model(), &mut id);
    let (expires, modified) = (version.expires.unwrap_or(0), version.last_modified.unwrap_or(0));
    let head = format!(
        "HTTP/1.1 200 OK\r\nDate: {}\r\nLast-Modified: {}\r\nExpires: {}\r\nCache-Control: public, max-age={}\r\n\
         ETag: \"{:016x}\"\r\nX-Bakeoff: made=0000000000000001; object={}; version={}\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: {}\r\nAge: 1\r\nVia: 1.1 cache\r\n\r\n",
        http_date(BEGIN),
        http_date(modified),
        http_date(expires),
        expires - BEGIN,
        version.etag,
        String::from_utf8_lossy(&id),
        version.number,
        object.size
    );
    let (head, done) = (head.as_bytes(), due + Nanos::from_millis(1));
    let reply = Reply { status: 200, head, head_bytes: head.len() as u64, body_bytes: object.size };
    robots.headed(ticket, head);
    robots.ended(&RequestEnd {
        robot: 0,
        ticket,
        due,
        sent: due,
        first_byte: done,
        done,
        result: Ok(reply),
        reused: true,
        resent: false,
        head,
    });
}
