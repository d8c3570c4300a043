//! Fuzz targets of the layers' formats; `lib.rs` has the others.
//!
//! A file of its own, as the tests of the measuring side must not link a layer. Shared by the fuzz
//! targets and by `tests/fuzz_smoke/layers.rs`.

mod credentials;

use bakeoff_layers_agent::message;
use bakeoff_layers_base::manifest::{load, text};
use bakeoff_layers_credentials::audit::{
    AuditFaultKind, Checkpoint, DecisionRecord, LogEnd, MOST_FINDINGS, SegmentReader,
};
use bakeoff_layers_mac::access::Access;
use bakeoff_layers_mac::log::record::{AuditRecord, RecordContent, parse};
use bakeoff_layers_mac::log::{DomainEvent, Gather, LoggedAccess, Whose};
use bakeoff_layers_mac::policy::disk::{self, PathState};
use bakeoff_layers_mac::policy::{Lets, Policy, PolicyError};
use bakeoff_layers_police::explain::{connection, request};
use bakeoff_layers_police::reference::head::{After, head};
use bakeoff_layers_police::reference::{self, Flow, Police, TcpSegment};
use bakeoff_layers_police::rules::table::READ;
use bakeoff_layers_police::rules::{Rules, RulesError};
use bakeoff_layers_remotefs::frame::{ClientRequest, HEAD_BYTES, MessageHead, ServerReply};
use bakeoff_layers_store::{BlockSize, FileHeader, NodeId, NodeKind, Tree};
use std::os::unix::ffi::OsStringExt;

/// A target: its name, which is also its folder of seeds, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets of the layers.
pub const TARGETS: [Target; 10] = [
    ("manifest", manifest),
    ("vault", vault),
    ("mac_policy", mac_policy),
    ("mac_audit", mac_audit),
    ("police_rules", police_rules),
    ("police_head", police_head),
    ("credentials", credentials),
    ("remotefs_frame", remotefs_frame),
    ("agent_message", agent_message),
    ("audit_segment", audit_segment),
];

/// A HELLO, statement, trust bundle or access list that is read is written again the same.
pub fn credentials(data: &[u8]) {
    credentials::try_any(data);
}

/// A manifest that is read is written again the same, every file is found by its path, and no path leads out of the
/// tree. The signature is skipped: the parser must not rely on it.
pub fn manifest(data: &[u8]) {
    let manifest = match load::parse_unverified(data.to_vec()) {
        Ok(manifest) => manifest,
        Err(refusal) => {
            assert!(!refusal.name().is_empty() && !refusal.to_string().is_empty());
            return;
        }
    };
    let entries: Vec<_> = manifest.entries().collect();
    assert_eq!(entries.len(), manifest.len(), "an entry that was read once is read again");
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(manifest.find(entry.path.as_bytes()), Some(index));
        assert!(!entry.path.starts_with('/') && entry.path.split('/').all(|part| part != ".."));
    }
    assert_eq!(text(manifest.header(), entries.into_iter()), data);
}

/// A header that is read is written again the same; a list of files that is read is a tree.
///
/// The first eight bytes of a list are the end of its last file according to the header.
pub fn vault(data: &[u8]) {
    if let Ok(header) = FileHeader::decode(data) {
        assert_eq!(data.get(..4096), Some(header.encode().as_slice()));
    }
    let Some((total, list)) = data.split_first_chunk() else { return };
    if let Ok(tree) = Tree::decode(list, BlockSize::DEFAULT, u64::from_le_bytes(*total)) {
        assert_tree(&tree, u64::from_le_bytes(*total));
    }
}

/// Every node is found by its name, once; files lie one behind the other, less than a block apart, in no more blocks
/// than they need.
fn assert_tree(tree: &Tree, stream_bytes: u64) {
    let payload = BlockSize::DEFAULT.payload_bytes() as u64;
    let (mut next_byte, mut children) = (0, 0);
    for (id, node) in tree.nodes() {
        children += tree.children(node).count();
        if let Some(at) = tree.data_at(node) {
            assert!(at >= next_byte && at - next_byte < payload, "a file begins where the last one ended");
            let blocks = (at + node.size).div_ceil(payload) - at / payload;
            assert!(node.size == 0 || blocks == node.size.div_ceil(payload), "{blocks} for {}", node.size);
            next_byte = at + node.size;
        }
        assert_eq!(node.kind == NodeKind::Link, !tree.target(node).is_empty());
        if id == NodeId::ROOT {
            assert_eq!(node.kind, NodeKind::Directory);
            continue;
        }
        let parent = tree.parent(node);
        assert!(parent < id, "a directory stands before what is in it");
        let found = tree.node(parent).and_then(|parent| tree.child(parent, tree.name(node)));
        assert_eq!(found, Some(id), "{}", tree.path(id));
    }
    assert_eq!(next_byte, stream_bytes);
    assert_eq!(children + 1, tree.len().max(1), "each node but the root is somebody's child");
}

