//! Caddyfiles of running servers, as they are found, and their private copies.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_adopt::{
    AdoptError, Adoptable, Copies, Entrance, Language, Reason, Setting, StandIns, made_pages, read,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Yard {
    dir: TempDir,
}

impl Yard {
    /// A directory with these files, by path and text.
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join("etc").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { dir }
    }

    fn main(&self) -> PathBuf {
        self.dir.path().join("etc/Caddyfile")
    }

    fn read(&self) -> Box<dyn Adoptable> {
        read(Language::Caddy, &self.main()).unwrap()
    }

    fn adopt_for(&self, tls: Option<bool>, allowed: &[String]) -> Result<Copies, AdoptError> {
        let configuration = self.read();
        let entrance = configuration.entrance(tls, None)?;
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        configuration.adopt(&Setting {
            port: 8000,
            further: &[8001, 8002],
            dir: &self.dir.path().join("private"),
            site: Some(Path::new("/site")),
            certificate: (Path::new("/made/cert.pem"), Path::new("/made/key.pem")),
            stand_ins: StandIns { http: at(9001), https: at(9002), fastcgi: at(9003) },
            allowed,
            ..Setting::unreal(entrance.port)
        })
    }

    fn adopt(&self) -> Result<Copies, AdoptError> {
        self.adopt_for(None, &[])
    }

    /// The text of all copies.
    fn text(&self) -> String {
        self.adopt().unwrap().whole_text()
    }
}

fn alone(text: &str) -> Yard {
    Yard::new(&[("Caddyfile", text)])
}

#[track_caller]
fn has(text: &str, all: &[&str]) {
    for one in all {
        assert!(text.contains(one), "`{one}` is not in\n{text}");
    }
}

#[track_caller]
fn reasons<T: std::fmt::Debug>(of: Result<T, AdoptError>) -> Vec<(usize, Reason)> {
    match of {
        Err(AdoptError::Refused(all)) => all.into_iter().map(|one| (one.line, one.reason)).collect(),
        other => panic!("{other:?}"),
    }
}

/// A machine with options, a snippet with an argument, and two files of sites.
const MACHINE: [(&str, &str); 4] = [
    (
        "Caddyfile",
        "{\n\temail me@real.example\n\tadmin unix//run/caddy/admin.sock\n\tacme_dns cloudflare {$TOKEN}\n\tgrace_period 5s\n\
         \tlog {\n\t\toutput file /var/log/caddy/main.log\n\t}\n\tservers :443 {\n\t\tprotocols h1 h2 h3\n\t\tlistener_wrappers {\n\t\t\tproxy_protocol\n\t\t\ttls\n\t\t}\n\t}\n\
         \tservers :9999 {\n\t\tprotocols h1\n\t}\n}\n\
         (app) {\n\tencode gzip\n\treverse_proxy {args[0]} {\n\t\thealth_uri /up\n\t\tlb_policy first\n\t}\n}\nimport sites/*\n",
    ),
    ("sites/.hidden", "}\n"),
    (
        "sites/redirect.caddy",
        "www.shop.example {\n\tredir https://shop.example{uri} permanent\n}\nhttp://shop.example:80 {\n\tredir https://{host}{uri}\n}\n",
    ),
    (
        "sites/shop.caddy",
        "shop.example,\nshop.example:443 { # main\n\tbind 10.0.0.7\n\ttls /etc/letsencrypt/c.pem /etc/letsencrypt/k.pem {\n\t\tprotocols tls1.3\n\t\tdns cloudflare x\n\t}\n\
         \troot * /var/www/shop\n\tlog {\n\t\toutput net 10.0.0.8:514 {\n\t\t\tsoft_start\n\t\t}\n\t\tformat json\n\t}\n\
         \t@old path /old/*\n\tredir @old /new\n\thandle /api/* {\n\t\timport app 10.0.0.9:3000\n\t}\n\tphp_fastcgi unix//run/php/php.sock\n\tfile_server\n}\n",
    ),
];

