//! Configurations of running servers, adopted: they run without an edit, and nothing of the running server is touched.

use crate::contract;
use crate::support::{Origin, Yard, has, plan};
use std::io::ErrorKind;
use std::net::TcpListener;

/// What must never be reached, nor change: the upstream that the configuration names, its cache, its logs.
struct Decoys {
    upstream: TcpListener,
    address: String,
}

impl Decoys {
    fn new(yard: &Yard) -> Self {
        let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
        upstream.set_nonblocking(true).unwrap();
        for (name, text) in [("cache/a/kept", "kept"), ("access.log.real", ""), ("error.log.real", "")] {
            let path = yard.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { address: upstream.local_addr().unwrap().to_string(), upstream }
    }

    #[track_caller]
    fn are_untouched(&self, yard: &Yard) {
        let reached = self.upstream.accept().map_err(|error| error.kind());
        assert!(matches!(reached, Err(ErrorKind::WouldBlock)), "the upstream was asked: {reached:?}");
        let names: Vec<_> = std::fs::read_dir(yard.path("cache")).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "something was cached: {names:?}");
        assert_eq!(yard.read("cache/a/kept"), "kept");
        assert_eq!(
            (yard.read("access.log.real"), yard.read("error.log.real")),
            (String::new(), String::new())
        );
        assert!(!yard.path("nginx.pid").exists());
    }

    /// `/etc/nginx` of a machine with a site, an application, an interpreter and a cache, by its layout.
    fn layout(&self, yard: &Yard, name: &str, extra: &str) {
        let here = yard.path("").display().to_string();
        let here = here.trim_end_matches('/');
        std::fs::create_dir_all(yard.path(&format!("{name}/sites-enabled"))).unwrap();
        yard.write(
            &format!("{name}/nginx.conf"),
            format!(
                "user www-data;\nworker_processes 1;\npid {here}/nginx.pid;\nerror_log {here}/error.log.real;\n\
                 events {{ worker_connections 512; }}\nhttp {{\n\taccess_log {here}/access.log.real;\n\
                 \tproxy_cache_path {here}/cache keys_zone=c:1m;\n\tinclude sites-enabled/*;\n}}\n"
            ),
        );
        yard.write(
            &format!("{name}/sites-enabled/shop"),
            format!(
                "upstream app {{\n\tserver {address};\n\tkeepalive 4;\n}}\nserver {{\n\tlisten 80;\n\tlisten [::]:80;\n\
                 \tserver_name shop.example;\n\treturn 301 https://$host$request_uri;\n}}\nserver {{\n\
                 \tlisten 443 ssl;\n\tlisten [::]:443 ssl;\n\tserver_name shop.example;\n\
                 \tssl_certificate /etc/letsencrypt/live/shop.example/fullchain.pem;\n\
                 \tssl_certificate_key /etc/letsencrypt/live/shop.example/privkey.pem;\n\troot /var/www/shop;\n\
                 \tindex index.php index.html;\n\t{extra}\n\tlocation /api/ {{\n\t\tproxy_pass http://app/;\n\t\tproxy_cache c;\n\
                 \t\tproxy_cache_valid 1m;\n\t}}\n\tlocation ~ \\.php$ {{\n\t\tinclude fastcgi.conf;\n\
                 \t\tfastcgi_pass unix:/run/php/php8.2-fpm.sock;\n\t}}\n}}\n",
                address = self.address
            ),
        );
        yard.write(
            &format!("{name}/fastcgi.conf"),
            "fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\nfastcgi_param REQUEST_URI $request_uri;\n\
             fastcgi_param REQUEST_METHOD $request_method;\n",
        );
    }

