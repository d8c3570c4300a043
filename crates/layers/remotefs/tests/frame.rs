//! Frames: each message has exactly one encoding, and any input is decoded to it or refused.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

use bakeoff_layers_remotefs::frame::{
    Attributes, BreakScope, ClientRequest, ConnectionPurpose, DirectoryEntry, Entries, FileName, FileTime,
    FileType, HEAD_BYTES, MOST_BODY_BYTES, MessageHead, New, ServerReply, Space, TimeUpdate, Way, entries,
};
use bakeoff_layers_remotefs::refusal::Refusal;
use proptest::prelude::*;

fn parts(frame: &[u8]) -> (MessageHead, &[u8]) {
    let head = MessageHead::read(&frame[..HEAD_BYTES]).unwrap();
    assert_eq!(head.length as usize, frame.len() - HEAD_BYTES);
    (head, &frame[HEAD_BYTES..])
}

/// All kinds of requests, built from these numbers and names.
fn requests<'b>(
    n: [u64; 3],
    flags: (bool, bool),
    names: [&'b [u8]; 2],
    bytes: &'b [u8],
) -> Vec<ClientRequest<'b>> {
    let [object, offset, number] = n;
    let (directory, length) = (object, (number % (1 << 20)) as u32);
    let mode = (number & 0o1777) as u16;
    let [name, new_name] = names.map(|name| FileName::of(name).unwrap());
    let new = New {
        mode: flags.0.then_some(mode),
        size: flags.1.then_some(offset),
        atime: if flags.0 { TimeUpdate::Now } else { TimeUpdate::Kept },
        mtime: TimeUpdate::At(FileTime { s: number as i64, ns: length }),
    };
    let way = match flags {
        (true, _) => Way::NoReplace,
        (_, true) => Way::Exchange,
        _ => Way::Replace,
    };
    let class = if flags.0 { ConnectionPurpose::Data } else { ConnectionPurpose::Callback };
    vec![
        ClientRequest::Hello { class, session: length, boot: number, credentials: bytes },
        ClientRequest::Lookup { directory, name },
        ClientRequest::Attributes { object },
        ClientRequest::SetAttributes { object, new },
        ClientRequest::ReadLink { object },
        ClientRequest::Space,
        ClientRequest::List { directory, cookie: number, most_bytes: length },
        ClientRequest::Read { object, offset, length },
        ClientRequest::Write { object, offset, append: flags.0, bytes },
        ClientRequest::Commit { object },
        ClientRequest::Create { directory, name, mode, exclusive: flags.0, truncate: flags.1 },
        ClientRequest::MakeDirectory { directory, name, mode },
        ClientRequest::SymLink { directory, name, target: new_name.bytes() },
        ClientRequest::Link { object, directory: number, name },
        ClientRequest::Remove { directory, name },
        ClientRequest::RemoveDirectory { directory, name },
        ClientRequest::Rename { from: object, name, to: number, new_name, way },
        ClientRequest::Ping { stamp: number },
        ClientRequest::Ack { number },
        ClientRequest::Forget { object, count: number },
        ClientRequest::Bye,
        ClientRequest::Why { object, name: flags.0.then_some(name) },
    ]
}

fn answers<'b>(n: [u64; 3], flags: (bool, bool), bytes: &'b [u8], listed: &'b [u8]) -> Vec<ServerReply<'b>> {
    let [object, offset, number] = n;
    let (leased, end) = flags;
    let short = number as u32;
    let at = FileTime { s: offset as i64, ns: short % 1_000_000_000 };
    let attributes = Attributes {
        object,
        size: offset,
        blocks: number,
        atime: at,
        mtime: FileTime::default(),
        ctime: at,
        names: short,
        mode: short as u16 & 0o1777,
        kind: [FileType::File, FileType::Directory, FileType::Link][short as usize % 3],
    };
    let space = Space { block_bytes: short, blocks: object, free: offset, ..Space::default() };
    vec![
        ServerReply::Welcome { boot: number, session: short, term_ms: object as u32 },
        ServerReply::Attributes { attributes, leased, contents: bytes },
        ServerReply::Absent { leased },
        ServerReply::Bytes { bytes, leased, end },
        ServerReply::Entries { bytes: listed, leased, end },
        ServerReply::Written { length: short, end: offset },
        ServerReply::Space(space),
        ServerReply::Done,
        ServerReply::Alive { stamp: number, left_ms: offset },
        ServerReply::Break { number, object, what: BreakScope { contents: leased, names: end } },
        ServerReply::Changed,
        ServerReply::Refused { name: "expired", sentence: "the leaf: its time is over" },
        ServerReply::Error { errno: short, refusal: object as u32 },
    ]
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![1_u8..=46, 48_u8..=255], 1..=255)
        .prop_filter("no dots", |name| name != b"." && name != b"..")
}

