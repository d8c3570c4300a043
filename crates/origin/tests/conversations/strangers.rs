//! Other projects' clients: their counts must equal what they asked for.

use crate::support::{answered, bytes, origin, within_patience};
use crate::tls::Secure;
use std::path::Path;
use std::process::Command;

/// Without the program the test fails, unless skipping is allowed; then it says so.
pub(crate) fn has(program: &str, package: &str, test: &str) -> bool {
    let found = ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if !found {
        let reason = format!("`{program}` is not installed (apt-get install {package})");
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

/// The program's output; it must have ended well.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Vec<u8> {
    let said = Command::new(program).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{program} {arguments:?}: {out}{err}");
    said.stdout
}

pub(crate) fn text(program: &str, arguments: &[&str]) -> String {
    String::from_utf8(output(program, arguments)).unwrap()
}

#[test]
fn curl_is_served() {
    if !has("curl", "curl", "curl_is_served") {
        return;
    }
    within_patience(|| {
        let origin = origin();
        let url = |path: &str| format!("{}{path}", origin.url());
        let curl = |more: &[&str]| output("curl", &[&["-sS", "--fail-with-body", "-m", "15"], more].concat());
        assert!(curl(&[&url("/bytes/5000000")]) == bytes(5_000_000));
        assert!(curl(&["--http1.0", &url("/bytes/70000")]) == bytes(70_000));
        assert_eq!(curl(&["-r", "10-19", &url("/bytes/100")]), bytes(100)[10..20]);
        // Three on one connection.
        let three = curl(&["-w", "%{num_connects}", &url("/bytes/3"), &url("/bytes/4"), &url("/bytes/5")]);
        assert_eq!(
            three,
            [bytes(3), b"1".to_vec(), bytes(4), b"0".to_vec(), bytes(5), b"0".to_vec()].concat()
        );
        let head = String::from_utf8(curl(&["-I", &url("/bytes/5000")])).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("Content-Length: 5000"), "{head}");
        let status =
            |more: &[&str]| text("curl", &[&["-sS", "-m", "15", "-w", "%{http_code}"], more].concat());
        assert_eq!(status(&[&url("/none")]), "404");
        assert_eq!(status(&["-d", "a=b", &url("/")]), "405");
        assert_eq!(status(&["-z", "Wed, 01 Jan 2020 00:00:00 GMT", &url("/")]), "304");
        assert_eq!(status(&["-H", "Transfer-Encoding: chunked", "-d", "a=b", &url("/")]), "501");
    });
}

#[test]
fn curl_is_served_over_tls() {
    if !has("curl", "curl", "curl_is_served_over_tls") {
        return;
    }
    within_patience(|| {
        let secure = Secure::new();
        let port = secure.origin.url().rsplit(':').next().unwrap().to_owned();
        let ca = secure.dir.path().join("cert.pem");
        let url = format!("https://localhost:{port}/bytes/3000000");
        for version in ["1.2", "1.3"] {
            let said = output(
                "curl",
                &["-sS4", "-m", "15", "--tls-max", version, "--cacert", ca.to_str().unwrap(), &url],
            );
            assert!(said == bytes(3_000_000), "TLS {version}");
        }
    });
}

#[test]
fn wrk_is_served() {
    if !has("wrk", "wrk", "wrk_is_served") {
        return;
    }
    within_patience(|| {
        let origin = origin();
        let url = format!("{}/bytes/13000", origin.url());
        let said = text("wrk", &["-t2", "-c20", "-d1s", &url]);
        assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
        let requests: u64 = said
            .lines()
            .find_map(|line| line.trim().split_once(" requests in "))
            .and_then(|(number, _)| number.trim().parse().ok())
            .unwrap();
        // wrk does not wait for the last reply on each connection.
        assert!(requests > 0 && (requests..=requests + 40).contains(&answered(&origin)), "{said}");
    });
}

#[test]
fn ab_is_served() {
    if !has("ab", "apache2-utils", "ab_is_served") {
        return;
    }
    within_patience(|| {
        for keep_alive in [false, true] {
            let origin = origin();
            let url = format!("{}/bytes/13000", origin.url());
            let flags: &[&str] = if keep_alive { &["-k"] } else { &[] };
            let said = text("ab", &[flags, &["-q", "-s", "5", "-n", "1000", "-c", "10", &url]].concat());
            let figure = |name: &str| {
                let line = said.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
            };
            assert_eq!(figure("Complete requests:"), Some(1000), "{said}");
            assert_eq!(figure("Failed requests:"), Some(0), "{said}");
            assert_eq!(figure("HTML transferred:"), Some(13_000_000), "{said}");
            assert_eq!(figure("Keep-Alive requests:"), keep_alive.then_some(1000), "{said}");
            assert!(!said.contains("Non-2xx"), "{said}");
            assert_eq!(answered(&origin), 1000);
        }
    });
}