#[test]
fn nothing_of_the_machine_is_left_in_a_copy() {
    let yard = Yard::new(&MACHINE);
    let (copies, text) = (yard.adopt().unwrap(), yard.text());
    for gone in [
        "real.example",
        "/run/",
        "/var/",
        "cloudflare",
        "10.0.0.7",
        "10.0.0.8",
        "letsencrypt",
        "{args",
        "proxy_protocol",
        "health_uri",
        "h3",
        "9999",
        "{$",
        "soft_start",
    ] {
        assert!(!text.contains(gone), "`{gone}` is still in\n{text}");
    }
    let private = yard.dir.path().join("private").display().to_string();
    has(
        &text,
        &[
            "admin off\nauto_https off\n",
            "\tgrace_period 5s\n",
            "https://shop.example:8000 { import \"",
            "/plain.caddyfile\" # main\n",
            "https://www.shop.example:8000 { import \"",
            "/tls.caddyfile\"\n",
            "http://shop.example:8001 { import \"",
            "bind 127.0.0.1\ntls \"/made/cert.pem\" \"/made/key.pem\"\n",
            "\ttls \"/made/cert.pem\" \"/made/key.pem\" {\n\t\tprotocols tls1.3\n",
            "servers 127.0.0.1:8000 {\n\t\tprotocols h1 h2\n",
            "\troot * \"/site\"\n",
            "reverse_proxy 127.0.0.1:9001 {",
            "\tphp_fastcgi 127.0.0.1:9003\n",
            "\tredir https://{host}{uri}\n",
            &format!("output file \"{private}/error.log\""),
            &format!("output file \"{private}/access.log\""),
            &format!("import \"{private}/tree{}/etc/sites/*\"", yard.dir.path().display()),
        ],
    );
    assert_eq!(copies.stand_ins, StandIns { http: true, https: false, fastcgi: true });
    let addresses: Vec<&str> = copies.played.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(addresses, ["10.0.0.9:3000", "unix//run/php/php.sock"]);
    assert!(copies.played[1].1.ends_with("etc/sites/shop.caddy:20"), "{:?}", copies.played);
}

#[test]
fn lines_of_copies_are_those_of_the_originals() {
    let yard = Yard::new(&MACHINE);
    let copies = yard.adopt().unwrap();
    copies.write().unwrap();
    for (path, text) in MACHINE {
        let original = yard.dir.path().join("etc").join(path);
        let copy = yard.dir.path().join("private/tree").join(original.strip_prefix("/").unwrap());
        let copy = std::fs::read_to_string(copy.canonicalize().unwrap()).unwrap();
        assert_eq!(copy.lines().count(), text.lines().count(), "{path}:\n{copy}");
        let ends = |text: &str| text.lines().position(|line| line.contains("format json"));
        assert_eq!(ends(&copy), ends(text), "{copy}");
        assert_eq!(std::fs::read_to_string(&original).unwrap(), text, "the original stays");
    }
}

#[test]
fn a_configuration_without_options_gets_them_before_its_first_line() {
    let yard = alone("# a comment\n:80 {\n\troot /usr/share/caddy\n\tfile_server\n}\n");
    let copies = yard.adopt().unwrap();
    assert!(copies.main().ends_with("etc/.start.caddyfile"), "{:?}", copies.main());
    let text = copies.whole_text();
    let copy = format!("private/tree{}", yard.main().display());
    has(&text, &["{\n\timport \"", "options.caddyfile\"\n}\nimport \"", &copy, "grace_period 1s"]);
    has(&text, &["# a comment\nhttp://:8000 { import \"", "\troot \"/site\"\n"]);
    copies.write().unwrap();
    // One site without braces gets them.
    let text =
        alone("shop.example\n\nroot * /srv\nreverse_proxy /api/* {\n\tto a:1 b:2\n}\nfile_server").text();
    has(&text, &["https://shop.example:8000 { import \"", "\n\nroot * \"/site\"\n", "\nfile_server\n}\n"]);
    has(&text, &["reverse_proxy /api/* {\n\tto 127.0.0.1:9001 127.0.0.1:9001\n}"]);
}

#[test]
fn the_site_that_serves_something_is_asked_and_by_its_name() {
    let configuration = Yard::new(&MACHINE).read();
    let Entrance { port, tls, host, place, .. } = configuration.entrance(None, None).unwrap();
    assert_eq!((port, tls, host.as_deref()), (443, true, Some("shop.example")));
    assert!(place.ends_with("shop.caddy:1"), "not a redirection: {place}");
    let plain = configuration.entrance(Some(false), None).unwrap();
    assert_eq!((plain.port, plain.tls, plain.host.as_deref()), (80, false, Some("shop.example")));
    let other = configuration.entrance(None, Some("www.shop.example")).unwrap();
    assert!(other.place.ends_with("redirect.caddy:1") && other.host.is_none(), "{other:?}");
    let many =
        alone("http://a.example {\n\tabort\n}\n*.b.example, :8080 {\n\thandle {\n\t\trespond ok\n\t}\n}\n");
    assert_eq!(many.read().entrance(None, None).unwrap().host.as_deref(), Some("www.b.example"));
    let any = many.read().entrance(Some(false), Some("c.example")).unwrap();
    assert_eq!((any.port, any.host), (8080, None));
    let plain = alone("http://a {\n}\n");
    let none = plain.read().entrance(Some(true), None);
    assert!(matches!(reasons(none)[..], [(1, Reason::NoListen { tls: true })]));
    assert!(matches!(reasons(alone("(a) {\n}\n").adopt())[..], [(1, Reason::NoSite)]));
}