/// Numbers, also at the edges; offsets that a file can have.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_said_is_what_is_heard(
        object in number(),
        offset in 0..i64::MAX as u64 - (1 << 20),
        n in number(),
        flags in any::<(bool, bool)>(),
        names in [name(), name()],
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let numbers = [object, offset, n];
        for request in requests(numbers, flags, [&names[0], &names[1]], &bytes) {
            let mut frame = Vec::new();
            request.put(&mut frame);
            let (head, body) = parts(&frame);
            prop_assert_eq!(ClientRequest::read(&head, body), Ok(request));
            prop_assert!(ServerReply::read(&head, body).is_err(), "a request is no answer");
            if let Some((_, shorter)) = body.split_last()
                && !matches!(request, ClientRequest::Write { .. } | ClientRequest::Hello { .. })
            {
                prop_assert!(ClientRequest::read(&head, shorter).is_err(), "{request:?}");
            }
        }
        let mut listed = Entries::default();
        for (name, kind) in names.iter().zip([FileType::File, FileType::Link]) {
            let entry = DirectoryEntry { cookie: n, kind, name: FileName::of(name).unwrap() };
            prop_assert!(listed.add(&entry, 1 << 20));
        }
        prop_assert_eq!(entries(listed.bytes()).filter(Result::is_ok).count(), 2);
        for answer in answers(numbers, flags, &bytes, listed.bytes()) {
            let mut frame = Vec::new();
            answer.put(&mut frame);
            let (head, body) = parts(&frame);
            prop_assert_eq!(ServerReply::read(&head, body), Ok(answer));
            prop_assert!(ClientRequest::read(&head, body).is_err(), "an answer is no request");
        }
    }

    /// Each message has one encoding: a changed frame is refused, or is another message in its own single encoding.
    #[test]
    fn whatever_comes_is_refused_or_means_just_that(
        which in 0_usize..22,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        n in number(),
        flags in any::<(bool, bool)>(),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut frame = Vec::new();
        requests([n, n >> 2, n], flags, [b"name", b"new"], &bytes)[which].put(&mut frame);
        for (at, byte) in flips {
            let at = 4 + at.index(frame.len() - 4);
            frame[at] = byte;
        }
        let (head, body) = parts(&frame);
        let mut again = Vec::new();
        if let Ok(request) = ClientRequest::read(&head, body) {
            request.put(&mut again);
            prop_assert_eq!(&again, &frame);
        }
        again.clear();
        if let Ok(answer) = ServerReply::read(&head, body) {
            answer.put(&mut again);
            prop_assert_eq!(&again, &frame);
        }
    }

    #[test]
    fn random_bytes_are_refused_or_come_back(
        kind in prop_oneof![0_u16..30, 60_u16..80, any::<u16>()],
        rest in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 34..200),
    ) {
        let mut frame = ((rest.len() - 34) as u32).to_le_bytes().to_vec();
        frame.extend_from_slice(&kind.to_le_bytes());
        frame.extend_from_slice(&rest);
        let (head, body) = parts(&frame);
        let mut again = Vec::new();
        let _ = ClientRequest::read(&head, body).map(|request| request.put(&mut again));
        let _ = ServerReply::read(&head, body).map(|answer| answer.put(&mut again));
        prop_assert!(again.is_empty() || again == frame);
    }
}

#[test]
fn a_frame_that_announces_too_much_is_refused_before_anything_is_read() {
    let announced = |length: u32| {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        MessageHead::read(&bytes).map(|head| head.length)
    };
    assert_eq!(announced(MOST_BODY_BYTES), Ok(MOST_BODY_BYTES));
    assert_eq!(announced(MOST_BODY_BYTES + 1), Err(Refusal::FrameTooLarge));
    assert_eq!(announced(u32::MAX), Err(Refusal::FrameTooLarge));
    assert_eq!(MessageHead::read(&[0; HEAD_BYTES - 1]), Err(Refusal::ShortBody));
}

#[test]
fn only_single_names_are_names() {
    let long = [b'a'; 256];
    let none: [&[u8]; 8] = [b"", b".", b"..", b"/", b"a/b", b"../a", b"a\0", &long];
    assert!(none.iter().all(|name| FileName::of(name) == Err(Refusal::BadName)));
    let some: [&[u8]; 7] = [b"...", b" ", b"%2e%2e", b"\xff\xfe", b"\n", b"..a", &long[..255]];
    assert!(some.iter().all(|name| FileName::of(name).is_ok()));
}

#[test]
fn each_fault_of_a_frame_has_its_name() {
    let mut frame = Vec::new();
    ClientRequest::Lookup { directory: 7, name: FileName::of(b"n").unwrap() }.put(&mut frame);
    let (head, body) = parts(&frame);
    let heard = |head: MessageHead, body: &[u8]| ClientRequest::read(&head, body).unwrap_err();
    assert_eq!(heard(MessageHead { kind: 999, ..head }, body), Refusal::UnknownKind);
    assert_eq!(heard(MessageHead { b: 1, ..head }, body), Refusal::StrayField);
    assert_eq!(heard(MessageHead { flags: 1 << 15, ..head }, body), Refusal::StrayField);
    assert_eq!(heard(head, &body[..2]), Refusal::ShortBody);
    assert_eq!(heard(head, &[body, b"x"].concat()), Refusal::TrailingData);
    assert_eq!(heard(head, b"\x02\x00.."), Refusal::BadName);
    let mut hello = Vec::new();
    ClientRequest::Hello { class: ConnectionPurpose::Data, session: 1, boot: 2, credentials: &[] }
        .put(&mut hello);
    let (head, body) = parts(&hello);
    assert_eq!(heard(MessageHead { a: 2, ..head }, body), Refusal::OtherVersion);
    assert_eq!(heard(MessageHead { b: 2, ..head }, body), Refusal::BadValue);
    assert_eq!(heard(head, &[0; 64 * 1024 + 1]), Refusal::BadValue, "credentials have a longest");
}

#[test]
fn bytes_are_put_where_they_belong() {
    let mut out = b"before".to_vec();
    let filled = ServerReply::put_bytes(&mut out, 100, true, |room| {
        room[..3].copy_from_slice(b"abc");
        Ok::<_, ()>((3, true))
    });
    assert_eq!(filled, Ok(()));
    let mut expected = b"before".to_vec();
    ServerReply::Bytes { bytes: b"abc", leased: true, end: true }.put(&mut expected);
    assert_eq!(out, expected);
    assert_eq!(ServerReply::put_bytes(&mut out, 100, true, |_| Err(7)), Err(7));
    assert_eq!(out, expected, "nothing of a failed one stays");
}
