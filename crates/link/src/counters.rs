//! Counters of queueing disciplines, read by `tc`.
//!
//! Not the counters of the devices: those take a packet that is cut into frames late for one.

use crate::LinkError;
use crate::tool::tc_says;
use bakeoff_sys::namespace::Namespace;
use serde::Deserialize;
use std::io;

/// Counters of one discipline since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Discipline {
    /// `tbf`, `netem`.
    pub(crate) kind: String,
    /// Bytes let through, each frame with its header.
    pub(crate) bytes: u64,
    /// Packets let through: frames.
    pub(crate) packets: u64,
    /// Packets thrown away.
    pub(crate) drops: u64,
    /// Packets that wait now.
    #[serde(rename = "qlen")]
    pub(crate) waiting: u64,
}

/// All disciplines of a namespace. Starts a program: for moments without a measurement.
pub(crate) fn read(inside: &Namespace) -> Result<Vec<Discipline>, LinkError> {
    of(&tc_says(inside, "-s -j qdisc show")?)
}

fn of(json: &[u8]) -> Result<Vec<Discipline>, LinkError> {
    serde_json::from_slice(json).map_err(|error| LinkError::Counters(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.1 writes it.
    #[test]
    fn kind_bytes_and_drops_are_found() {
        let json = br#"[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{},
            "bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0},
            {"kind":"tbf","handle":"1:","dev":"bakeoff0","root":true,"refcnt":2,
            "options":{"rate":1250000,"burst":4000,"lat":100000},
            "bytes":7,"packets":3,"drops":9,"overlimits":2,"requeues":0,"backlog":1500,"qlen":5}]"#;
        let found = of(json).unwrap();
        let tbf = Discipline { kind: "tbf".into(), bytes: 7, packets: 3, drops: 9, waiting: 5 };
        assert_eq!((found.len(), &found[1]), (2, &tbf));
        for wrong in [&json[..100], b"", b"[{\"kind\":\"tbf\"}]"] {
            assert!(of(wrong).unwrap_err().to_string().contains("cannot be read"));
        }
    }
}