/// A text is a policy that grants at every typed path exactly what its domain's rules for that type say, with a
/// reason for everything; or it has faults with lines of the text.
pub fn mac_policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let look = |path: &std::path::Path| PathState {
        path: path.components().collect(),
        kind: disk::ObjectKind::Directory,
        others: Vec::new(),
    };
    let policy = match Policy::of_text(text, "policy", &Lets::default(), &look) {
        Ok(policy) => policy,
        Err(PolicyError::Wrong(faults)) => {
            assert!(!faults.is_empty(), "nothing is wrong, and there is no policy");
            for fault in faults {
                let last = text.matches('\n').count() + 1;
                assert!((1..=last).contains(&fault.line) && !fault.sentence.is_empty(), "{fault}");
            }
            return;
        }
        Err(other) => panic!("{other}"),
    };
    for grant in policy.grants() {
        for typed in &grant.types {
            let rule = grant.files.iter().find(|file| file.path == typed.path);
            for access in Access::ALL {
                let because = grant.because(&typed.path, access);
                assert_eq!(
                    because.granted,
                    rule.is_some_and(|rule| rule.accesses.has(access)),
                    "{}",
                    because.reason
                );
                assert_eq!(because.label, Some(typed.label.as_str()));
            }
        }
    }
}

/// Lines of a record's type and text, as the kernel sends them: no event is reported without its record, and any name
/// comes out of the record as it went in.
pub fn mac_audit(data: &[u8]) {
    let mut gather = Gather::new(Whose::Any, "/usr/bin/bakeoff-layers".as_ref());
    let (mut read, mut told) = (0, 0);
    let mut tell = |event: DomainEvent| told += usize::from(matches!(event, DomainEvent::Refused { .. }));
    for line in data.split(|byte| *byte == b'\n') {
        let Some((kind, text)) = line.split_first_chunk::<4>() else { continue };
        let kind = str::from_utf8(kind).ok().and_then(|kind| kind.parse().ok());
        let Some(record) = kind.and_then(|kind| parse(kind, text.trim_ascii_start())) else { continue };
        read +=
            usize::from(matches!(record.told, RecordContent::Refused { .. } | RecordContent::Call { .. }));
        gather.take(record, &mut tell);
    }
    gather.flush(&mut tell);
    assert!(told <= read, "{told} refusals of {read} records");
    let name = data.get(..data.len().min(255)).unwrap_or_default();
    let hex: String = name.iter().map(|byte| format!("{byte:02X}")).collect();
    let text = format!("audit(1.000:2): domain=a blockers=fs.read_file path={hex} dev=\"vda\" ino=1");
    let wanted = vec![LoggedAccess::File(Access::Read, std::ffi::OsString::from_vec(name.to_vec()).into())];
    let expected = AuditRecord { t_ms: 1000, serial: 2, told: RecordContent::Refused { domain: 10, wanted } };
    assert_eq!(parse(1423, text.as_bytes()), Some(expected));
}

/// A text is rules, each of which decides about what it is written for; or it has faults with lines.
pub fn police_rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let rules = match Rules::of_text(text, "rules") {
        Ok(rules) => rules,
        Err(RulesError::Wrong(faults)) => {
            assert!(!faults.is_empty(), "nothing is wrong, and there are no rules");
            for fault in faults {
                let last = text.matches('\n').count() + 1;
                assert!((1..=last).contains(&fault.line) && !fault.sentence.is_empty(), "{fault}");
            }
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let table = &rules.table;
    let police = Police::new(table);
    for source in &table.sources {
        let (from, to) = (source.prefix.address(), source.to.map(|to| to.address()));
        let found = police
            .source(from, to.unwrap_or(from))
            .and_then(|id| table.sources.iter().find(|of| of.rule == id));
        assert!(found.is_some_and(|found| found.prefix.length() >= source.prefix.length()));
        let because = connection(&rules, from, to, table.ports[0]);
        assert!(because.reason.starts_with(&format!("{from} is in ")), "{}", because.reason);
    }
    for (path, rule) in &table.exact {
        assert_eq!(police.path(path), Some(*rule));
        let because = request(&rules, &format!("GET {} HTTP/1.1", String::from_utf8_lossy(path)));
        let line = table.rule(*rule).map_or(0, |rule| rule.line);
        assert!(because.reason.contains(&format!("(rules:{line})")), "{}", because.reason);
    }
    let mut names: Vec<&str> = table.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.contains(char::is_whitespace)), "{names:?}");
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
}

