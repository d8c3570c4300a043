//! Apache's configurations of running servers, as they are found, and their private copies.

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
        self.dir.path().join("etc/apache2.conf")
    }

    fn private(&self) -> PathBuf {
        self.dir.path().join("private")
    }

    fn read(&self) -> Box<dyn Adoptable> {
        read(Language::Apache, &self.main()).unwrap()
    }

    fn adopt(&self) -> Result<Copies, AdoptError> {
        let configuration = self.read();
        let entrance = configuration.entrance(None, None)?;
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        configuration.adopt(&Setting {
            port: 8000,
            further: &[8001, 8002],
            dir: &self.private(),
            site: Some(Path::new("/site")),
            certificate: (Path::new("/made/cert.pem"), Path::new("/made/key.pem")),
            stand_ins: StandIns { http: at(9001), https: at(9002), fastcgi: at(9003) },
            prefix: Path::new("/etc/apache2"),
            ..Setting::unreal(entrance.port)
        })
    }

    /// The text of all copies.
    fn text(&self) -> String {
        self.adopt().unwrap().whole_text()
    }
}

fn alone(text: &str) -> Yard {
    Yard::new(&[("apache2.conf", text)])
}

#[track_caller]
fn has(text: &str, all: &[&str]) {
    for one in all {
        assert!(text.contains(one), "`{one}` is not in\n{text}");
    }
}

#[track_caller]
fn lacks(text: &str, all: &[&str]) {
    for one in all {
        assert!(!text.contains(one), "`{one}` is still in\n{text}");
    }
}

fn reasons<T>(of: Result<T, AdoptError>) -> Vec<(usize, Reason)> {
    match of {
        Err(AdoptError::Refused(all)) => all.into_iter().map(|one| (one.line, one.reason)).collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("nothing is refused"),
    }
}

/// The layout of Debian, with a site beside the default one.
const DEBIAN: [(&str, &str); 7] = [
    (
        "apache2.conf",
        "DefaultRuntimeDir ${APACHE_RUN_DIR}\nPidFile ${APACHE_PID_FILE}\nUser ${APACHE_RUN_USER}\nGroup www-data\nMutex file:/var/lock/apache2 default\nErrorLog ${APACHE_LOG_DIR}/error.log\nLogLevel warn\nIncludeOptional mods-enabled/*.load\nIncludeOptional mods-enabled/*.conf\nInclude ports.conf\n<Directory />\n\tRequire all denied\n</Directory>\n<Directory /var/www/>\n\tAllowOverride None\n\tRequire all granted\n</Directory>\n\
         LogFormat \"%h \\\"%r\\\"\" \\\n\tcombined\nIncludeOptional conf-enabled/*.conf\nIncludeOptional sites-enabled/*.conf\n# end\n",
    ),
    (
        "envvars",
        "export APACHE_LOG_DIR=/var/log/apache2$SUFFIX\nexport APACHE_RUN_USER=www-data\nexport SHOP=shop.example\n",
    ),
    ("ports.conf", "Listen 80\n<IfModule ssl_module>\n\tListen 443\n</IfModule>\n"),
    ("mods-enabled/ssl.load", "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n"),
    (
        "mods-enabled/ssl.conf",
        "<IfModule mod_ssl.c>\n\tSSLPassPhraseDialog exec:/usr/share/apache2/ask-for-passphrase\n\tSSLSessionCache shmcb:/var/run/ssl_scache(512000)\n\tSSLUseStapling on\n\tSSLStaplingCache shmcb:/var/run/ocsp(128000)\n</IfModule>\n",
    ),
    (
        "sites-enabled/000-default.conf",
        "<VirtualHost *:80>\n\tDocumentRoot /var/www/html\n\tErrorLog ${APACHE_LOG_DIR}/error.log\n\tCustomLog ${APACHE_LOG_DIR}/access.log combined\n</VirtualHost>\n",
    ),
    (
        "sites-enabled/shop.conf",
        "<VirtualHost *:80>\n\tServerName ${SHOP}\n\tRedirect permanent / https://shop.example/\n</VirtualHost>\n<VirtualHost 10.0.0.1:443 [2001:db8::1]:443>\n\tServerName shop.example:443\n\tServerAlias *.shop.example\n\tDocumentRoot \"/srv/shop/public\"\n\
         \tSSLEngine on\n\tSSLCertificateFile /etc/letsencrypt/live/shop/fullchain.pem\n\tSSLCertificateKeyFile /etc/letsencrypt/live/shop/privkey.pem\n\tCustomLog \"|/usr/bin/rotatelogs /var/log/shop 86400\" combined\n\tErrorLog syslog:local1\n\
         \tAlias /static/ /srv/static/\n\tScriptAlias /cgi-bin/ /usr/lib/cgi-bin/\n\tProxyPass /api/ http://127.0.0.1:3000/ retry=0\n\tProxyPassReverse /api/ http://127.0.0.1:3000/\n\
         \t<FilesMatch \\.php$>\n\t\tSetHandler \"proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost\"\n\t</FilesMatch>\n</VirtualHost>\n",
    ),
];