    /// `/etc/apache2` of such a machine, by Debian's layout.
    fn apache(&self, yard: &Yard, name: &str, extra: &str) {
        let here = yard.path("").display().to_string();
        let here = here.trim_end_matches('/');
        for dir in ["mods-enabled", "sites-enabled"] {
            std::fs::create_dir_all(yard.path(&format!("{name}/{dir}"))).unwrap();
        }
        for module in APACHE_MODULES {
            let line = format!("LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so\n");
            yard.write(&format!("{name}/mods-enabled/{module}.load"), line);
        }
        yard.write(
            &format!("{name}/mods-enabled/ssl.conf"),
            format!(
                "SSLPassPhraseDialog exec:/nowhere\nSSLSessionCache shmcb:{here}/cache/sessions(512000)\n"
            ),
        );
        yard.write(
            &format!("{name}/ports.conf"),
            "Listen 80\n<IfModule ssl_module>\n\tListen 443\n</IfModule>\n",
        );
        yard.write(
            &format!("{name}/apache2.conf"),
            format!(
                "DefaultRuntimeDir {here}/cache\nPidFile {here}/nginx.pid\nUser www-data\nGroup www-data\n\
                 Mutex file:{here}/cache default\nErrorLog {here}/error.log.real\nLogLevel warn\n\
                 IncludeOptional mods-enabled/*.load\nIncludeOptional mods-enabled/*.conf\nInclude ports.conf\n\
                 <Directory />\n\tRequire all denied\n</Directory>\nTypesConfig /etc/mime.types\n\
                 LogFormat \"%h %l %u %t \\\"%r\\\" %>s %O\" common\nIncludeOptional sites-enabled/*.conf\n"
            ),
        );
        yard.write(
            &format!("{name}/sites-enabled/shop.conf"),
            format!(
                "<VirtualHost *:80>\n\tServerName shop.example\n\tRedirect permanent / https://shop.example/\n</VirtualHost>\n\
                 <VirtualHost *:443>\n\tServerName shop.example\n\tDocumentRoot /var/www/shop\n\tSSLEngine on\n\
                 \tSSLCertificateFile /etc/letsencrypt/live/shop.example/fullchain.pem\n\
                 \tSSLCertificateKeyFile /etc/letsencrypt/live/shop.example/privkey.pem\n\
                 \tCustomLog {here}/access.log.real common\n\tDirectoryIndex index.php index.html\n\t{extra}\n\
                 \tCacheRoot {here}/cache\n\tCacheEnable disk /api/\n\tProxyPass /api/ http://{address}/\n\
                 \tProxyPassReverse /api/ http://{address}/\n\t<FilesMatch \\.php$>\n\
                 \t\tSetHandler \"proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost\"\n\t</FilesMatch>\n</VirtualHost>\n",
                address = self.address
            ),
        );
    }
}

/// Modules of the layout, as `mods-enabled` has them.
const APACHE_MODULES: [&str; 13] = [
    "mpm_event",
    "authz_core",
    "alias",
    "cache",
    "cache_disk",
    "dir",
    "mime",
    "headers",
    "proxy",
    "proxy_http",
    "proxy_fcgi",
    "socache_shmcb",
    "ssl",
];
/// `/etc/caddy` of a machine with a site, an application and an interpreter.
fn caddy_layout(decoys: &Decoys, yard: &Yard, name: &str, extra: &str) {
    let here = yard.path("").display().to_string();
    let here = here.trim_end_matches('/');
    std::fs::create_dir_all(yard.path(&format!("{name}/sites"))).unwrap();
    yard.write(
        &format!("{name}/Caddyfile"),
        format!(
            "{{\n\temail me@shop.example\n\tadmin unix/{here}/nginx.pid\n\tlog {{\n\t\toutput file {here}/error.log.real\n\t}}\n}}\n\
             (common) {{\n\tencode gzip\n\theader X-Common {{args.0}}\n}}\nimport sites/*\n"
        ),
    );
    yard.write(
        &format!("{name}/sites/shop"),
        format!(
            "www.shop.example {{\n\tredir https://shop.example{{uri}}\n}}\nshop.example {{\n\ttls me@shop.example\n\
             \timport common yes\n\troot * /var/www/shop\n\tlog {{\n\t\toutput file {here}/access.log.real {{\n\t\t\troll_keep 2\n\t\t}}\n\t}}\n\
             \t{extra}\n\thandle_path /api/* {{\n\t\treverse_proxy {address} {{\n\t\t\thealth_uri /up\n\t\t}}\n\t}}\n\
             \treverse_proxy /safe/* https://{address}\n\tphp_fastcgi unix//run/php/php.sock\n\tfile_server\n}}\n",
            address = decoys.address
        ),
    );
}