/// Any segments are accepted. A plain head is one request to `httparse`, with the same path, and ends at the same
/// byte.
pub fn police_head(data: &[u8]) {
    let found = head(data);
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(path) = found.plain {
        let (line, mut fields) = ([line, b"\n\r\n"].concat(), []);
        let mut request = httparse::Request::new(&mut fields);
        let whole = line.ends_with(b"\r\n\r\n");
        assert!(!whole || request.parse(&line).is_ok_and(|status| status.is_complete()), "{request:?}");
        let target =
            request.path.filter(|_| whole).map(|target| target.split('?').next().unwrap_or_default());
        assert!(target.is_none_or(|target| target.as_bytes() == path), "{target:?}");
    }
    let mut fields = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut fields);
    if let (Some(_), Ok(httparse::Status::Complete(end)), true) =
        (found.plain, request.parse(data), data.len() <= READ)
    {
        match found.after {
            After::Head | After::Body(_) => assert!(end <= data.len()),
            After::Unread(_) | After::Long(_) => {}
            After::Odd => panic!("plain, and odd after it"),
        }
    }
    let at = data.first().map_or(0, |at| usize::from(*at).min(data.len()));
    let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let flow = Flow { source: address, source_port: 1, destination: address, port: 80 };
    let rules = Rules::of_text("[server]\nlisten = 80\n[[request]]\npath = \"/x\"\n", "rules");
    let Ok(Rules { table, .. }) = rules else { panic!("the rules of this target have faults") };
    let mut police = Police::new(&table);
    let mut sequence = u32::MAX - 9;
    for payload in [&data[..at], &data[at..]] {
        let told = police.segment(0, &TcpSegment { flow, sequence, payload, next: Some(sequence) });
        let plain = head(payload).plain.is_some();
        assert!(told.seen != reference::PacketKind::Plain || plain, "{told:?}");
        sequence = sequence.wrapping_add(payload.len() as u32);
    }
}

/// A frame that is read, as a request or as an answer, is written again the same.
pub fn remotefs_frame(data: &[u8]) {
    let Ok(head) = MessageHead::read(data) else { return };
    let end = HEAD_BYTES + head.length as usize;
    let (Some(frame), Some(body)) = (data.get(..end), data.get(HEAD_BYTES..end)) else { return };
    let mut again = Vec::new();
    if let Ok(request) = ClientRequest::read(&head, body) {
        request.put(&mut again);
        assert_eq!(again, frame, "{request:?}");
    }
    again.clear();
    if let Ok(answer) = ServerReply::read(&head, body) {
        answer.put(&mut again);
        assert_eq!(again, frame, "{answer:?}");
    }
}

/// A question to an agent, or an answer, that is read is written again the same.
pub fn agent_message(data: &[u8]) {
    match message::AgentRequest::read(data) {
        Ok(question) => assert_eq!(question.write(), data, "{question:?}"),
        Err(no) => assert!(!no.name().is_empty() && !no.to_string().is_empty()),
    }
    if let Ok(answer) = message::AgentReply::read(data) {
        assert_eq!(answer.write(), data, "{answer:?}");
    }
}

/// A record that is read is written again the same from its decision, and so is a segment without findings. Every
/// finding has a place in the segment. An extra record, or another link at the end, is never overlooked.
pub fn audit_segment(data: &[u8]) {
    if let Some(record) = DecisionRecord::read(data).filter(|record| record.number < u64::MAX) {
        let again = rewritten(LogEnd { size: record.number, link: [0; 32] }, &[record]).0;
        assert_eq!(again.get(4..again.len() - 32), Some(data));
    }
    let start = LogEnd::of_head(data).map_or(LogEnd { size: 0, link: [0; 32] }, |(start, _)| start);
    let read = |checkpoints| {
        let (mut reader, mut records) = (SegmentReader::new(start, checkpoints), Vec::new());
        reader.segment(0, data, |record| records.push(record));
        (reader.end(), records)
    };
    let ((end, half, findings), records) = read(Vec::new());
    assert!(findings.len() <= MOST_FINDINGS + 1, "{}", findings.len());
    assert!(findings.iter().all(|found| found.offset <= data.len() as u64), "{findings:?}");
    if end.size == u64::MAX {
        return;
    }
    if findings.is_empty() {
        let (frames, last) = rewritten(start, &records);
        let whole = data.len() - half.map_or(0, |half| half.bytes as usize);
        assert_eq!((last, [start.head(), frames].concat().as_slice()), (end, &data[..whole]));
    }
    let finds = |other: LogEnd, wrong: &AuditFaultKind| {
        let ((_, _, findings), _) = read(vec![Checkpoint(other)]);
        assert!(findings.iter().any(|found| found.wrong == *wrong), "{wrong:?} is not in {findings:?}");
    };
    finds(LogEnd { size: end.size + 1, ..end }, &AuditFaultKind::Cut { have: end.size, said: end.size + 1 });
    finds(LogEnd { link: end.link.map(|byte| !byte), ..end }, &AuditFaultKind::Rewritten(end.size));
}

/// The frames of these decisions, and their end.
fn rewritten(mut chain: LogEnd, records: &[DecisionRecord]) -> (Vec<u8>, LogEnd) {
    let mut frames = Vec::new();
    for record in records {
        let added = chain.add(&record.decision, record.unwritten, &mut frames);
        assert!(added.is_ok(), "what was read is too long: {record:?}");
    }
    (frames, chain)
}
