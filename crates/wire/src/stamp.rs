//! `X-Bakeoff`, the header field by which bakeoff recognizes its own messages behind a cache.
//!
//! Both sides of the wall, hot: no allocation beyond the buffer that is written to. Owns the grammar of the values.
//! Does not know what an object is (its id is bytes here), nor what follows from a stamp.
//!
//! In a run whose names are drawn the field and each word below are others ([`Words`]). A request says `ask=<16 hex>`, a number that no other request of the run has and that is never 0. The origin repeats
//! it in a reply that it made (`made=`), or in a 304 (`valid=`), which a cache puts into the reply that it stored (RFC
//! 9111 section 3.2). So the client sees for which request the reply was made.
//!
//! An origin that serves a site numbers its replies instead (`serial=<16 hex>`), whatever is asked: the first reply
//! with a number was fetched, and each further one with the same number came from a store. A 304 has none, so that a
//! stored reply keeps the number that it was made with.

use crate::digits::{decimal, parse_hex16, push_decimal, push_hex16};
use crate::http1::fields;

/// Name of the header field.
pub const NAME: &str = "X-Bakeoff";

const SERIAL: &[u8] = b"serial=";

/// The words of stamps; the default is that of runs whose names are not drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Name of the field.
    pub field: String,
    /// Name of a field that concerns one connection alone: `Connection` lists it, and an intermediary removes both (RFC
    /// 9110 section 7.6.1).
    pub hop: String,
    ask: String,
    made: String,
    valid: String,
    object: String,
    version: String,
    posted: String,
}

impl Default for Words {
    fn default() -> Self {
        let [field, hop] = [NAME, "X-Bakeoff-Hop"].map(str::to_owned);
        let values = ["ask=", "made=", "valid=", "object=", "version=", "post="];
        let [ask, made, valid, object, version, posted] = values.map(str::to_owned);
        Self { field, hop, ask, made, valid, object, version, posted }
    }
}

impl Words {
    /// Words that are drawn, each as long as its default, so that messages are too; `draw` makes one of so many letters.
    pub fn drawn(mut draw: impl FnMut(usize) -> String) -> Self {
        let Self { field, hop, ask, made, valid, object, version, posted } = Self::default();
        let [field, hop] = [field, hop].map(|name| draw(name.len()));
        let values = [ask, made, valid, object, version, posted].map(|word| draw(word.len() - 1) + "=");
        let [ask, made, valid, object, version, posted] = values;
        Self { field, hop, ask, made, valid, object, version, posted }
    }

    /// Writes the value of a request's field.
    pub fn write_ask(&self, ask: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.ask.as_bytes());
        push_hex16(ask, out);
    }

    /// The stamp in the value of a request's field; `None` when it is malformed, or 0, which no request has. Text behind
    /// a semicolon is passed over.
    pub fn parse_ask(&self, value: &[u8]) -> Option<u64> {
        let (first, _) = item(value);
        parse_hex16(first.strip_prefix(self.ask.as_bytes())?).filter(|&ask| ask != 0)
    }
}

/// Writes the value of a numbered reply's field.
pub fn write_serial(serial: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(SERIAL);
    push_hex16(serial, out);
}

/// The number of a reply whose head this is, status line and fields; `None` where it has none.
pub fn serial_of(head: &[u8]) -> Option<u64> {
    let (_, value) = fields(head).find(|(name, _)| name.eq_ignore_ascii_case(NAME.as_bytes()))?;
    let (first, _) = item(value);
    parse_hex16(first.strip_prefix(SERIAL)?)
}

/// The origin's action for the request of a stamp, which is 0 for requests without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginAction {
    /// It made this reply.
    Made(u64),
    /// It confirmed that a stored reply is still right.
    Valid(u64),
}

impl OriginAction {
    /// The stamp of the request.
    pub const fn stamp(self) -> u64 {
        match self {
            Self::Made(stamp) | Self::Valid(stamp) => stamp,
        }
    }
}

/// The body of a POST, as one end had it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upload {
    /// Its length.
    pub bytes: u64,
    /// CRC-32 of the bytes.
    pub crc: u32,
}

impl Upload {
    /// Takes in the bytes that follow.
    pub fn take(&mut self, more: &[u8]) {
        let mut crc = crc32fast::Hasher::new_with_initial_len(self.crc, self.bytes);
        crc.update(more);
        *self = Self { bytes: self.bytes + more.len() as u64, crc: crc.finalize() };
    }

