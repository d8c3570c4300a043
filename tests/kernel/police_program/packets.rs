//! Builder and checker of packets, byte by byte.

use std::net::IpAddr;

pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;
pub(crate) const PUSH: u8 = 8;
pub(crate) const RST: u8 = 4;

/// Wrapping of a packet, which must make no difference.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wrapping {
    /// Words of IPv4 options, or further heads of IPv6, eight bytes each.
    pub(crate) options: usize,
    /// Whether it goes by way of another address (IPv6).
    pub(crate) routed: bool,
    /// Words of TCP options.
    pub(crate) tcp_options: usize,
    /// Bytes behind the packet, as short Ethernet frames have.
    pub(crate) padding: usize,
    /// Whether it is the first of a fragmented packet.
    pub(crate) first_fragment: bool,
}

/// A segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment<'p> {
    pub(crate) from: (IpAddr, u16),
    pub(crate) to: (IpAddr, u16),
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) payload: &'p [u8],
}

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Its frame.
pub(crate) fn frame(segment: &Segment<'_>, wrapping: &Wrapping) -> Vec<u8> {
    let tcp = tcp(segment, wrapping);
    let mut frame = MACS.to_vec();
    match (segment.from.0, segment.to.0) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let length = 20 + 4 * wrapping.options + tcp.len();
            let fragment = if wrapping.first_fragment { 0x20 } else { 0x40 };
            let mut head = vec![0x45 + wrapping.options as u8, 0, (length >> 8) as u8, length as u8];
            head.extend([0, 1, fragment, 0, 64, 6, 0, 0]);
            head.extend(from.octets().into_iter().chain(to.octets()));
            head.extend(vec![1; 4 * wrapping.options]); // no operation
            let sum = checksum(&[&head]);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            frame.extend([8, 0]);
            frame.extend(head);
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let further = further_heads(wrapping);
            let mut route = Vec::new();
            let next = if wrapping.options > 0 {
                60
            } else if wrapping.first_fragment {
                44
            } else {
                6
            };
            let (mut first, mut by) = (next, to.octets());
            if wrapping.routed {
                route.extend([next, 2, 4, 1, 0, 0, 0, 0].into_iter().chain(to.octets()));
                (first, by) = (43, [0xfd; 16]);
            }
            let length = route.len() + further.len() + tcp.len();
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, (length >> 8) as u8, length as u8, first, 64]);
            frame.extend(from.octets().into_iter().chain(by).chain(route).chain(further));
        }
        _ => unreachable!("both of a family"),
    }
    frame.extend(tcp);
    frame.extend(vec![0; wrapping.padding]);
    frame
}

/// Destination options, and a fragment's head behind them.
fn further_heads(wrapping: &Wrapping) -> Vec<u8> {
    let behind = if wrapping.first_fragment { 44 } else { 6 };
    let next = |place: usize| if place + 1 < wrapping.options { 60 } else { behind };
    let mut heads: Vec<u8> =
        (0..wrapping.options).flat_map(|place| [next(place), 0, 1, 4, 0, 0, 0, 0]).collect();
    if wrapping.first_fragment {
        heads.extend([6, 0, 0, 1, 0, 0, 0, 9]);
    }
    heads
}

fn tcp(segment: &Segment<'_>, wrapping: &Wrapping) -> Vec<u8> {
    let mut tcp = [segment.from.1.to_be_bytes(), segment.to.1.to_be_bytes()].concat();
    tcp.extend(segment.sequence.to_be_bytes());
    tcp.extend(77_u32.to_be_bytes());
    tcp.extend([(5 + wrapping.tcp_options as u8) << 4, segment.flags, 255, 255, 0, 0, 0, 0]);
    tcp.extend(vec![1; 4 * wrapping.tcp_options]);
    tcp.extend(segment.payload);
    let sum = checksum(&[&pseudo(segment.from.0, segment.to.0, tcp.len()), &tcp]);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    tcp
}

/// A parsed frame: addresses, flags, sequence numbers, payload. Its checksums are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) from: (IpAddr, u16),
    pub(crate) to: (IpAddr, u16),
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) payload: Vec<u8>,
}

/// Parses a frame without IP options.
pub(crate) fn seen(frame: &[u8]) -> Seen {
    let at = |place: usize, bytes: usize| &frame[place..place + bytes];
    let (from, to, tcp): (IpAddr, IpAddr, &[u8]) = if at(12, 2) == [8, 0] {
        assert_eq!(checksum(&[at(14, 20)]), 0, "the sum of the IPv4 head");
        let length = usize::from(u16::from_be_bytes(at(16, 2).try_into().unwrap()));
        assert_eq!(length, frame.len() - 14);
        let octets = |place| IpAddr::from(<[u8; 4]>::try_from(at(place, 4)).unwrap());
        (octets(26), octets(30), &frame[34..])
    } else {
        assert_eq!((at(12, 3), frame[20]), (&[0x86, 0xdd, 0x60][..], 6));
        let length = usize::from(u16::from_be_bytes(at(18, 2).try_into().unwrap()));
        assert_eq!(length, frame.len() - 54);
        let octets = |place| IpAddr::from(<[u8; 16]>::try_from(at(place, 16)).unwrap());
        (octets(22), octets(38), &frame[54..])
    };
    assert_eq!(checksum(&[&pseudo(from, to, tcp.len()), tcp]), 0, "the sum of the TCP segment");
    let port = |place: usize| u16::from_be_bytes(tcp[place..place + 2].try_into().unwrap());
    Seen {
        from: (from, port(0)),
        to: (to, port(2)),
        flags: tcp[13],
        sequence: u32::from_be_bytes(tcp[4..8].try_into().unwrap()),
        payload: tcp[usize::from(tcp[12] >> 4) * 4..].to_vec(),
    }
}

pub(crate) fn pseudo(from: IpAddr, to: IpAddr, length: usize) -> Vec<u8> {
    let octets = |address| match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    [octets(from), octets(to), vec![0, 6, (length >> 8) as u8, length as u8]].concat()
}

pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 =
        words.map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |byte| u32::from(*byte))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