#[test]
fn a_site_for_two_schemes_keeps_the_one_that_is_asked() {
    let yard = alone("http://a.example, https://a.example, a.example:443 {\n\tfile_server\n}\n");
    let text = yard.text();
    has(&text, &["https://a.example:8000 { import"]);
    assert!(!text.contains("http://"), "{text}");
    let plain = yard.adopt_for(Some(false), &[]).unwrap().whole_text();
    has(&plain, &["http://a.example:8000 { import"]);
    assert!(!plain.contains("https://") && !plain.contains("tls \""), "{plain}");
}

#[test]
fn everything_behind_a_site_is_played() {
    let yard = alone(
        "http://a {\n\treverse_proxy @m http://one:81 :82 {\n\t\tto h2c://three:83\n\t\ttransport http {\n\t\t\tversions h2c\n\t\t}\n\t}\n\
         \treverse_proxy /s https://safe.example\n\
         \treverse_proxy /t other:443 {\n\t\theader_up Host x\n\t\ttransport http {\n\t\t\ttls\n\t\t\ttls_server_name y\n\t\t\ttls_trusted_ca_certs /ca.pem\n\t\t}\n\t}\n\
         \treverse_proxy /u https://third {\n\t\theader_up Host z\n\t}\n\
         \treverse_proxy unix//run/f.sock {\n\t\ttransport fastcgi {\n\t\t\tsplit .php\n\t\t}\n\t}\n\
         \tforward_auth auth:9091 {\n\t\turi /verify\n\t}\n\tphp_fastcgi php:9000 {\n\t\troot /srv/php\n\t}\n\tfile_server * browse\n}\n",
    );
    let copies = yard.adopt().unwrap();
    let text = copies.whole_text();
    has(
        &text,
        &[
            "reverse_proxy @m 127.0.0.1:9001 127.0.0.1:9001 {\n\t\tto 127.0.0.1:9001\n",
            "versions 1.1",
            "import \"",
            "reverse_proxy /s https://127.0.0.1:9002 {\ntransport http {\n\ttls_insecure_skip_verify\n}\n}\n",
            "reverse_proxy /t https://127.0.0.1:9002 {\n\t\theader_up Host x\n\t\ttransport http {\n\ttls_insecure_skip_verify\n\t\t\ttls\n\t\t\ttls_server_name y\n",
            "reverse_proxy /u https://127.0.0.1:9002 {\ntransport http {\n\ttls_insecure_skip_verify\n}\n\t\theader_up Host z\n\t}\n",
            "reverse_proxy 127.0.0.1:9003 {\n\t\ttransport fastcgi {",
            "forward_auth 127.0.0.1:9001 {\n\t\turi /verify\n",
            "php_fastcgi 127.0.0.1:9003 {\n\t\troot \"/site\"\n",
        ],
    );
    assert!(!text.contains("/ca.pem") && !text.contains("safe.example") && !text.contains("/run/"), "{text}");
    assert_eq!(copies.stand_ins, StandIns { http: true, https: true, fastcgi: true });
    let upstreams = |one: &&Path| one.to_string_lossy().contains("upstream-");
    copies.write().unwrap();
    let private = std::fs::read_dir(yard.dir.path().join("private")).unwrap().flatten();
    let paths: Vec<PathBuf> = private.map(|entry| entry.path()).collect();
    assert_eq!(paths.iter().map(PathBuf::as_path).filter(upstreams).count(), 3, "{paths:?}");
}

#[test]
fn an_upstream_that_is_allowed_is_asked_itself() {
    let yard = alone(
        "(to) {\n\treverse_proxy {args[0]}\n}\n(on) {\n\treverse_proxy {args[0]} {args[1]}\n\t{block}\n}\nhttp://a {\n\timport on /on x:1 {\n\t\treverse_proxy /block y:1\n\t}\n\treverse_proxy 127.0.0.1:3000 127.0.0.1:3001\n\treverse_proxy /b https://b.example {\n\t\thealth_uri /x\n\t}\n\timport to c:1\n}\n",
    );
    let allowed = ["127.0.0.1:3000", "b.example:443", "c:1"].map(str::to_owned);
    let copies = yard.adopt_for(None, &allowed).unwrap();
    let text = copies.whole_text();
    has(
        &text,
        &["reverse_proxy 127.0.0.1:3000 127.0.0.1:9001\n", "/b https://b.example {\n\t\thealth_uri /x"],
    );
    has(
        &text,
        &["reverse_proxy {args[0]}\n", "reverse_proxy {args[0]} 127.0.0.1:9001\n", "/block 127.0.0.1:9001\n"],
    );
    assert_eq!(copies.stand_ins, StandIns { http: true, https: false, fastcgi: false });
}

