//! Oracle for heads of replies: `httparse`, run from the start of the head whenever a line has come.
//!
//! Used by the tests beside it and by the fuzz target `reply`. Slow and plain: the reader of `bakeoff_wire` is compared
//! with it, so it shares nothing with it but the types.

use bakeoff_wire::http1::{
    ContentCoding, Framing, HttpVersion, MAX_HEAD_BYTES, MAX_HEADERS, ReplyError, ReplyHead, ReplyReader,
    ReplyStep,
};

/// The final head and how many bytes were used up to its end, or that more must come.
pub(crate) type Outcome = Result<Option<(usize, ReplyHead)>, ReplyError>;

/// Outcome of our reader.
pub(crate) fn ours(pieces: &[&[u8]], to_head: bool) -> Outcome {
    let mut reader = ReplyReader::default();
    reader.begin(to_head);
    let mut before = 0;
    for piece in pieces {
        match reader.step(piece)? {
            ReplyStep::More => before += piece.len(),
            ReplyStep::Head(used, head) => return Ok(Some((before + used, head))),
            other => panic!("{other:?} before a head"),
        }
    }
    Ok(None)
}

/// Outcome of `httparse`, tried on the first piece and whenever a piece holds a line feed.
pub(crate) fn httparse(pieces: &[&[u8]], to_head: bool) -> Outcome {
    let (mut known, mut used): (Vec<u8>, usize) = (Vec::new(), 0);
    for piece in pieces {
        let first = known.is_empty();
        known.extend_from_slice(piece);
        if !first && !piece.contains(&b'\n') {
            too_large(&known)?;
            continue;
        }
        loop {
            if !first {
                known.truncate(MAX_HEAD_BYTES + 1);
            }
            let Some((length, head)) = head(&known, to_head)? else {
                too_large(&known)?;
                break;
            };
            used += length;
            if let Some(head) = head {
                return Ok(Some((used, head)));
            }
            known.drain(..length);
            if known.is_empty() {
                break;
            }
        }
    }
    Ok(None)
}

fn too_large(known: &[u8]) -> Result<(), ReplyError> {
    if known.len() > MAX_HEAD_BYTES { Err(ReplyError::HeadTooLarge) } else { Ok(()) }
}

/// A head's length, and its contents if it is a final one.
type Whole = (usize, Option<ReplyHead>);

fn head(bytes: &[u8], to_head: bool) -> Result<Option<Whole>, ReplyError> {
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut reply = httparse::Response::new(&mut lines);
    let length = match reply.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length > MAX_HEAD_BYTES => {
            return Err(ReplyError::HeadTooLarge);
        }
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ReplyError::HeadTooLarge),
        Err(_) => return Err(ReplyError::Syntax),
    };
    let status = reply.code.expect("a complete head has a status");
    match status {
        0..100 => return Err(ReplyError::Syntax),
        101 => return Err(ReplyError::Upgrade),
        100..200 => return Ok(Some((length, None))),
        _ => {}
    }
    let (content_length, chunked) = lengths(reply.headers)?;
    let framing = match (chunked, content_length) {
        _ if to_head || status == 204 || status == 304 => Framing::None,
        (true, Some(_)) => return Err(ReplyError::Length),
        (true, None) => Framing::Chunked,
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::UntilClose,
    };
    let version = if reply.version == Some(0) { HttpVersion::Http10 } else { HttpVersion::Http11 };
    let (close, keep) = (option(reply.headers, b"close"), option(reply.headers, b"keep-alive"));
    let keep_alive = !close && (keep || version == HttpVersion::Http11) && framing != Framing::UntilClose;
    let (coding, head_bytes) = (coding(reply.headers), length as u64);
    let head = ReplyHead { status, version, framing, content_length, coding, keep_alive, head_bytes };
    Ok(Some((length, Some(head))))
}

fn lengths(lines: &[httparse::Header<'_>]) -> Result<(Option<u64>, bool), ReplyError> {
    let (mut content_length, mut chunked) = (None, false);
    for line in lines {
        if line.name.eq_ignore_ascii_case("content-length") {
            for item in line.value.split(|&byte| byte == b',') {
                let digits = std::str::from_utf8(item.trim_ascii()).unwrap_or_default();
                let right = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                let number = digits.parse().ok().filter(|_| right).ok_or(ReplyError::Length)?;
                if *content_length.get_or_insert(number) != number {
                    return Err(ReplyError::Length);
                }
            }
        }
        if line.name.eq_ignore_ascii_case("transfer-encoding") {
            if chunked || !line.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(ReplyError::Coding);
            }
            chunked = true;
        }
    }
    Ok((content_length, chunked))
}

/// All lines together, `identity` left out.
fn coding(lines: &[httparse::Header<'_>]) -> ContentCoding {
    let lines = lines.iter().filter(|line| line.name.eq_ignore_ascii_case("content-encoding"));
    let items = lines.flat_map(|line| line.value.split(|&byte| byte == b','));
    let names: Vec<_> = items.map(|item| item.trim_ascii().to_ascii_lowercase()).collect();
    let codings = names.iter().filter(|name| !name.is_empty() && *name != b"identity");
    match codings.collect::<Vec<_>>().as_slice() {
        [] => ContentCoding::Identity,
        [one] if *one == b"gzip" || *one == b"x-gzip" => ContentCoding::Gzip,
        [one] if *one == b"br" => ContentCoding::Brotli,
        [one] if *one == b"zstd" => ContentCoding::Zstd,
        _ => ContentCoding::Other,
    }
}

fn option(lines: &[httparse::Header<'_>], wanted: &[u8]) -> bool {
    lines.iter().filter(|line| line.name.eq_ignore_ascii_case("connection")).any(|line| {
        line.value.split(|&byte| byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(wanted))
    })
}
