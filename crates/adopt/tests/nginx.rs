//! Configurations of running servers, as they are found, and their private copies.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

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
        self.dir.path().join("etc/nginx.conf")
    }

    fn read(&self) -> Box<dyn Adoptable> {
        read(Language::Nginx, &self.main()).unwrap()
    }

    fn adopt(&self) -> Result<Copies, AdoptError> {
        let configuration = self.read();
        let entrance = configuration.entrance(None, None)?;
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        configuration.adopt(&Setting {
            port: 8000,
            further: &[8001, 8002],
            dir: &self.dir.path().join("private"),
            site: Some(Path::new("/site")),
            certificate: (Path::new("/made/cert.pem"), Path::new("/made/key.pem")),
            stand_ins: StandIns { http: at(9001), https: at(9002), fastcgi: at(9003) },
            prefix: Path::new("/usr/share/nginx"),
            lines: "proxy_temp_path /t;",
            ..Setting::unreal(entrance.port)
        })
    }

    /// The text of all copies.
    fn text(&self) -> String {
        self.adopt().unwrap().whole_text()
    }
}

fn alone(text: &str) -> Yard {
    Yard::new(&[("nginx.conf", text)])
}

fn has(text: &str, all: &[&str]) {
    for one in all {
        assert!(text.contains(one), "`{one}` is not in\n{text}");
    }
}

fn reasons(of: Result<Copies, AdoptError>) -> Vec<(usize, Reason)> {
    match of {
        Err(AdoptError::Refused(all)) => all.into_iter().map(|one| (one.line, one.reason)).collect(),
        other => panic!("{other:?}"),
    }
}

/// The layout of Debian, with a site beside the default one.
const DEBIAN: [(&str, &str); 4] = [
    (
        "nginx.conf",
        "user www-data;\npid /run/nginx.pid;\nerror_log /var/log/nginx/error.log warn;\nload_module modules/x.so;\nevents { worker_connections 768; }\nhttp {\n\tinclude mime.types;\n\taccess_log /var/log/nginx/access.log;\n\tinclude conf.d/*.conf;\n\tinclude sites-enabled/*;\n}\n",
    ),
    ("mime.types", "types { text/html html; }\n"),
    (
        "sites-enabled/default",
        "server {\n\tlisten 80 default_server;\n\tlisten [::]:80 default_server;\n\troot /var/www/html;\n\tserver_name _;\n}\n",
    ),
    (
        "sites-enabled/shop",
        "server {\n\tlisten 80;\n\tserver_name shop.example;\n\treturn 301 https://$host$request_uri;\n}\nserver {\n\tlisten 443 ssl http2;\n\tlisten [::]:443 ssl http2 ipv6only=on;\n\tserver_name shop.example;\n\tssl_certificate /etc/letsencrypt/live/shop.example/fullchain.pem;\n\tssl_certificate_key /etc/letsencrypt/live/shop.example/privkey.pem;\n\tssl_stapling on;\n\tresolver 8.8.8.8;\n\tlocation / { proxy_pass http://127.0.0.1:3000; }\n\tlocation /static/ { alias /srv/static/; }\n}\n",
    ),
];

#[test]
fn nothing_of_the_machine_is_left_in_a_copy() {
    let yard = Yard::new(&DEBIAN);
    let (copies, text) = (yard.adopt().unwrap(), yard.text());
    for gone in ["/var/", "/run/", "www-data", "[::]", "letsencrypt", "8.8.8.8", "3000", "/srv", "stapling"] {
        assert!(!text.contains(gone), "`{gone}` is still in\n{text}");
    }
    has(
        &text,
        &[
            "http { proxy_temp_path /t;",
            "load_module \"/usr/share/nginx/modules/x.so\";",
            "listen 127.0.0.1:8001 default_server;",
            "listen 127.0.0.1:8000 ssl http2;",
            "proxy_pass http://127.0.0.1:9001;",
            "ssl_certificate \"/made/cert.pem\";",
            "ssl_certificate_key \"/made/key.pem\";",
            "location /static/ { root \"/site\"; }",
            "worker_connections 768;",
            "return 301 https://$host$request_uri;",
        ],
    );
    let private = yard.dir.path().join("private");
    has(
        &text,
        &[
            &format!("error_log \"{}/error.log\" warn;", private.display()),
            &format!("access_log \"{}/access.log\";", private.display()),
            &format!(
                "include \"{}{}/etc/sites-enabled/*\";",
                private.join("tree").display(),
                yard.dir.path().display()
            ),
        ],
    );
    assert_eq!(copies.stand_ins, StandIns { http: true, https: false, fastcgi: false });
    assert_eq!(copies.played.len(), 1);
    assert!(copies.played[0].1.ends_with("etc/sites-enabled/shop:14"), "{:?}", copies.played);
}