#[test]
fn nothing_of_the_machine_is_left_in_a_copy() {
    let yard = Yard::new(&DEBIAN);
    let (copies, text) = (yard.adopt().unwrap(), yard.text());
    lacks(
        &text,
        &[
            "/var/",
            "/run/",
            "www-data",
            "2001:",
            "10.0.0.1",
            "letsencrypt",
            "3000",
            "/srv",
            "tapling",
            "syslog",
            "rotatelogs",
            "cgi-bin",
            "ask-for",
            "${APACHE",
            "${SHOP}",
        ],
    );
    let private = yard.private().display().to_string();
    has(
        &text,
        &[
            "Listen 127.0.0.1:8001\n",
            "Listen 127.0.0.1:8000 https\n",
            "<VirtualHost *:8001>",
            "<VirtualHost 127.0.0.1:8000>",
            "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so",
            "<Directory \"/site\">\n\tAllowOverride None",
            "DocumentRoot \"/site\"",
            "SSLCertificateFile \"/made/cert.pem\"",
            "SSLCertificateKeyFile \"/made/key.pem\"",
            "Alias /static/ \"/site/static/\"",
            "ProxyPass /api/ \"http://127.0.0.1:9001/\" retry=0",
            "ProxyPassReverse /api/ \"http://127.0.0.1:9001/\"",
            "SetHandler \"proxy:fcgi://127.0.0.1:9003\"",
            "ServerName shop.example\n\tRedirect permanent / https://shop.example/",
            &format!("ErrorLog \"{private}/error.log\"\n"),
            &format!("CustomLog \"{private}/access.log\" combined"),
            &format!("CustomLog \"{private}/access-2.log\" combined"),
            &format!("SSLSessionCache \"shmcb:{private}/sslsessioncache(512000)\""),
            &format!(
                "IncludeOptional \"{private}/tree{}/etc/sites-enabled/*.conf\"",
                yard.dir.path().display()
            ),
        ],
    );
    assert_eq!(copies.stand_ins, StandIns { http: true, https: false, fastcgi: true });
    let played: Vec<&str> = copies.played.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!(played, ["127.0.0.1:3000", "unix:/run/php/php8.2-fpm.sock"]);
    assert!(copies.played[0].1.ends_with("etc/sites-enabled/shop.conf:16"), "{:?}", copies.played);
}