#[test]
fn what_would_leave_the_machine_or_run_programs_is_refused_by_name_all_at_once() {
    let yard = alone(
        "{\n\texec sh\n}\nhttp://a {\n\tcgi /x /usr/bin/x\n\tacme_server\n\treverse_proxy {\n\t\tdynamic srv x.example\n\t}\n\
         \treverse_proxy a:1 {\n\t\ttransport grpc\n\t}\n\ttracing {\n\t\tspan x\n\t}\n}\n",
    );
    let mut lines: Vec<usize> = reasons(yard.adopt()).iter().map(|(line, _)| *line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [2, 5, 6, 8, 11]);
    for (text, line) in [
        ("a {\n\nimport none.conf\n}\n", 3),
        ("a {\n\trespond \"x\n}\n", 2),
        ("a {\n\troute {\n}\n", 1),
        ("a {\n}\n}\n", 3),
        ("import Caddyfile", 1),
    ] {
        let error = read(Language::Caddy, &alone(text).main()).map(|_| ()).unwrap_err();
        let AdoptError::Refused(all) = &error else { panic!("{error}") };
        assert_eq!(all[0].line, line, "{text}: {error}");
        assert!(error.to_string().contains(&format!("Caddyfile:{line}: ")), "{error}");
    }
    let unknown = alone("{$SITE} {\n}\n:{$PORT:81} {\n\trespond x\n}\n");
    assert!(
        matches!(&reasons(unknown.adopt())[..], [(1, Reason::Address { address })] if address == "{$SITE}")
    );
    let many: String = (1..8).map(|n| format!(":{n} {{\n}}\n")).collect();
    assert!(matches!(reasons(alone(&many).adopt())[0], (_, Reason::Ports)));
}

#[test]
fn words_that_are_no_directives_stay() {
    let text = alone(
        "http://a {\n\tbasicauth {\n\t\troot JDJh\n\t}\n\theader {\n\t\tlog x\n\t\t-tls\n\t}\n\t@x {\n\t\tpath /root\n\t\tfile {\n\t\t\troot /own\n\t\t}\n\t}\n\tmap {path} {x} {\n\t\ttls /a\n\t}\n\trespond `{`\n}\n",
    )
    .text();
    has(
        &text,
        &["\t\troot JDJh\n", "\t\tlog x\n\t\t-tls\n", "\t\t\troot \"/site\"\n", "\t\ttls /a\n", "`{`"],
    );
}

#[test]
fn a_caddyfile_for_bakeoff_has_its_port_in_an_address() {
    use bakeoff_adopt::is_caddyfile_for_bakeoff as is_ours;
    assert!(is_ours("{\n\tadmin off\n}\nhttp://:{port} {\n\tbind {host}\n}\n"));
    assert!(is_ours("http://:{port}\nbind {host}\n"));
    assert!(!is_ours("a.example {\n\tredir https://{host}:{port}{uri}\n\troot {dir}\n}\n"));
    assert!(!is_ours("") && !is_ours("a {\n"));
}

#[test]
fn what_no_file_has_is_passed_to_the_application() {
    let all = ["/index.html", "/some/permalink/index.html", "/blog/post"];
    let made = |inner: &str| {
        let configuration = alone(&format!(":80 {{\n\troot * /srv\n\t{inner}\n\tfile_server\n}}\n")).read();
        let application = configuration.entrance(None, None).unwrap().application?;
        let paths = [&all[..], &["/app.css"]].concat();
        let paths: Vec<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
        let made = made_pages(std::slice::from_ref(&application), &paths);
        let made: Vec<_> = made.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Some((made, application.scripts().map(str::to_owned).collect::<Vec<_>>()))
    };
    let php = "php_fastcgi unix//run/php.sock";
    for (inner, passed, script) in [
        (php.to_owned(), &all[..], "/index.php"),
        (format!("{php} {{\n\t\tindex app.php\n\t}}"), &all, "/app.php"),
        ("php_fastcgi /blog/* unix//run/php.sock".to_owned(), &all[2..], "/index.php"),
        (
            format!("handle /blog/* {{\n\t\tfile_server\n\t}}\n\thandle {{\n\t\t{php}\n\t}}"),
            &all[..2],
            "/index.php",
        ),
        (format!("handle_path /blog/* {{\n\t\treverse_proxy a:1\n\t}}\n\t{php}"), &all[..2], "/index.php"),
        (format!("try_files {{path}} /index.php\n\t{php}"), &all, "/index.php"),
    ] {
        let passed: Vec<String> = passed.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(made(&inner), Some((passed, vec![script.to_owned()])), "{inner}");
    }
    for inner in [
        "",
        "reverse_proxy /api/* a:1",
        "php_fastcgi @php unix//run/php.sock",
        "php_fastcgi unix//run/php.sock {\n\t\tindex off\n\t}",
        "try_files {path} /index.html\n\tphp_fastcgi unix//run/php.sock",
    ] {
        assert_eq!(made(inner), None, "{inner}");
    }
}