    /// `<length>.<CRC, 16 hex>`
    fn parse(value: &[u8]) -> Option<Self> {
        let dot = value.iter().position(|&byte| byte == b'.')?;
        let (bytes, crc) = (decimal(value.get(..dot)?)?, parse_hex16(value.get(dot + 1..)?)?);
        Some(Self { bytes, crc: u32::try_from(crc).ok()? })
    }
}

/// The stamp of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyStamp<'a> {
    /// The request, and the action for it.
    pub told: OriginAction,
    /// The id of the object: at least one byte, no semicolon and no white space.
    pub object: &'a [u8],
    /// The object's version at that moment.
    pub version: u64,
    /// Of a POST, what came with it.
    pub posted: Option<Upload>,
}

impl<'a> ReplyStamp<'a> {
    /// Writes the value: `made=<16 hex>; object=<id>; version=<decimal>`, behind it `; post=<length>.<CRC>` for a POST.
    pub fn write(&self, words: &Words, out: &mut Vec<u8>) {
        let (word, stamp) = match self.told {
            OriginAction::Made(stamp) => (&words.made, stamp),
            OriginAction::Valid(stamp) => (&words.valid, stamp),
        };
        let next = |word: &String, out: &mut Vec<u8>| {
            out.extend_from_slice(b"; ");
            out.extend_from_slice(word.as_bytes());
        };
        out.extend_from_slice(word.as_bytes());
        push_hex16(stamp, out);
        next(&words.object, out);
        out.extend_from_slice(self.object);
        next(&words.version, out);
        push_decimal(self.version, out);
        if let Some(posted) = self.posted {
            next(&words.posted, out);
            push_decimal(posted.bytes, out);
            out.push(b'.');
            push_hex16(u64::from(posted.crc), out);
        }
    }

    /// Reads a value; `None` when it is none of bakeoff's. White space around its parts and text behind the version are
    /// passed over.
    pub fn parse(words: &Words, value: &'a [u8]) -> Option<Self> {
        let (first, rest) = item(value);
        let (second, rest) = item(rest);
        let (third, rest) = item(rest);
        let (fourth, _) = item(rest);
        let told = match first.strip_prefix(words.made.as_bytes()) {
            Some(stamp) => OriginAction::Made(parse_hex16(stamp)?),
            None => OriginAction::Valid(parse_hex16(first.strip_prefix(words.valid.as_bytes())?)?),
        };
        let object = second.strip_prefix(words.object.as_bytes())?;
        if object.is_empty() || object.iter().any(u8::is_ascii_whitespace) {
            return None;
        }
        Some(Self {
            told,
            object,
            version: decimal(third.strip_prefix(words.version.as_bytes())?)?,
            posted: fourth.strip_prefix(words.posted.as_bytes()).and_then(Upload::parse),
        })
    }
}