#[test]
fn lines_of_copies_are_those_of_the_originals() {
    let yard = Yard::new(&DEBIAN);
    let copies = yard.adopt().unwrap();
    copies.write().unwrap();
    for (path, text) in DEBIAN {
        let original = yard.dir.path().join("etc").join(path);
        let copy = yard.private().join("tree").join(original.strip_prefix("/").unwrap()).canonicalize();
        let copy = std::fs::read_to_string(copy.unwrap()).unwrap();
        assert_eq!(copy.lines().count(), text.lines().count(), "{path}:\n{copy}");
        assert_eq!(std::fs::read_to_string(&original).unwrap(), text, "the original stays");
    }
    // A directive over several lines, too, and a section that goes whole.
    let text =
        alone("User \\\n x\nListen \\\n  80\n<MDomainSet a>\nMDMember b\n</MDomainSet>\n# end\n").text();
    assert_eq!(text.lines().position(|line| line == "# end"), Some(8), "behind the file's name:\n{text}");
}

#[test]
fn the_host_that_serves_something_is_asked_and_by_its_name() {
    let yard = Yard::new(&DEBIAN);
    let configuration = yard.read();
    let Entrance { port, tls, host, place, .. } = configuration.entrance(None, None).unwrap();
    assert_eq!((port, tls, host.as_deref()), (443, true, Some("shop.example")));
    assert!(place.ends_with("shop.conf:5"), "not the redirection at line 1: {place}");
    let plain = configuration.entrance(Some(false), None).unwrap();
    assert_eq!((plain.port, plain.tls, plain.host), (80, false, None));
    assert!(plain.place.ends_with("default.conf:1"), "{}", plain.place);
    let other = configuration.entrance(None, Some("www.shop.example")).unwrap();
    assert_eq!((other.port, other.host), (443, None), "the host is known already");
    // The main server, where no section is for its port.
    let main = alone(
        "Listen 8080\nListen 80\nServerName https://a.example:8080\n<VirtualHost *:80>\nRewriteEngine on\nRewriteCond %{SERVER_NAME} =a.example\nRewriteRule ^ https://%{SERVER_NAME}%{REQUEST_URI} [END,NE,R=permanent]\n</VirtualHost>\n",
    );
    let entrance = main.read().entrance(None, None).unwrap();
    assert_eq!((entrance.port, entrance.host.as_deref()), (8080, Some("a.example")));
    // A rule for one name of two.
    let www = alone(
        "Listen 80\n<VirtualHost *:80>\nServerName a.example\nRewriteCond %{HTTP_HOST} ^www\nRewriteRule ^(.*)$ https://a.example$1 [R=301,L]\n</VirtualHost>\n<VirtualHost *:80>\nServerName b.example\n</VirtualHost>\n",
    );
    assert_eq!(www.read().entrance(None, None).unwrap().host.as_deref(), Some("a.example"));
    // A module that is not loaded.
    let idle = alone(
        "LoadModule dir_module x/mod_dir.so\nListen 80\nListen 443\n<IfModule mod_ssl.c>\n<VirtualHost *:443>\nSSLEngine on\n</VirtualHost>\n</IfModule>\n<VirtualHost *:80>\n</VirtualHost>\n",
    );
    assert_eq!(idle.read().entrance(None, None).unwrap().port, 80);
    let defined = alone(
        "Define LIVE\n<IfDefine LIVE>\nDefine PORT 81\n</IfDefine>\n<IfDefine !LIVE>\nDefine PORT 82\n</IfDefine>\nListen ${PORT}\n",
    );
    assert_eq!(defined.read().entrance(None, None).unwrap().port, 81);
    assert!(matches!(
        reasons(main.read().entrance(Some(true), None))[..],
        [(1, Reason::NoListen { tls: true })]
    ));
    assert!(matches!(reasons(alone("KeepAlive On\n").adopt())[..], [(1, Reason::NoServer)]));
}

