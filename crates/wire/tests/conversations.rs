//! Runs every conversation of tests/wire; the README there describes the format.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use bakeoff_wire::http1::{ReplyError, ReplyReader, ReplyStep};
use std::path::Path;

#[derive(Default)]
struct Conversation {
    name: String,
    to_head: bool,
    to_connect: bool,
    bytes: Vec<u8>,
    eof: bool,
    outcome: Vec<String>,
}

#[test]
fn every_conversation_ends_as_written_however_it_is_split() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "wire") {
            for conversation in parse(&std::fs::read_to_string(&path).unwrap()) {
                check(&conversation, &path);
                count += 1;
            }
        }
    }
    assert!(count >= 40, "only {count} conversations were found");
}

fn check(conversation: &Conversation, path: &Path) {
    let bytes = &conversation.bytes;
    let run = |pieces: &[&[u8]], how: &str| {
        let found = play(conversation, pieces);
        assert_eq!(found, conversation.outcome, "{}: {}: {how}", path.display(), conversation.name);
    };
    run(&[bytes], "all at once");
    let every = if bytes.len() > 5_000 { 977 } else { 1 };
    for split in (1..bytes.len()).step_by(every) {
        run(&[&bytes[..split], &bytes[split..]], &format!("split at {split}"));
    }
    run(&bytes.chunks(1).collect::<Vec<_>>(), "byte by byte");
}

/// A client's view of the pieces, in the words of the files.
fn play(conversation: &Conversation, pieces: &[&[u8]]) -> Vec<String> {
    let mut reader = ReplyReader::default();
    match conversation.to_connect {
        true => reader.begin_connect(),
        false => reader.begin(conversation.to_head),
    }
    let (mut status, mut keep, mut body, mut over, mut surplus) = (0, false, Vec::new(), false, 0);
    for piece in pieces {
        let mut rest = *piece;
        while !over {
            match reader.step(rest) {
                Ok(ReplyStep::More) => {
                    rest = &[];
                    break;
                }
                Ok(ReplyStep::Head(used, head)) => {
                    (status, keep) = (head.status, head.keep_alive);
                    rest = &rest[used..];
                }
                Ok(ReplyStep::Body { skip, len }) => {
                    body.extend_from_slice(&rest[skip..skip + len]);
                    rest = &rest[skip + len..];
                }
                Ok(ReplyStep::End(used)) => {
                    rest = &rest[used..];
                    over = true;
                }
                Err(error) => return vec![format!("error {}", label(error))],
            }
        }
        surplus += rest.len();
    }
    over |= conversation.eof && status != 0 && reader.ends_with_close();
    if !over {
        return vec!["more".to_owned()];
    }
    let word = if keep { "keep" } else { "close" };
    let mut found = vec![format!("{status} {:?} {word}", String::from_utf8(body).unwrap())];
    if surplus > 0 {
        found.push(format!("surplus {surplus}"));
    }
    found
}

fn label(error: ReplyError) -> &'static str {
    match error {
        ReplyError::Syntax => "syntax",
        ReplyError::HeadTooLarge => "too-large",
        ReplyError::Length => "length",
        ReplyError::Coding => "coding",
        ReplyError::Chunk => "chunk",
        ReplyError::Upgrade => "upgrade",
    }
}

fn parse(text: &str) -> Vec<Conversation> {
    let mut all = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let mut one = Conversation::default();
        for line in block.lines() {
            let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
            match mark {
                "#" => one.name = rest.to_owned(),
                ">" => (one.to_head, one.to_connect) = (rest == "HEAD", rest == "CONNECT"),
                "<" if rest == "EOF" => one.eof = true,
                "<" => one.bytes.extend(unescape(rest)),
                "<*" => {
                    let (times, byte) = rest.split_once(' ').unwrap();
                    one.bytes.extend(byte.repeat(times.parse().unwrap()).into_bytes());
                }
                "=" => one.outcome.push(rest.to_owned()),
                _ => panic!("no such line: {line}"),
            }
        }
        assert!(!one.outcome.is_empty(), "no outcome: {}", one.name);
        all.push(one);
    }
    all
}

fn unescape(text: &str) -> Vec<u8> {
    let (mut bytes, mut chars) = (Vec::new(), text.chars());
    while let Some(c) = chars.next() {
        if c != '\\' {
            bytes.extend(c.to_string().into_bytes());
            continue;
        }
        match chars.next().unwrap() {
            'r' => bytes.push(b'\r'),
            'n' => bytes.push(b'\n'),
            '\\' => bytes.push(b'\\'),
            'x' => {
                let hex: String = chars.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&hex, 16).unwrap());
            }
            other => panic!("no such escape: \\{other}"),
        }
    }
    bytes
}