#[test]
fn lines_of_copies_are_those_of_the_originals() {
    let yard = Yard::new(&DEBIAN);
    let copies = yard.adopt().unwrap();
    copies.write().unwrap();
    for (path, text) in DEBIAN {
        let original = yard.dir.path().join("etc").join(path);
        let copy =
            yard.dir.path().join("private/tree").join(original.strip_prefix("/").unwrap()).canonicalize();
        let copy = std::fs::read_to_string(copy.unwrap()).unwrap();
        assert_eq!(copy.lines().count(), text.lines().count(), "{path}:\n{copy}");
        assert_eq!(std::fs::read_to_string(&original).unwrap(), text, "the original stays");
    }
    // A directive over several lines, too.
    let text = alone("http {\n server {\n  listen\n   80\n   ;\n  root\n /x;\n }\n}\n# end\n").text();
    let end = text.lines().position(|line| line == "# end").unwrap();
    assert_eq!(end, 10, "behind the line of the file's name:\n{text}");
}

#[test]
fn what_lies_beside_the_configuration_is_linked() {
    let yard = Yard::new(&[&DEBIAN[..], &[("snippets/key.js", "x"), ("dhparam.pem", "y")]].concat());
    let copies = yard.adopt().unwrap();
    copies.write().unwrap();
    let home = copies.main().parent().unwrap();
    for name in ["snippets/key.js", "dhparam.pem"] {
        let original = yard.dir.path().join("etc").join(name).canonicalize().unwrap();
        assert_eq!(home.join(name).canonicalize().unwrap(), original);
    }
    assert!(!std::fs::symlink_metadata(home.join("sites-enabled/shop")).unwrap().is_symlink());
}

#[test]
fn the_server_that_serves_something_is_asked_and_by_its_name() {
    let yard = Yard::new(&DEBIAN);
    let configuration = yard.read();
    let Entrance { port, tls, host, place, .. } = configuration.entrance(None, None).unwrap();
    assert_eq!((port, tls, host.as_deref()), (443, true, Some("shop.example")));
    assert!(place.ends_with("shop:6"), "not the redirection at line 1: {place}");
    let plain = configuration.entrance(Some(false), None).unwrap();
    assert_eq!((plain.port, plain.tls), (80, false));
    assert!(plain.place.ends_with("default:1"), "{plain:?}");
    let other = configuration.entrance(None, Some("shop.example")).unwrap();
    assert_eq!((other.port, other.host), (443, None), "the host is known already");
    let bot = alone(
        "http { server { listen 80; server_name a.example; if ($host = a.example) { return 301 x; } return 404; }\nserver { listen 80; server_name *.b.example; } }",
    );
    assert_eq!(bot.read().entrance(None, None).unwrap().host.as_deref(), Some("www.b.example"));
    assert!(matches!(
        reasons(bot.read().entrance(Some(true), None).map(|_| unreachable!()))[..],
        [(1, Reason::NoListen { tls: true })]
    ));
    assert!(matches!(reasons(alone("events {}").adopt())[..], [(1, Reason::NoServer)]));
}

#[test]
fn everything_behind_a_server_is_played() {
    let yard = alone(
        "http {\nupstream app { least_conn; server app1.internal:8080 weight=3 resolve; server unix:/run/app.sock backup; keepalive 8; }\n\
         upstream php { server unix:/run/php.sock; }\nupstream safe { server 10.0.0.9; }\nserver {\n\
         location /a { proxy_pass http://app/x/; }\nlocation /b { proxy_pass https://safe; }\nlocation /c { fastcgi_pass php; }\n\
         location /d { set $to http://other:81; proxy_pass $to; }\nlocation /e { proxy_pass http://$host$request_uri; }\n\
         location /f { proxy_pass http://unix:/run/f.sock:/g/; }\nlocation = /m { proxy_pass https://mirror.example/m?x=1; }\n}\n}\n",
    );
    let text = yard.text();
    has(
        &text,
        &[
            "upstream app { least_conn; server 127.0.0.1:9001 weight=3; server 127.0.0.1:9001 backup; keepalive 8; }",
            "upstream php { server 127.0.0.1:9003; }",
            "upstream safe { server 127.0.0.1:9002; }",
            "proxy_pass http://app/x/;",
            "proxy_pass https://safe;",
            "fastcgi_pass php;",
            "proxy_pass http://127.0.0.1:9001;",
            "proxy_pass http://127.0.0.1:9001$request_uri;",
            "proxy_pass http://127.0.0.1:9001/g/;",
            "proxy_pass https://127.0.0.1:9002/m?x=1;",
            // nginx would take port 80 of the machine.
            "server { listen 127.0.0.1:8000;",
        ],
    );
    let copies = yard.adopt().unwrap();
    assert_eq!(copies.stand_ins, StandIns { http: true, https: true, fastcgi: true });
}