fn log() -> String {
    let line = |(path, status, size): (&str, u16, u32)| {
        format!(
            "1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"GET {path} HTTP/1.1\" {status} {size} \"-\" \"-\"\n"
        )
    };
    let all = [
        ("/", 200, 3000),
        ("/style.css", 200, 900),
        ("/api/users/1", 200, 250),
        ("/api/users/2?full=1", 200, 70_000),
        ("/checkout.php?cart=7", 200, 12_000),
        ("/missing", 404, 150),
    ];
    all.map(line).concat().repeat(20)
}

#[test]
fn a_configuration_of_a_running_server_is_compared_without_an_edit_and_nothing_of_it_is_touched() {
    if !has(
        "nginx",
        "a_configuration_of_a_running_server_is_compared_without_an_edit_and_nothing_of_it_is_touched",
    ) {
        return;
    }
    let yard = Yard::new();
    let decoys = Decoys::new(&yard);
    decoys.layout(&yard, "old", "");
    decoys.layout(&yard, "new", "add_header X-New 1;");
    yard.write("access.log", log());
    let said = yard
        .run(&[
            "compare",
            "--server",
            "nginx",
            "old/nginx.conf",
            "new/nginx.conf",
            "--log",
            "access.log",
            "--robots",
            "4",
            "--budget",
            "45s",
            "--margin",
            "60%",
            "--out",
            "out",
        ])
        .exits(0);
    decoys.are_untouched(&yard);
    let shop = yard.path("old/sites-enabled/shop").display().to_string();
    let said = said.says(&[
        "the running server, its logs and its caches are not touched",
        &format!(
            "stand-ins answer for {} ({shop}:2), unix:/run/php/php8.2-fpm.sock ({shop}:27)",
            decoys.address
        ),
        &format!("asked over https as shop.example: {shop}:11"),
        "listen (4)",
    ]);
    assert!(!said.stderr.contains("/tmp/private"), "{}", said.stderr);
    let results = contract::kept(&yard, "out", &["old", "new"], "subject_cpu_per_request");
    for arm in ["old", "new"] {
        let arm = &results["arms"][arm];
        assert_eq!(arm["errors"], serde_json::json!({}), "{arm}");
        let statuses: Vec<&String> = arm["statuses"].as_object().unwrap().keys().collect();
        assert_eq!(statuses, ["200", "404"], "as the log has them: {arm}");
        let config = arm["subject"]["config"].as_str().unwrap();
        assert!(
            config.contains(&format!("# configuration file {}:", yard.path("old/nginx.conf").display()))
                || config.contains("X-New")
        );
    }
}

