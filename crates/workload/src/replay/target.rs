//! Parts of a request target: form, bytes, encoding, segments.
//!
//! Hot between slices. Owns the rules that each part of a target must keep; `classify` puts them
//! in order.

use super::SkipReason;
use memchr::{memchr, memmem};

/// The longest target: below the default limits of nginx (8 KiB a line) and Apache (8190 bytes).
const TARGET_MAX: usize = 8000;
/// The longest decoded path: leaves 1 KiB of the system's 4096 for the directory of the site.
const PATH_MAX: usize = 3072;
/// The longest name in a directory.
const NAME_MAX: usize = 255;

/// Path and query, without scheme, host and fragment. An empty path becomes `/`, marked by the
/// result starting with `?` or being empty.
pub(super) fn origin_form(target: &[u8]) -> Result<&[u8], SkipReason> {
    let rest = match target.first() {
        Some(b'/') => target,
        _ => {
            let colon = memmem::find(target, b"://").ok_or(SkipReason::NotAPath)?;
            let scheme = &target[..colon];
            if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
                return Err(SkipReason::NotAPath);
            }
            let after = &target[colon + 3..];
            let end = after.iter().position(|b| b"/?#".contains(b)).unwrap_or(after.len());
            &after[end..]
        }
    };
    Ok(memchr(b'#', rest).map_or(rest, |end| &rest[..end]))
}

/// Copies a target, with everything percent-encoded that may not stand in it raw.
pub(super) fn encode_target(target: &[u8], out: &mut Vec<u8>) -> Result<(), SkipReason> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if target.first() != Some(&b'/') {
        out.push(b'/');
    }
    let mut rest = target;
    while let Some(at) = rest.iter().position(|&b| !RAW[usize::from(b)]) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            0 => return Err(SkipReason::Nul),
            b' ' => return Err(SkipReason::Space),
            0x01..0x20 | 0x7f => return Err(SkipReason::Control),
            b => out.extend([b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    if out.len() > TARGET_MAX { Err(SkipReason::TargetTooLong) } else { Ok(()) }
}

/// The bytes that may stand in a target as they are: RFC 3986, and the brackets that clients send.
const RAW: [bool; 256] = {
    let mut raw = [false; 256];
    let mut b = b'!';
    while b < 0x7f {
        raw[b as usize] = !matches!(b, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}');
        b += 1;
    }
    raw
};

/// The path of a target, percent-decoded.
pub(super) fn decode_path(target: &[u8], out: &mut Vec<u8>) -> Result<(), SkipReason> {
    let end = memchr(b'?', target).unwrap_or(target.len());
    let mut rest = &target[..end];
    while let Some(at) = memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let digit = |place: usize| rest.get(at + place).and_then(|&b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(1), digit(2)) else { return Err(SkipReason::BadPercent) };
        match (high * 16 + low) as u8 {
            0 => return Err(SkipReason::Nul),
            b'/' => return Err(SkipReason::EncodedSlash),
            0x01..0x20 | 0x7f => return Err(SkipReason::Control),
            byte => out.push(byte),
        }
        rest = &rest[at + 3..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Whether a path names things once, or has repeated slashes or `.` segments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Normal {
    Yes,
    No,
}

/// Refuses paths that cannot be a file of the site. `path` starts with a slash.
pub(super) fn check_segments(path: &[u8]) -> Result<Normal, SkipReason> {
    if path.len() > PATH_MAX {
        return Err(SkipReason::PathTooLong);
    }
    let mut normal = Normal::Yes;
    let mut rest = path.get(1..).unwrap_or(&[]);
    while let Some(end) = memchr(b'/', rest) {
        let segment = &rest[..end];
        check_segment(segment)?;
        match segment {
            b"index.html" => return Err(SkipReason::IndexAsDirectory),
            b"" | b"." => normal = Normal::No,
            _ => {}
        }
        rest = &rest[end + 1..];
    }
    check_segment(rest)?;
    if rest == b"." {
        normal = Normal::No;
    }
    std::str::from_utf8(path).map(|_| normal).map_err(|_| SkipReason::NotUtf8)
}

fn check_segment(segment: &[u8]) -> Result<(), SkipReason> {
    match segment {
        b".." => Err(SkipReason::ParentDirectory),
        [b'.', b'h', b't', ..] => Err(SkipReason::ServerFile),
        _ if segment.len() > NAME_MAX => Err(SkipReason::NameTooLong),
        _ => Ok(()),
    }
}