#[test]
fn an_upstream_that_is_allowed_is_asked_itself() {
    let yard = alone(
        "http { upstream a { server 127.0.0.1:3000; server 127.0.0.1:3001; }\nserver { location / { proxy_pass http://a; } location /b { proxy_pass http://b.example; } location /g { grpc_pass grpc://127.0.0.1:50051; } } }",
    );
    let configuration = yard.read();
    let allowed = ["127.0.0.1:3000", "b.example:80", "127.0.0.1:50051"].map(str::to_owned);
    let text =
        configuration.adopt(&Setting { allowed: &allowed, ..Setting::unreal(80) }).unwrap().whole_text();
    has(
        &text,
        &["server 127.0.0.1:3000; server 127.0.0.1:1;", "http://b.example;", "grpc://127.0.0.1:50051"],
    );
    let refused = reasons(configuration.adopt(&Setting::unreal(80)));
    let grpc = Reason::Upstream { directive: "grpc_pass".into(), address: "grpc://127.0.0.1:50051".into() };
    assert_eq!(refused, [(2, grpc)]);
}

#[test]
fn what_would_leave_the_machine_or_write_is_refused_by_name_all_at_once() {
    let yard = alone(
        "http {\nserver {\nlocation /u { uwsgi_pass unix:/run/u.sock; }\nlocation /s { proxy_store on; }\nmodsecurity_rules_remote k https://x;\nproxy_store off;\n}\n}\n",
    );
    let found = reasons(yard.adopt());
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5]);
    for (text, line) in [
        ("http { server {\n content_by_lua_block { ngx.say('x') } } }", 2),
        ("http {\njs_import f.js; }", 2),
        ("http {\n\ninclude none.conf; }", 3),
        ("http { server { root 'x; } }", 1),
        ("http {\nserver {", 2),
        ("http { }\n}", 2),
        ("http { server { listen 80 } }", 1),
        ("http {}\nuser", 2),
        ("include nginx.conf;", 1),
    ] {
        let error = read(Language::Nginx, &alone(text).main()).map(|_| ()).unwrap_err();
        let AdoptError::Refused(all) = &error else { panic!("{error}") };
        assert_eq!(all[0].line, line, "{text}: {error}");
        assert!(error.to_string().contains(&format!("nginx.conf:{line}: ")), "{error}");
    }
    let many: String = (1..8).map(|n| format!("server {{ listen {n}; }}\n")).collect();
    assert!(matches!(reasons(alone(&format!("http {{\n{many}}}")).adopt())[0], (_, Reason::Ports)));
}

#[test]
fn includes_are_those_beside_the_configuration_and_the_sites_pages_are_found() {
    // An empty directory of its own is meant to be empty, whatever the machine has in its usual one.
    let yard = Yard::new(&[
        ("nginx.conf", "http { include /etc/nginx/sites-enabled/*; include /etc/nginx/modules-enabled/*; }"),
        ("sites-enabled/a", "server { index index.php; root /x; }"),
        ("modules-enabled/.none", ""),
    ]);
    let copies = yard.adopt().unwrap();
    assert_eq!(yard.read().files(), 2);
    has(&copies.whole_text(), &["index index.php index.html;", "/etc/sites-enabled/*\";"]);
    assert!(!alone("http { server { index index.html; } }").text().contains("index.html index.html"));
}

#[test]
fn streams_and_mail_are_taken_out_whole() {
    let text =
        alone("stream {\n server { listen 25; proxy_pass a:1; }\n}\nmail {\n}\nhttp { server { } }\n").text();
    assert!(!text.contains("stream") && !text.contains("mail") && !text.contains("25"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("http {")).count(), 1);
}

