//! Honest clients of many kinds under the documents' own `[odd]`: none of them is refused anything.

use crate::server::nginx;
use crate::stage::{namespace, output, skip};
use bakeoff_layers_police::kernel::{PoliceMode, Programs};
use bakeoff_layers_police::rules::Rules;
use std::process::Command;

const RULES: &str = "[server]\nlisten = [80, 81, 82, 443]\n[[request]]\npath = \"/noaccess\"\nrefuse = \"503\"\n\
    [odd]\nrate = \"10/s\"\nburst = 20\n[unread]\nrate = \"1000/s\"\n";
/// Clients in the words of their languages.
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/kernel/police_program/clients");

/// 80 HTTP/1.1, 82 HTTP/2 without TLS, 443 both with it. Bodies go to a server behind it, which reads them.
const HTTP: &str = "access_log off; client_max_body_size 99m; large_client_header_buffers 4 16k; ssl_certificate {dir}/crt; \
    ssl_certificate_key {dir}/key; server { listen 83; location / { return 200 ok; } } server { listen 80; listen 82 http2; \
    listen 443 ssl http2; location / { return 200 ok; } location /put { proxy_pass http://127.0.0.1:83; } }";

#[test]
fn no_honest_client_is_refused_by_the_documents_own_odd() {
    let test = "no_honest_client_is_refused_by_the_documents_own_odd";
    let Some(here) = namespace(test) else { return };
    let missing = ["nginx", "openssl", "curl", "chromium"].iter().find(|program| !is_there(program));
    if let Some(missing) = missing {
        return skip(test, &format!("needs {missing}"));
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("upload"),
        (0..10_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>(),
    )
    .unwrap();
    let upload = dir.path().join("upload").display().to_string();
    here.run(|| {
        // Segments as on a wire, for long heads in several of them.
        output("ip link set lo mtu 1500");
        let at = dir.path().display();
        output(&format!(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x -keyout {at}/key -out {at}/crt"
        ));
        let _nginx = nginx(dir.path(), HTTP, "127.0.0.1:83");
        let mut programs =
            Programs::load(&Rules::of_text(RULES, "r").unwrap().table, PoliceMode::Enforce).unwrap();
        programs.attach("lo").unwrap();
        let curl = "curl -sk -m 100 -o /dev/null -w %{http_code}";
        let fields = format!("-H Accept-Language:{} -H X-Forwarded-For:{}", "e".repeat(150), "1".repeat(150));
        let cookie = format!("Cookie:{}", "c".repeat(4_000));
        let put = "http://127.0.0.1/put";
        let cases = [
            (format!("{curl} -H Connection:close --http1.1 https://127.0.0.1/[1-60]"), "200".repeat(60)),
            (format!("{curl} --http2 https://127.0.0.1/[1-60]"), "200".repeat(60)),
            (format!("{curl} --http2-prior-knowledge http://127.0.0.1:82/"), "200".to_owned()),
            (format!("{curl} --http2 http://127.0.0.1/[1-60]"), "200".repeat(60)),
            (format!("{curl} -H {cookie} http://127.0.0.1/[1-60]"), "200".repeat(60)),
            (format!("{curl} -H {cookie} -H Connection:close http://127.0.0.1/[1-60]"), "200".repeat(60)),
            (format!("{curl} {fields} -H Expect: -T {upload} {put}"), "200".to_owned()),
            (format!("{curl} {fields} -H Transfer-Encoding:chunked -T {upload} {put}"), "200".to_owned()),
            (format!("{curl} -T {upload} {put}"), "200".to_owned()),
            (format!("{curl} -0 -I http://127.0.0.1/[1-60]"), "200".repeat(60)),
            (format!("{curl} -X DELETE http://127.0.0.1/[1-60]"), "200".repeat(60)),
            ("ab -n 100 -c 2 http://127.0.0.1/".to_owned(), "Failed requests:        0".to_owned()),
            ("ab -k -n 100 -c 2 http://127.0.0.1/".to_owned(), "Failed requests:        0".to_owned()),
            ("h2load -n 100 -c 2 http://127.0.0.1:82/".to_owned(), "100 succeeded, 0 failed".to_owned()),
            ("h2load -n 100 -c 2 https://127.0.0.1/".to_owned(), "100 succeeded, 0 failed".to_owned()),
            ("wrk -d 1 -t 1 -c 2 http://127.0.0.1/".to_owned(), "requests in".to_owned()),
            (format!("python3 {CLIENTS}/ask.py {upload}"), "[200]".to_owned()),
            (format!("node {CLIENTS}/ask.js"), "[200]".to_owned()),
            (format!("go run {CLIENTS}/ask.go {upload}"), "map[200:true]".to_owned()),
            (format!("java {CLIENTS}/Ask.java {upload}"), "[200]".to_owned()),
            (format!("perl {CLIENTS}/ask.pl {upload}"), "[200]".to_owned()),
            (
                format!("python3 {CLIENTS}/browser.py {}", dir.path().display()),
                "turns=40 uploaded".to_owned(),
            ),
        ];
        for (command, expected) in &cases {
            let mut words = command.split(' ');
            let program = words.next().unwrap();
            if !is_there(program) {
                skip(&format!("an_honest_client_by_{program}"), &format!("needs {program}"));
                continue;
            }
            let done = Command::new(program).args(words).output().unwrap();
            let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            assert!(
                said.contains(expected) && !said.contains("Non-2xx"),
                "{command}: {said} {:?}",
                programs.counters().unwrap()
            );
            let counters = programs.counters().unwrap();
            assert_eq!(counters.refused.iter().sum::<u64>(), 0, "{command}: {counters:?}");
        }
        let counters = programs.counters().unwrap();
        assert!(counters.unread.iter().all(|count| *count > 0), "each kind was met: {counters:?}");
    })
    .unwrap();
}

fn is_there(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|done| done.status.success())
}
