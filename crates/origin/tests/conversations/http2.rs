//! HTTP/2, judged by other clients, and bytes that are no HTTP/2.

use crate::strangers::{has, output, text};
use crate::support::{address, answered, bytes, connect, ended, origin, read_one, within_patience};
use crate::tls::Secure;
use std::io::{Read, Write};

/// The first bytes of every client, and no settings.
const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const GOAWAY: u8 = 7;

/// curl's words about a plain origin, by prior knowledge.
fn curl(more: &[&str]) -> Vec<u8> {
    output("curl", &[&["-sS", "-m", "15", "--http2-prior-knowledge"], more].concat())
}

#[test]
fn curl_is_served_by_prior_knowledge() {
    if !has("curl", "curl", "curl_is_served_by_prior_knowledge") {
        return;
    }
    within_patience(|| {
        let origin = origin();
        let url = |path: &str| format!("{}{path}", origin.url());
        for size in [0, 1, 16_384, 65_535, 65_536, 9_000_000] {
            assert!(curl(&[&url(&format!("/bytes/{size}"))]) == bytes(size), "{size}");
        }
        assert_eq!(curl(&["-r", "10-19", &url("/bytes/100")]), bytes(100)[10..20]);
        let said = |more: &[&str]| {
            let out = curl(&[&["-w", "%{http_version} %{http_code}", "-o", "/dev/null"], more].concat());
            String::from_utf8(out).unwrap()
        };
        assert_eq!(said(&[&url("/bytes/5")]), "2 200");
        assert_eq!(said(&[&url("/none")]), "2 404");
        assert_eq!(said(&["-d", &"a=b".repeat(40_000), &url("/")]), "2 405");
        assert_eq!(said(&["-r", "0-1", &url("/")]), "2 206");
        assert_eq!(said(&["-z", "Wed, 01 Jan 2020 00:00:00 GMT", &url("/")]), "2 304");
        let head = String::from_utf8(curl(&["-I", &url("/bytes/5000")])).unwrap();
        assert!(head.starts_with("HTTP/2 200") && head.contains("content-length: 5000"), "{head}");
    });
}

#[test]
fn curl_chooses_the_protocol_over_tls() {
    if !has("curl", "curl", "curl_chooses_the_protocol_over_tls") {
        return;
    }
    within_patience(|| {
        let secure = Secure::new();
        let url = format!("https://localhost:{}/bytes/3000000", address(&secure.origin).port());
        let ca = secure.dir.path().join("cert.pem");
        for (flag, version) in [("--http2", "2"), ("--http1.1", "1.1"), ("--no-alpn", "1.1")] {
            let common = ["-sS4", "-m", "15", "--cacert", ca.to_str().unwrap(), flag];
            let said = output("curl", &[&common[..], &["-w", "%{http_version}", &url]].concat());
            assert!(said == [bytes(3_000_000), version.into()].concat(), "{flag}");
        }
        // Two on one connection. (By prior knowledge curl 7.88 fails at the second, with nginx as well.)
        let common = ["-sS4", "-m", "15", "--cacert", ca.to_str().unwrap(), "--http2"];
        let two = output("curl", &[&common[..], &["-w", "%{num_connects}", &url, &url]].concat());
        assert!(two == [bytes(3_000_000), b"1".to_vec(), bytes(3_000_000), b"0".to_vec()].concat());
    });
}

#[test]
fn h2load_is_served_with_and_without_tls() {
    if !has("h2load", "nghttp2-client", "h2load_is_served_with_and_without_tls") {
        return;
    }
    within_patience(|| {
        let (plain, secure) = (origin(), Secure::new());
        for (origin, scheme) in [(&plain, "http"), (&secure.origin, "https")] {
            let before = origin.tally();
            for (requests, size) in [(2_000, 13_000), (40, 3_000_000)] {
                let url = format!("{scheme}://127.0.0.1:{}/bytes/{size}", address(origin).port());
                let number = requests.to_string();
                let said = text("h2load", &["-n", &number, "-c", "4", "-m", "10", &url]);
                let done = format!("{requests} done, {requests} succeeded, 0 failed, 0 errored");
                assert!(
                    said.contains(&done) && said.contains(&format!("status codes: {requests} 2xx")),
                    "{said}"
                );
                assert!(said.contains(&format!("({}) data", requests * size)), "{said}");
                assert!(said.contains("Application protocol: h2"), "{said}");
            }
            let tally = origin.tally();
            assert_eq!(tally.requests - before.requests, 2_040);
            assert_eq!(tally.replies - before.replies, 2_040);
            assert_eq!(tally.body_bytes - before.body_bytes, 2_000 * 13_000 + 40 * 3_000_000);
            assert_eq!(tally.connections - before.connections, 8);
        }
    });
}

/// nghttp opens small windows, which close again and again.
#[test]
fn nghttp_gets_everything_through_small_windows() {
    if !has("nghttp", "nghttp2-client", "nghttp_gets_everything_through_small_windows") {
        return;
    }
    within_patience(|| {
        let origin = origin();
        let url = |size: u64| format!("{}/bytes/{size}", origin.url());
        let said = output("nghttp", &["-t", "15", "-w", "10", "-W", "16", &url(1_000_000)]);
        assert!(said == bytes(1_000_000));
        let said =
            output("nghttp", &["-t", "15", "-w", "10", "-W", "16", "-n", "-s", &url(300_000), &url(200_000)]);
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.matches(" 200 ").count(), 2, "{said}");
    });
}

#[test]
fn a_beginning_in_pieces_is_recognised() {
    within_patience(|| {
        let origin = origin();
        let mut stream = connect(&origin);
        for byte in BEGINNING {
            stream.write_all(&[*byte]).unwrap();
            std::thread::yield_now();
        }
        // The settings of the origin: kind 4, stream 0.
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        assert_eq!((head[3], &head[5..]), (4, &[0; 4][..]));
        // A beginning that only looks alike is HTTP/1.1.
        let mut stream = connect(&origin);
        for piece in ["P", "RI / HTTP/1.1\r\n\r\n"] {
            stream.write_all(piece.as_bytes()).unwrap();
            std::thread::yield_now();
        }
        assert_eq!(read_one(&mut stream).status, 405);
        assert_eq!(answered(&origin), 1);
    });
}

#[test]
fn who_breaks_the_protocol_is_told_and_counted_by_name() {
    within_patience(|| {
        let origin = origin();
        for (frame, code, label) in [
            (&b"\0\0\x01\x06\0\0\0\0\0x"[..], 6, "HTTP/2: frame size"),
            (b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0", 1, "HTTP/2: window opened by 0"),
            (b"\0\0\x01\x01\x05\0\0\0\x01\xff", 9, "HTTP/2: header compression"),
        ] {
            let mut stream = connect(&origin);
            stream.write_all(&[BEGINNING, frame].concat()).unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            // The last frame: GOAWAY with last stream and code.
            let last = &said[said.len() - 17..];
            assert_eq!((last[3], last[16]), (GOAWAY, code), "{label}");
            assert_eq!(ended(&origin, label), 1);
        }
    });
}