#[test]
fn everything_behind_a_server_is_played() {
    let yard = alone(
        "Define APP 10.0.0.7:3000\nListen 80\nSSLProxyEngine on\nSSLProxyVerify require\n\
         ProxyPass /a http://${APP}/x keepalive=On\nProxyPassMatch ^/b/(.*)$ https://safe.internal/$1\n\
         ProxyPassMatch ^/(.*\\.php)$ fcgi://127.0.0.1:9000/var/app/$1\nProxyPass /no !\nProxyPass /c balancer://farm/\n\
         <Proxy balancer://farm>\nBalancerMember http://n1:8080 route=1\nBalancerMember unix:/run/n.sock|http://n2/ route=2\nProxySet lbmethod=byrequests\n</Proxy>\n\
         <Location /l>\nProxyPass ws://sockets:81/\n</Location>\nRewriteRule ^/p/(.*) http://other/$1 [QSA,P]\nRewriteRule ^/q https://elsewhere/ [R=302]\n\
         AddHandler proxy:unix:/run/php.sock|fcgi://localhost .php\n<Proxy \"unix:/run/php.sock|fcgi://localhost\">\nProxySet timeout=9\n</Proxy>\n",
    );
    let text = yard.text();
    has(
        &text,
        &[
            "ProxyPass /a \"http://127.0.0.1:9001/x\" keepalive=On",
            "ProxyPassMatch ^/b/(.*)$ \"https://127.0.0.1:9002/$1\"",
            "ProxyPassMatch ^/(.*\\.php)$ \"fcgi://127.0.0.1:9003/var/app/$1\"",
            "ProxyPass /no !",
            "ProxyPass /c balancer://farm/",
            "BalancerMember \"http://127.0.0.1:9001\" route=1",
            "BalancerMember \"http://127.0.0.1:9001/\" route=2",
            "ProxyPass \"ws://127.0.0.1:9001/\"",
            "RewriteRule ^/p/(.*) \"http://127.0.0.1:9001/$1\" [QSA,P]",
            "RewriteRule ^/q https://elsewhere/ [R=302]",
            "AddHandler \"proxy:fcgi://127.0.0.1:9003\" .php",
            "<Proxy \"fcgi://127.0.0.1:9003\">",
            "proxy-tls.conf\"",
            "SSLProxyCheckPeerName off",
        ],
    );
    lacks(&text, &["require"]);
    assert_eq!(yard.adopt().unwrap().stand_ins, StandIns { http: true, https: true, fastcgi: true });
}

#[test]
fn an_upstream_that_is_allowed_is_asked_itself() {
    let yard = alone(
        "Listen 80\nProxyPass /a http://127.0.0.1:3000/\nProxyPass /b http://b.example/\nProxyPass /c http://c.example/\nProxyPass /j ajp://127.0.0.1:8009/\nSetHandler proxy:unix:/run/p.sock|fcgi://x\n",
    );
    let configuration = yard.read();
    let allowed =
        ["127.0.0.1:3000", "b.example:80", "ajp://127.0.0.1:8009", "unix:/run/p.sock"].map(str::to_owned);
    let text =
        configuration.adopt(&Setting { allowed: &allowed, ..Setting::unreal(80) }).unwrap().whole_text();
    has(
        &text,
        &["/a http://127.0.0.1:3000/", "http://b.example/", "ajp://127.0.0.1:8009/", "unix:/run/p.sock|"],
    );
    lacks(&text, &["c.example"]);
    let ajp = Reason::Upstream { directive: "ProxyPass".into(), address: "ajp://127.0.0.1:8009".into() };
    assert_eq!(reasons(configuration.adopt(&Setting::unreal(80))), [(5, ajp)]);
}