#[test]
fn ports_are_listened_on_once_in_a_server_and_by_default_once() {
    let text = alone(
        "http { server { listen 10.0.0.1:80 default_server reuseport backlog=9; listen 10.0.0.2:80; listen unix:/run/x; }\nserver { listen 10.0.0.2:80 default_server reuseport; listen 443 quic reuseport; listen 8080 proxy_protocol; } }",
    )
    .text();
    assert_eq!(text.matches("127.0.0.1:8000").count(), 2, "{text}");
    assert_eq!(text.matches("default_server").count(), 1, "{text}");
    assert_eq!(text.matches("reuseport").count(), 1, "{text}");
    assert!(!text.contains("unix:") && !text.contains("quic") && !text.contains("proxy_protocol"), "{text}");
}

#[test]
fn lists_of_words_are_no_directives() {
    let text =
        alone("http { map $uri $x { user 1; root 2; } types { a/b pid; } server { root /own; } }").text();
    has(&text, &["map $uri $x { user 1; root 2; }", "types { a/b pid; }", "root \"/site\";"]);
}

/// Pages that the application makes of a site with these paths, its scripts, and where it begins.
fn application(text: &str) -> Option<(Vec<String>, Vec<String>, String)> {
    let application = alone(text).read().entrance(None, None).unwrap().application?;
    let paths = ["/index.html", "/some/permalink/index.html", "/blog/post", "/app.css"].map(str::as_bytes);
    let made = made_pages(std::slice::from_ref(&application), &paths);
    let made = made.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let place = application.place().rsplit(':').next().unwrap_or_default().to_owned();
    Some((made, application.scripts().map(str::to_owned).collect(), place))
}

#[test]
fn what_no_file_has_is_passed_to_the_application() {
    let php = "location ~ \\.php$ { try_files $uri =404; fastcgi_pass unix:/run/php.sock; }";
    let all = ["/index.html", "/some/permalink/index.html", "/blog/post"];
    for (inner, made, scripts) in [
        // WordPress
        (
            "index index.php; location / { try_files $uri $uri/ /index.php?$args; }",
            &all[..],
            &["/index.php"][..],
        ),
        // Laravel, its page of `/` not among those of directories: it falls through only where none are looked for.
        (
            "index index.html; location / { try_files $uri $uri/ /index.php?$query_string; }",
            &all[1..],
            &["/index.php"],
        ),
        ("location / { try_files $uri /index.php$is_args$args; }", &all, &["/index.php"]),
        // Nextcloud
        ("index index.php; try_files $uri $uri/ /index.php$request_uri;", &all, &["/index.php"]),
        (
            "location / { try_files $uri @app; } location @app { proxy_pass http://127.0.0.1:3000; }",
            &all,
            &[],
        ),
        (
            "error_page 404 = @app; location @app { proxy_pass http://127.0.0.1:3000; } location / { expires 1h; }",
            &all[1..],
            &[],
        ),
        // Drupal
        (
            "index index.php; location / { try_files $uri @rewrite; } location @rewrite { rewrite ^ /index.php; }",
            &all,
            &["/index.php"],
        ),
        (
            "index index.php; location / { if (!-e $request_filename) { rewrite ^(.*)$ /index.php?q=$1 last; } }",
            &all,
            &["/index.php"],
        ),
        // An application below a path, beside files.
        ("location /blog/ { try_files $uri /blog/index.php?$args; }", &all[2..], &["/blog/index.php"]),
        (
            "index index.php; location / { try_files $uri $uri/ /index.php; } location /blog/ { expires 1h; }",
            &all[..2],
            &["/index.php"],
        ),
    ] {
        let text = format!("http {{\nserver {{\n{inner}\n{php} }} }}");
        let found = application(&text).unwrap_or_else(|| panic!("none in {inner}"));
        assert_eq!((found.0, found.1, found.2.as_str()), (to_owned(made), to_owned(scripts), "3"), "{inner}");
    }
    for inner in [
        "location / { try_files $uri $uri/ =404; }",
        "location / { try_files $uri /index.html; }",
        "error_page 404 /index.php;",
        "location / { try_files $uri @app; } location @app { return 503; }",
        "location /api/ { proxy_pass http://127.0.0.1:3000; }",
    ] {
        assert_eq!(application(&format!("http {{ server {{ {inner} {php} }} }}")), None, "{inner}");
    }
    let without_php = "http { server { location / { try_files $uri $uri/ /index.php; } } }";
    assert_eq!(application(without_php), None, "a script that nothing runs");
}

fn to_owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