/// A handshake with RSA costs the server several times one with ECDSA.
#[test]
fn the_throw_away_certificate_is_of_the_kind_of_the_server_s_own() {
    let test = "the_throw_away_certificate_is_of_the_kind_of_the_server_s_own";
    if !has("nginx", test) || !has("openssl", test) {
        return;
    }
    let yard = Yard::new();
    let own = |name: &str, kind: &[&str]| {
        let (cert, key) = (yard.path(&format!("{name}.pem")), yard.path(&format!("{name}.key")));
        let mut openssl = std::process::Command::new("openssl");
        openssl
            .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=shop.example", "-newkey"])
            .args(kind);
        assert!(openssl.arg("-out").arg(&cert).arg("-keyout").arg(&key).output().unwrap().status.success());
        // A key is never read.
        std::fs::remove_file(key).unwrap();
        let conf = format!(
            "events {{}}\nhttp {{\n\tserver {{\n\t\tlisten 443 ssl;\n\t\tserver_name shop.example;\n\t\tssl_certificate {};\n\
             \t\tssl_certificate_key {name}.key;\n\t\tssl_protocols TLSv1.2;\n\t\troot /var/www;\n\t}}\n}}\n",
            cert.display()
        );
        yard.write(&format!("{name}.conf"), conf);
    };
    own("rsa", &["rsa:3072"]);
    own("ecdsa", &["ec", "-pkeyopt", "ec_paramgen_curve:P-384"]);
    yard.write("access.log", log());
    let args = ["compare", "--server", "nginx", "rsa.conf", "ecdsa.conf", "--log", "access.log"];
    let said = yard.run(&[&args[..], &["--budget", "10s", "--margin", "60%", "--out", "out"]].concat());
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    said.says(&["throw-away, RSA 3072 as in", "throw-away, ECDSA P-384 as in"]);
    let arms = &yard.results("out")["arms"];
    // In the names of suites of TLS 1.2 is the kind of the certificate.
    for (arm, suite) in [("rsa", "ECDHE_RSA"), ("ecdsa", "ECDHE_ECDSA")] {
        let arm = &arms[arm];
        assert!(arm["subject"]["tls"].as_str().unwrap().contains(suite), "{arm}");
    }
}

/// A front controller, as of WordPress: the server finds no file for a page, and asks the application by the path that was asked
/// for. In the second configuration it asks for another one.
#[test]
fn pages_without_a_file_are_asked_of_the_application_by_their_paths() {
    if !has("nginx", "pages_without_a_file_are_asked_of_the_application_by_their_paths") {
        return;
    }
    let yard = Yard::new();
    let decoys = Decoys::new(&yard);
    for name in ["asked", "astray"] {
        decoys.layout(&yard, name, "location / { try_files $uri $uri/ /index.php?$args; }");
        let shop = yard.read(&format!("{name}/sites-enabled/shop"));
        let checked =
            shop.replace("include fastcgi.conf;", "try_files $uri =404;\n\t\tinclude fastcgi.conf;");
        yard.write(&format!("{name}/sites-enabled/shop"), checked);
    }
    let parameters = yard.read("astray/fastcgi.conf");
    yard.write("astray/fastcgi.conf", parameters.replace("$request_uri", "/some/other/"));
    let line = |path: &str, size: u32| {
        format!("1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"GET {path} HTTP/1.1\" 200 {size} \"-\" \"-\"\n")
    };
    let log =
        [line("/", 3000), line("/some/permalink/", 5000), line("/some/caf%C3%A9", 400), line("/a.css", 900)];
    yard.write("access.log", log.concat().repeat(25));
    let mut compared = vec!["compare", "--server", "nginx", "asked/nginx.conf", "astray/nginx.conf"];
    compared.extend([
        "--log",
        "access.log",
        "--robots",
        "2",
        "--budget",
        "30s",
        "--margin",
        "60%",
        "--out",
        "out",
    ]);
    let shop = yard.path("asked/sites-enabled/shop").display().to_string();
    let beforehand = format!(
        "pages without an ending in their names are made by a stand-in, not read from files: {shop}:19"
    );
    yard.run(&compared).exits(4).says(&[&beforehand, "astray is invalid", "404 where 200 was expected"]);
    decoys.are_untouched(&yard);
    let results = yard.results("out");
    let said = results["workload"]["description"].as_str().unwrap();
    assert!(said.ends_with("; 3 of 4 paths have no file, and a stand-in answers for them"), "{said}");
    let statuses = |arm: &str| {
        let of = |status: &str| results["arms"][arm]["statuses"][status].as_u64().unwrap_or(0);
        (of("200"), of("404"))
    };
    let ((found, none), (file, lost)) = (statuses("asked"), statuses("astray"));
    assert_eq!(none, 0, "each page is found by its path");
    assert_eq!(results["arms"]["asked"]["errors"], serde_json::json!({}));
    assert!(found > 0 && file > 0 && lost > file, "all but the file were asked of it: {file} and {lost}");
}