#[test]
fn what_runs_programs_or_leaves_the_machine_is_refused_by_name_all_at_once() {
    let yard = alone(
        "Listen 80\nWSGIScriptAlias / /srv/app.wsgi\nRewriteMap m prg:/usr/bin/map\nRewriteMap t txt:/etc/map\nAuthLDAPURL ldap://l\nProxyPass /u uwsgi://127.0.0.1:3031/\nListen ${NONE}\n<VirtualHost *:$port>\n</VirtualHost>\nRewriteRule ^ ${t:$1} [P]\nRewriteRule ^/f - [H=proxy:fcgi://h]\n",
    );
    let found = reasons(yard.adopt());
    assert_eq!(
        found.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
        [2, 3, 5, 6, 7, 8, 10, 11],
        "{found:?}"
    );
    for (text, line) in [
        ("Listen 80\n<Perl>\n$x = 1;\n</Perl>\n", 2),
        ("Listen 80\n\nInclude none.conf\n", 3),
        ("<VirtualHost *:80>\nListen 80", 1),
        ("Listen 80\n</VirtualHost>", 2),
        ("Include apache2.conf\n", 1),
    ] {
        let error = read(Language::Apache, &alone(text).main()).map(|_| ()).unwrap_err();
        let AdoptError::Refused(all) = &error else { panic!("{error}") };
        assert_eq!(all[0].line, line, "{text}: {error}");
        assert!(error.to_string().contains(&format!("apache2.conf:{line}: ")), "{error}");
    }
    alone("Listen 80\n<IfModule x>\nInclude none.conf\n</IfModule>\nIncludeOptional none.conf\n").text();
    let many: String = (1..8).map(|n| format!("Listen {n}\n")).collect();
    assert!(matches!(reasons(alone(&many).adopt())[0], (_, Reason::Ports)));
}

#[test]
fn ports_are_listened_on_once() {
    let text = alone(
        "Listen 10.0.0.1:80\nListen [::]:80\n<IfModule ssl_module>\nListen 443\n</IfModule>\n<IfModule mod_gnutls.c>\nListen 443\n</IfModule>\n<VirtualHost _default_:80 10.0.0.1:80 [::1]:80 10.0.0.1:99>\n</VirtualHost>\n<VirtualHost *>\n</VirtualHost>\n<VirtualHost *:443>\n</VirtualHost>\n",
    )
    .text();
    assert_eq!(text.matches("Listen 127.0.0.1:8000").count(), 1, "{text}");
    assert_eq!(text.matches("Listen 127.0.0.1:8001 https").count(), 2, "either condition may hold: {text}");
    has(
        &text,
        &["<VirtualHost *:8000 127.0.0.1:8000 127.0.0.1:99>", "<VirtualHost *>", "<VirtualHost *:8001>"],
    );
}

#[test]
fn the_site_may_be_read_and_certificates_are_there() {
    let yard = alone(
        "Listen 443\nDocumentRoot /srv/a\n<VirtualHost *:443>\nDocumentRoot /srv/b\nSSLEngine on\nSSLCertificateFile /c/both.pem\nSSLCertificateChainFile /c/chain.pem\n\
         <Directory /srv/b>\nRequire all granted\n</Directory>\n<Directory /srv/b/private/>\nRequire local\n</Directory>\n<Directory /other>\n</Directory>\n</VirtualHost>\n\
         <VirtualHost *:443>\nMDomain x.example\nSSLEngine On\n</VirtualHost>\n",
    );
    let (text, private) = (yard.text(), yard.private().display().to_string());
    has(
        &text,
        &[
            // The main server's has no section of its own.
            &format!("Listen 127.0.0.1:8000 https\nInclude \"{private}/site.conf\"\n<VirtualHost *:8000>"),
            "<Directory \"/site\">\nRequire all granted\n</Directory>\n</IfModule>",
            &format!(
                "DocumentRoot \"/site\"\nSSLEngine on\nInclude \"{private}/certificate.conf\"\n\n<Directory \"/site\">"
            ),
            "<Directory \"/site/private\">",
            "<Directory /other>",
            &format!("<VirtualHost *:8000>\n\nInclude \"{private}/engine.conf\"\n"),
            "SSLEngine on\nSSLCertificateFile \"/made/cert.pem\"\nSSLCertificateKeyFile \"/made/key.pem\"\n",
        ],
    );
    let own = yard.read().adopt(&Setting { site: None, ..Setting::unreal(443) }).unwrap().whole_text();
    has(&own, &["DocumentRoot /srv/a", "<Directory /srv/b>"]);
}