/// The first item of a list with semicolons, and the rest.
fn item(list: &[u8]) -> (&[u8], &[u8]) {
    let end = list.iter().position(|&byte| byte == b';').unwrap_or(list.len());
    let (first, rest) = list.split_at(end);
    (first.trim_ascii(), rest.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = b"w00000000000000aa.s0001.t02.n0000000000000003";

    fn written(stamp: &ReplyStamp<'_>) -> String {
        let mut out = Vec::new();
        stamp.write(&Words::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_is_stamped_and_read_again() {
        for ask in [1, 0xabc, 1 << 63, u64::MAX] {
            let mut out = Vec::new();
            Words::default().write_ask(ask, &mut out);
            assert_eq!(out, format!("ask={ask:016x}").into_bytes());
            assert_eq!(Words::default().parse_ask(&out), Some(ask));
        }
        assert_eq!(Words::default().parse_ask(b" ask=00000000000000AB ; more=1 "), Some(0xab));
    }

    #[test]
    fn drawn_words_are_as_long_as_the_known_ones_and_share_none() {
        let draw = |letter: char| Words::drawn(move |letters| letter.to_string().repeat(letters));
        let (words, others) = (draw('q'), draw('z'));
        let stamp = ReplyStamp {
            told: OriginAction::Valid(7),
            object: OBJECT,
            version: 3,
            posted: Some(Upload::default()),
        };
        let write = |words: &Words| {
            let (mut request, mut reply) = (Vec::new(), Vec::new());
            words.write_ask(7, &mut request);
            stamp.write(words, &mut reply);
            (request, reply)
        };
        let ((request, reply), plain) = (write(&words), write(&Words::default()));
        assert_eq!((request.len(), reply.len()), (plain.0.len(), plain.1.len()));
        assert_eq!((words.field.len(), words.hop.len()), (NAME.len(), "X-Bakeoff-Hop".len()));
        assert_eq!((words.parse_ask(&request), ReplyStamp::parse(&words, &reply)), (Some(7), Some(stamp)));
        for other in [others, Words::default()] {
            assert_eq!((other.parse_ask(&request), ReplyStamp::parse(&other, &reply)), (None, None));
        }
    }

    #[test]
    fn a_numbered_reply_is_known_again_whatever_stands_around_its_field() {
        let mut value = Vec::new();
        write_serial(0x1f, &mut value);
        let value = String::from_utf8(value).unwrap();
        for head in [
            format!("HTTP/1.1 200 OK\r\nAge: 3\r\nx-bakeoff: {value}\r\nVia: a\r\n\r\n"),
            format!("HTTP/1.1 200 OK\r\nX-Bakeoff:{value}; more\r\n\r\n"),
        ] {
            assert_eq!(serial_of(head.as_bytes()), Some(0x1f), "{head}");
        }
        for head in [
            format!("X-Bakeoff: {value}\r\n"),
            format!("HTTP/1.1 200 OK\r\nX-Bakeoff-Too: {value}\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nX-Bakeoff: serial=1\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nX-Bakeoff: made=000000000000001f\r\n\r\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(serial_of(head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn no_request_has_the_stamp_0_and_other_values_are_none() {
        for wrong in [
            "",
            "ask=",
            "ask=0000000000000000",
            "ask=1",
            "ask=00000000000000001",
            "ask=000000000000000g",
            "made=0000000000000001",
            "ask=000000000000+001",
        ] {
            assert_eq!(Words::default().parse_ask(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn replies_are_stamped_as_made_or_as_valid() {
        let made = ReplyStamp { told: OriginAction::Made(0xfe), object: OBJECT, version: 10, posted: None };
        let text = "made=00000000000000fe; object=w00000000000000aa.s0001.t02.n0000000000000003; version=10";
        assert_eq!(written(&made), text);
        let valid = ReplyStamp {
            told: OriginAction::Valid(u64::MAX),
            object: OBJECT,
            version: u64::MAX,
            posted: Some(Upload { bytes: 12, crc: 0xfe }),
        };
        for stamp in [made, valid, ReplyStamp { told: OriginAction::Made(0), version: 0, ..made }] {
            assert_eq!(ReplyStamp::parse(&Words::default(), written(&stamp).as_bytes()), Some(stamp));
        }
        let spaced = b"  valid=000000000000000a;object=x ;\tversion=7; later=more ";
        let expected = ReplyStamp { told: OriginAction::Valid(10), object: b"x", version: 7, posted: None };
        assert_eq!(ReplyStamp::parse(&Words::default(), spaced), Some(expected));
    }

    #[test]
    fn an_upload_is_the_same_in_whatever_pieces_it_comes() {
        let taken = |pieces: &[&[u8]]| {
            let mut upload = Upload::default();
            pieces.iter().for_each(|piece| upload.take(piece));
            upload
        };
        // The check value of CRC-32.
        assert_eq!(taken(&[b"123456789"]), Upload { bytes: 9, crc: 0xcbf4_3926 });
        assert_eq!(taken(&[b"1234", b"", b"56789"]), taken(&[b"123456789"]));
        assert_ne!(taken(&[b"12345678"]), taken(&[b"12345679"]));
        for wrong in ["", ".", "1.", "1", "x.0000000000000001", "1.0000000100000000"] {
            assert_eq!(Upload::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn values_of_others_are_no_stamps() {
        for wrong in [
            "",
            "made=00000000000000fe",
            "made=00000000000000fe; object=; version=1",
            "made=00000000000000fe; object=a b; version=1",
            "made=00000000000000fe; object=a; version=",
            "made=00000000000000fe; object=a; version=-1",
            "made=00000000000000fe; object=a; version=18446744073709551616",
            "made=fe; object=a; version=1",
            "ask=00000000000000fe; object=a; version=1",
            "object=a; made=00000000000000fe; version=1",
        ] {
            assert_eq!(ReplyStamp::parse(&Words::default(), wrong.as_bytes()), None, "{wrong}");
        }
    }
}