#[test]
fn apaches_configuration_is_compared_without_an_edit_and_nothing_of_it_is_touched() {
    if !has("apache2", "apaches_configuration_is_compared_without_an_edit_and_nothing_of_it_is_touched") {
        return;
    }
    let yard = Yard::new();
    let decoys = Decoys::new(&yard);
    decoys.apache(&yard, "old", "");
    decoys.apache(&yard, "new", "Header set X-New 1");
    yard.write("access.log", log());
    let said = yard
        .run(&[
            "compare",
            "--server",
            "apache",
            "old/apache2.conf",
            "new/apache2.conf",
            "--log",
            "access.log",
            "--robots",
            "4",
            "--budget",
            "45s",
            "--margin",
            "60%",
            "--out",
            "out",
        ])
        .exits(0);
    decoys.are_untouched(&yard);
    let shop = yard.path("old/sites-enabled/shop.conf").display().to_string();
    let said = said.says(&[
        "the running server, its logs and its caches are not touched",
        &format!(
            "stand-ins answer for {} ({shop}:16), unix:/run/php/php8.2-fpm.sock ({shop}:19)",
            decoys.address
        ),
        &format!("asked over https as shop.example: {shop}:5"),
        "Listen (2)",
    ]);
    assert!(!said.stderr.contains("/tmp/private"), "{}", said.stderr);
    let results = contract::kept(&yard, "out", &["old", "new"], "subject_cpu_per_request");
    for arm in ["old", "new"] {
        let arm = &results["arms"][arm];
        assert_eq!(arm["errors"], serde_json::json!({}), "{arm}");
        let statuses: Vec<&String> = arm["statuses"].as_object().unwrap().keys().collect();
        assert_eq!(statuses, ["200", "404"], "as the log has them: {arm}");
    }
    // Messages name the user's file and line.
    decoys.apache(&yard, "bad", "NoSuchDirective on");
    let bad = yard.path("bad/sites-enabled/shop.conf").display().to_string();
    let args =
        ["compare", "--server", "apache", "old/apache2.conf", "bad/apache2.conf", "--log", "access.log"];
    let said = yard.run(&[&args[..], &["--out", "bad-out"]].concat()).exits(3);
    let said = said.says(&["Invalid command 'NoSuchDirective'", &format!("line 13 of {bad}")]);
    assert!(!said.stderr.contains("/tree/"), "{}", said.stderr);
    decoys.are_untouched(&yard);
}

#[test]
fn a_plan_adopts_and_asks_an_upstream_that_it_allows() {
    if !has("nginx", "a_plan_adopts_and_asks_an_upstream_that_it_allows") {
        return;
    }
    let yard = Yard::new();
    let decoys = Decoys::new(&yard);
    decoys.layout(&yard, "etc", "");
    let other = Yard::new();
    let origin = Origin::start(&other, &[]);
    let real = format!("127.0.0.1:{}", origin.port());
    let shop = yard.read("etc/sites-enabled/shop").replace(&decoys.address, &real);
    yard.write("etc/sites-enabled/shop", shop);
    let workload =
        "kind = \"get\"\nurls = [\"/api/bytes/500\"]\nrobots = 4\nheaders = [\"Host: shop.example\"]";
    let arms = |allow: &str| {
        format!(
            "[arm.plain]\nserver = \"nginx\"\nconfig = \"etc/nginx.conf\"\ntls = true\n{allow}\n\n[arm.same]\nserver = \"nginx\"\nconfig = \"etc/nginx.conf\"\ntls = true\n{allow}\nlimits = {{ memory = \"1GB\" }}\n"
        )
    };
    let allowed = arms(&format!("allow_upstream = [\"{real}\"]"));
    yard.write("plan.toml", plan("", workload, &allowed).replace(", \n", "\n"));
    let said = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]);
    assert_eq!(said.code(), Some(0), "{}{}", said.stdout, said.stderr);
    let (_, _, closing) = origin.end_with_closing_lines();
    assert!(!closing.contains("requests: 0\n"), "the real one was asked: {closing}");
    // It is gone; without leave a stand-in answers, as all of them do for `/bytes/N`.
    yard.write("other.toml", plan("", workload, &arms("")));
    yard.run(&["run", "other.toml", "--out", "other", "--quiet"]).exits(0);
}