#[test]
fn caches_are_private_and_programs_of_the_site_do_not_run() {
    let yard = alone(
        "Listen 80\nCacheRoot /var/cache/apache2\nCacheEnable disk /\nAddHandler cgi-script .cgi\nAddType application/x-httpd-cgi .pl\nAddHandler type-map var\nSetHandler server-status\nphp_admin_value error_log /var/log/php\nphp_value memory_limit 9\nRewriteMap t txt:map.txt\n",
    );
    let copies = yard.adopt().unwrap();
    assert_eq!(copies.caches, [yard.private().join("cache-1")]);
    let text = copies.whole_text();
    lacks(&text, &["/var/", "cgi-script", ".pl"]);
    has(
        &text,
        &[
            "CacheEnable disk /",
            "AddHandler type-map var",
            "SetHandler server-status",
            "php_value memory_limit 9",
        ],
    );
}

#[test]
fn a_copied_main_file_finds_the_files_beside_it() {
    let root = Yard::new(&[("conf.d/a.conf", "KeepAlive Off\n"), ("magic", "m")]);
    let etc = root.dir.path().join("etc");
    let text = format!("ServerRoot {}\nListen 80\nInclude conf.d\nMIMEMagicFile magic\n", etc.display());
    let text = alone(&text).text();
    has(&text, &["KeepAlive Off", &format!("MIMEMagicFile \"{}/magic\"", etc.display())]);
    let moved = Yard::new(&[
        ("apache2.conf", "Listen 80\nInclude /etc/apache2/no-such.d/*.conf\n"),
        ("no-such.d/a.conf", "KeepAlive Off\n"),
    ]);
    has(&moved.text(), &["KeepAlive Off"]);
}

#[test]
fn what_no_file_has_is_passed_to_the_application() {
    let php =
        "<FilesMatch \\.php$>\nSetHandler \"proxy:unix:/run/php.sock|fcgi://localhost\"\n</FilesMatch>\n";
    let all = ["/index.html", "/some/permalink/index.html", "/blog/post"];
    let made = |inner: &str, php: &str| {
        let text = format!(
            "Listen 80\n<VirtualHost *:80>\nDocumentRoot /var/www/shop\n{inner}</VirtualHost>\n\
             <VirtualHost *:80>\nServerName other\nFallbackResource /other.php\n</VirtualHost>\n{php}"
        );
        let application = alone(&text).read().entrance(None, None).unwrap().application?;
        let paths = [&all[..], &["/app.css"]].concat();
        let paths: Vec<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
        assert!(application.scripts().all(|script| script == "/index.php"), "{application:?}");
        let made = made_pages(std::slice::from_ref(&application), &paths);
        Some(made.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>())
    };
    let index = "DirectoryIndex index.php index.html\n";
    let rule = "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]\n";
    for (inner, passed) in [
        (format!("{index}FallbackResource /index.php\n"), &all[..]),
        ("FallbackResource /index.php\n".to_owned(), &all[1..]),
        (format!("{index}<Directory /var/www>\n{rule}</Directory>\n"), &all),
        (
            format!("<Directory /var/www/shop/blog>\n{}</Directory>\n", rule.replace(" /index", " index")),
            &all[2..],
        ),
        (format!("{index}FallbackResource /index.php\nAlias /blog/ /srv/blog/\n"), &all[..2]),
    ] {
        let passed: Vec<String> = passed.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(made(&inner, php), Some(passed), "{inner}");
        assert_eq!(made(&inner, ""), None, "a script that nothing runs: {inner}");
    }
    for inner in [
        "",
        "FallbackResource disabled\n",
        "FallbackResource /index.html\n",
        "RewriteRule . /index.php [L]\n",
        "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^/old/ /index.php [L]\n",
        "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . https://shop.example/index.php [R=301,L]\n",
    ] {
        assert_eq!(made(inner, php), None, "{inner}");
    }
}
