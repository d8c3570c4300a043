//! Plain and odd heads, against a second parser that reads whole heads slowly.

use bakeoff_layers_police::reference::head::{After, head, rest};
use bakeoff_layers_police::rules::table::READ;
use proptest::prelude::*;

/// A plain head by the definition in the documents: its path, its length, its Content-Length if it can have one, and 0 always.
pub(crate) fn slow(bytes: &[u8]) -> Option<(String, usize, u32)> {
    let text = bytes.is_ascii().then(|| std::str::from_utf8(bytes).ok())??;
    let (whole, _) = text.split_once("\r\n\r\n")?;
    let lines: Vec<&str> = whole.split("\r\n").collect();
    if lines.iter().any(|line| line.contains(['\r', '\n']) || line.starts_with([' ', '\t'])) {
        return None;
    }
    let [method, target, version] = lines[0].split(' ').collect::<Vec<_>>()[..] else { return None };
    let path = target.split('?').next()?;
    let parts: Vec<&str> = path.split('/').collect();
    let strange = |part: &&str| [".", ".."].contains(part);
    let plain = (1..=15).contains(&method.len())
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && path.starts_with('/')
        && !path.contains(['%', '\\', '#', ';'])
        && target.bytes().all(|byte| (b'!'..=b'~').contains(&byte))
        && !path.contains("//")
        && !parts.iter().any(strange)
        && ["HTTP/1.0", "HTTP/1.1"].contains(&version);
    let about = |name: &str| {
        let named = lines[1..].iter().filter(move |line| line.to_ascii_lowercase().starts_with(name));
        named.copied().collect::<Vec<_>>()
    };
    let (lengths, codings) = (about("content-length"), about("transfer-encoding"));
    let length = match (&lengths[..], &codings[..]) {
        ([], []) => 0,
        ([one], []) => {
            let value = one["content-length".len()..].strip_prefix(':')?.trim_matches([' ', '\t']);
            let digits = value.len() <= 9 && value.bytes().all(|byte| byte.is_ascii_digit());
            let length = digits.then(|| value.parse().ok())??;
            (length == 0 || ["POST", "PUT", "PATCH"].contains(&method)).then_some(length)?
        }
        _ => return None,
    };
    let end = whole.len() + 4;
    (plain && (bytes.len() - end) as u64 <= u64::from(length)).then(|| (path.to_owned(), end, length))
}

