//! Content codings (RFC 9110 sections 8.4 and 12.5.3): the coding of a message, and whether a request accepts gzip.
//!
//! Both sides of the wall. Runs where a message has such a line, which most have not; reads untrusted input: no
//! allocation. Codes and decodes nothing.

use super::items;

/// The coding of a message's bytes, as its `Content-Encoding` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// They are the object's own.
    #[default]
    Identity,
    /// `gzip`, once; or `x-gzip`, which is the same.
    Gzip,
    /// `br`, once.
    Brotli,
    /// `zstd`, once.
    Zstd,
    /// Any other one, or several.
    Other,
}

impl ContentCoding {
    /// Takes in one more line of the field.
    pub fn read(&mut self, value: &[u8]) {
        for coding in items(value) {
            *self = match *self {
                known if coding.eq_ignore_ascii_case(b"identity") => known,
                Self::Identity if is_gzip(coding) => Self::Gzip,
                Self::Identity if coding.eq_ignore_ascii_case(b"br") => Self::Brotli,
                Self::Identity if coding.eq_ignore_ascii_case(b"zstd") => Self::Zstd,
                _ => Self::Other,
            };
        }
    }
}

/// The acceptance of gzip in the `Accept-Encoding` of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptEncoding {
    /// By its name.
    gzip: Option<bool>,
    /// By `*`, which counts for codings that are not named.
    any: Option<bool>,
}

impl AcceptEncoding {
    /// Takes in one more line of the field. A coding that is refused once is refused.
    pub fn read(&mut self, value: &[u8]) {
        for item in items(value) {
            let mut parts = item.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            let said = match parts.next().unwrap_or_default() {
                b"*" => &mut self.any,
                coding if is_gzip(coding) => &mut self.gzip,
                _ => continue,
            };
            let accepted = !parts.any(weighs_nothing);
            *said = Some(said.unwrap_or(true) && accepted);
        }
    }

    /// Whether gzip may be sent. Without the field, and with an empty one, it may not: a client that wants it says so.
    pub fn gzip(self) -> bool {
        self.gzip.or(self.any).unwrap_or(false)
    }
}

fn is_gzip(coding: &[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
}

/// Whether this parameter is a weight of 0, or one that is no number: then the coding is not accepted.
fn weighs_nothing(parameter: &[u8]) -> bool {
    let is_weight = |name: &[u8]| name.trim_ascii().eq_ignore_ascii_case(b"q");
    match parameter.iter().position(|&byte| byte == b'=') {
        Some(at) if is_weight(&parameter[..at]) => {
            !parameter[at..].iter().any(|digit| matches!(digit, b'1'..=b'9'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_coding_is_known_by_its_name_and_several_are_not() {
        let of = |lines: &[&str]| {
            let mut coding = ContentCoding::default();
            lines.iter().for_each(|line| coding.read(line.as_bytes()));
            coding
        };
        for lines in [&[][..], &[""], &["identity"], &[" , "]] {
            assert_eq!(of(lines), ContentCoding::Identity, "{lines:?}");
        }
        for lines in [&["gzip"][..], &["X-GZip"], &["identity, gzip"], &["gzip", "identity"], &[" gzip ,"]] {
            assert_eq!(of(lines), ContentCoding::Gzip, "{lines:?}");
        }
        assert_eq!([of(&["BR"]), of(&["zstd, identity"])], [ContentCoding::Brotli, ContentCoding::Zstd]);
        for lines in [
            &["deflate"][..],
            &["gzip, gzip"],
            &["br, br"],
            &["zstd", "gzip"],
            &["gzip", "br"],
            &["br", "gzip"],
            &["gzipped"],
        ] {
            assert_eq!(of(lines), ContentCoding::Other, "{lines:?}");
        }
    }

    #[test]
    fn gzip_is_accepted_by_name_or_by_star_unless_it_weighs_nothing() {
        for (lines, accepted) in [
            (&[][..], false),
            (&[""], false),
            (&["gzip"], true),
            (&["GZIP"], true),
            (&["x-gzip"], true),
            (&["br, deflate"], false),
            (&["deflate, gzip;q=1.0, *;q=0.5"], true),
            (&["gzip;q=0"], false),
            (&["gzip; Q=0.000"], false),
            (&["gzip ; q=0.001"], true),
            (&["gzip;q=much"], false),
            (&["gzip;level=0"], true),
            (&["*"], true),
            (&["*;q=0"], false),
            (&["gzip, *;q=0"], true),
            (&["*, gzip;q=0"], false),
            (&["identity;q=0, *"], true),
            (&["br", "gzip"], true),
            (&["gzip", "gzip;q=0"], false),
            (&["gzipped, my-gzip"], false),
        ] {
            let mut accept = AcceptEncoding::default();
            lines.iter().for_each(|line| accept.read(line.as_bytes()));
            assert_eq!(accept.gzip(), accepted, "{lines:?}");
        }
    }
}
