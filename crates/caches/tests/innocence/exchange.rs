//! Recording of a run: every exchange at both ends of a cache, a line of JSON each.
//!
//! Cold. Owns the form alone. `examples/record.rs` writes it, and the tests read it; neither the judge nor the model of
//! RFC 9111 is named here. All moments are nanoseconds since the run began.

#![allow(dead_code)] // each program that has this file uses one half of it

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// A recording.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) about: About,
    pub(crate) robots: Vec<OfRobots>,
    pub(crate) origin: Vec<OfOrigin>,
}

/// Its first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    /// The cache and its configuration, in words.
    pub(crate) cache: String,
    /// The plan.
    pub(crate) plan: String,
    /// When the run began, since 1970.
    pub(crate) began_unix_ns: u64,
}

/// An exchange between robots and cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OfRobots {
    pub(crate) stamp: u64,
    /// As stamps write it.
    pub(crate) object: String,
    /// The words of the judge's interface: what the robot meant to ask.
    pub(crate) kind: serde_json::Value,
    pub(crate) repeat: bool,
    pub(crate) embedded: bool,
    /// `gzip`, `identity`, or empty.
    pub(crate) accepts: String,
    pub(crate) sends: u64,
    pub(crate) due: u64,
    pub(crate) written: u64,
    pub(crate) sent: u64,
    pub(crate) done: u64,
    pub(crate) resent: bool,
    /// Of the reply's body, as it came.
    pub(crate) body_bytes: u64,
    /// CRC-32 of the body without its codings; absent where it was cut off, and in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body_crc: Option<u32>,
    /// The load generator's class of a failure.
    pub(crate) error: Option<String>,
    /// Head of the request, without what the load generator adds.
    pub(crate) request: String,
    /// Head of the reply; empty where none came.
    pub(crate) reply: String,
}

/// An exchange between cache and origin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OfOrigin {
    /// When the request's head was complete.
    pub(crate) asked: u64,
    /// When the reply's last byte had gone.
    pub(crate) done: u64,
    pub(crate) request: String,
    pub(crate) reply: String,
    /// As that of robots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body_crc: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    About(About),
    Robots(OfRobots),
    Origin(OfOrigin),
}

impl Recording {
    pub(crate) fn write(&self, file: &Path) -> io::Result<()> {
        let mut packed = GzEncoder::new(File::create(file)?, Compression::best());
        let about = std::iter::once(Line::About(self.about.clone()));
        let robots = self.robots.iter().cloned().map(Line::Robots);
        let origin = self.origin.iter().cloned().map(Line::Origin);
        for line in about.chain(robots).chain(origin) {
            serde_json::to_writer(&mut packed, &line)?;
            packed.write_all(b"\n")?;
        }
        packed.finish()?.sync_all()
    }

    pub(crate) fn read(file: &Path) -> io::Result<Self> {
        let (mut about, mut robots, mut origin) = (None, Vec::new(), Vec::new());
        for line in BufReader::new(GzDecoder::new(File::open(file)?)).lines() {
            match serde_json::from_str(&line?)? {
                Line::About(first) => about = Some(first),
                Line::Robots(exchange) => robots.push(exchange),
                Line::Origin(exchange) => origin.push(exchange),
            }
        }
        let about = about.ok_or_else(|| io::Error::other("it has no first line"))?;
        Ok(Self { about, robots, origin })
    }
}