#[test]
fn messages_of_the_server_name_the_users_file_and_line() {
    if !has("nginx", "messages_of_the_server_name_the_users_file_and_line") {
        return;
    }
    let yard = Yard::new();
    let decoys = Decoys::new(&yard);
    decoys.layout(&yard, "a", "");
    decoys.layout(&yard, "b", "no_such_directive on;");
    yard.write("access.log", log());
    let args = ["compare", "--server", "nginx", "a/nginx.conf", "b/nginx.conf", "--log", "access.log"];
    let shop = yard.path("b/sites-enabled/shop").display().to_string();
    let said = yard.run(&[&args[..], &["--out", "out"]].concat()).exits(3);
    let said = said.says(&["unknown directive \"no_such_directive\"", &format!("in {shop}:19")]);
    assert!(!said.stderr.contains("/tree/"), "{}", said.stderr);
    // What stands against it is said before anything starts.
    decoys.layout(&yard, "c", "location /l { content_by_lua_block { ngx.say(1) } }");
    let said =
        yard.run(&["compare", "--server", "nginx", "a/nginx.conf", "c/nginx.conf", "--log", "access.log"]);
    said.exits(2)
        .says(&["c/sites-enabled/shop:19: `content_by_lua_block` runs a program that may ask any machine"]);
    decoys.are_untouched(&yard);
}

#[test]
fn a_caddyfile_of_a_running_server_is_compared_without_an_edit_and_nothing_of_it_is_touched() {
    if !has(
        "caddy",
        "a_caddyfile_of_a_running_server_is_compared_without_an_edit_and_nothing_of_it_is_touched",
    ) {
        return;
    }
    let yard = Yard::new();
    let decoys = Decoys::new(&yard);
    caddy_layout(&decoys, &yard, "old", "");
    caddy_layout(&decoys, &yard, "new", "header X-New 1");
    yard.write("access.log", log().replace("/api/users/2", "/safe/users/2"));
    let args = ["compare", "--server", "caddy", "old/Caddyfile", "new/Caddyfile", "--log", "access.log"];
    let rest = ["--robots", "4", "--budget", "75s", "--margin", "60%", "--out", "out"];
    let said = yard.run(&[&args[..], &rest].concat()).exits(0);
    decoys.are_untouched(&yard);
    let shop = yard.path("old/sites/shop").display().to_string();
    let said = said.says(&[
        "the running server, its logs and its caches are not touched",
        &format!("stand-ins answer for {} ({shop}:15), unix//run/php/php.sock ({shop}:20)", decoys.address),
        &format!("asked over https as shop.example: {shop}:4"),
        "address (2)",
    ]);
    assert!(!said.stderr.contains("/tmp/private"), "{}", said.stderr);
    let results = contract::kept(&yard, "out", &["old", "new"], "subject_cpu_per_request");
    for arm in ["old", "new"] {
        let arm = &results["arms"][arm];
        assert_eq!(arm["errors"], serde_json::json!({}), "{arm}");
        let statuses: Vec<&String> = arm["statuses"].as_object().unwrap().keys().collect();
        assert_eq!(statuses, ["200", "404"], "as the log has them: {arm}");
    }
    // A message names the user's file and line.
    caddy_layout(&decoys, &yard, "bad", "no_such_directive on");
    let args = ["compare", "--server", "caddy", "old/Caddyfile", "bad/Caddyfile", "--log", "access.log"];
    let said = yard.run(&[&args[..], &["--out", "other"]].concat()).exits(3);
    let shop = yard.path("bad/sites/shop").display().to_string();
    let said = said.says(&["no_such_directive", &format!("{shop}:13")]);
    assert!(!said.stderr.contains("/tree/"), "{}", said.stderr);
}