/// Heads made of pieces, most of which are right.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let one = |words: &'static [&'static str]| prop::sample::select(words);
    let target = prop::collection::vec(
        one(&[
            "/",
            "/a",
            "/index.html",
            "/x/y",
            "?q=1&r=/../%2f",
            "/.",
            "/..",
            "//",
            "%6e",
            "/.well",
            ";",
            "\\",
            "#x",
            "\t",
        ]),
        1..3,
    );
    let fields = prop::collection::vec(
        one(&[
            "Host: x\r\n",
            "Accept: */*\r\n",
            "Content-Length: 4\r\n",
            "content-length:0 \r\n",
            "Content-Length : 4\r\n",
            "Content-Length: +4\r\n",
            "Transfer-Encoding: chunked\r\n",
            " folded\r\n",
            "Host: x\n",
            "A: b\r",
            "X-Content-Length: 9\r\n",
        ]),
        0..4,
    );
    let method = one(&[
        "GET ",
        "GET ",
        "HEAD ",
        "POST ",
        "PUT ",
        "PATCH ",
        "DELETE ",
        "get ",
        "M-SEARCH ",
        "GET  ",
        "GET\t",
        "METHODISTOOLONG ",
        "METHODISTOOLONGX ",
    ]);
    let version = one(&[
        " HTTP/1.1\r\n",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        " HTTP/1.2\r\n",
        " HTTP/1.1\n",
        " HTTP/2.0\r\n",
        "\r\n",
    ]);
    let end = one(&["\r\n", "\r\n", "\r\nbody", "\r\nGET / HTTP/1.1\r\n\r\n", "", "\n", "\r"]);
    (method, target, version, fields, end).prop_map(|(method, target, version, fields, end)| {
        [&[method], &target[..], &[version], &fields[..], &[end]].concat().concat().into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn plain_is_what_a_slow_parser_calls_plain(bytes in pieces()) {
        prop_assume!(bytes.len() <= READ);
        let found = head(&bytes);
        let expected = slow(&bytes);
        // A body without an end is the only thing that is plain here and has no length there.
        if !matches!(found.after, After::Unread(_)) {
            let path = found.plain.map(|path| String::from_utf8(path.to_vec()).unwrap());
            prop_assert_eq!(path, expected.as_ref().map(|(path, ..)| path.clone()));
        }
        if let (Some((_, end, length)), true) = (expected, found.plain.is_some()) {
            let whole = end + length as usize;
            let after = if whole == bytes.len() { After::Head } else { After::Body(whole as u32) };
            prop_assert_eq!(found.after, after);
        }
    }

    /// Wherever a segment breaks a long head off, the next goes on in it.
    #[test]
    fn a_long_head_is_read_on_in_the_next_segment(fields in prop::collection::vec(("[A-BD-SU-Z][a-z]{0,9}: ", 0..400_usize), 1..5), cut in any::<prop::sample::Index>()) {
        let fields: String = fields.iter().map(|(name, more)| format!("{name}{}\r\n", "x".repeat(*more))).collect();
        let whole = format!("GET /a HTTP/1.1\r\nX: {}\r\n{fields}\r\n", "x".repeat(300));
        let (first, second) = whole.as_bytes().split_at(READ + 1 + cut.index(whole.len() - READ - 2));
        prop_assert_eq!(head(whole.as_bytes()).after, After::Head);
        let found = head(first);
        let After::Long(broken) = found.after else { panic!("{found:?}") };
        prop_assert_eq!((found.plain, rest(second, broken).after), (Some(&b"/a"[..]), After::Head));
        let behind = [second, b"GET"].concat();
        prop_assert_eq!(rest(&behind, broken).after, After::Odd);
    }

    #[test]
    fn a_plain_head_cut_anywhere_is_odd(cut in 1_usize..44) {
        let whole = b"GET /index.html HTTP/1.1\r\nHost: example\r\n\r\n";
        prop_assert_eq!(whole.len(), 44 - 1);
        let found = head(&whole[..cut.min(42)]);
        prop_assert_eq!((found.plain, found.after), (None, After::Odd));
    }
}

#[test]
fn long_heads_are_plain_as_far_as_they_are_read() {
    let long = |begin: &str| format!("{begin}Cookie: {}\r\n\r\n", "c".repeat(300)).into_bytes();
    let cases = [
        ("GET /a?b HTTP/1.1\r\nHost: x\r\n", Some("/a"), After::Head),
        ("POST /a HTTP/1.1\r\nContent-Length: 9\r\n", Some("/a"), After::Body(9 + 349)),
        ("GET /a%20b HTTP/1.1\r\n", None, After::Head),
        ("GET /a HTTP/1.1\r\nHost: x\n", None, After::Odd),
        ("GET /a HTTP/3\r\n", None, After::Odd),
    ];
    for (begin, plain, after) in cases {
        let bytes = long(begin);
        let found = head(&bytes);
        assert_eq!((found.plain, found.after), (plain.map(str::as_bytes), after), "{begin}");
    }
    // Cut by the end of what is read at any place of the line: odd, and the next segment is looked at.
    let path = |length: usize| format!("/{}", "p".repeat(length - 1));
    let get = |length: usize| {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path(length), "x".repeat(300)).into_bytes()
    };
    for length in 220..300 {
        let bytes = get(length);
        let found = head(&bytes);
        assert_eq!((found.plain.is_some(), found.after), (length <= 240, After::Head), "{length}");
    }
}
