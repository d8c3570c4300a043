//! Unmodified servers: each is reached on a port where it does not listen, in the class of its client.

use crate::refusals::RULES;
use crate::stage::{Daemon, Got, NGINX, Server, Site, may_run};

pub(crate) const APACHE: &str = "/usr/sbin/apache2";
pub(crate) const HAPROXY: &str = "/usr/sbin/haproxy";
const CADDY: &str = "/usr/bin/caddy";

/// Both classes are served, and a refused request gets a whole 503.
fn is_differentiated(site: &Site, server: &Server<'_>, classes: [&str; 2]) {
    let daemon = Daemon::start(site, server, RULES, &[]);
    assert!(daemon.armed.contains("2 classes, on lo; partial: fair-share"), "{}", daemon.armed);
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body(classes[0]));
    assert_eq!(site.ask("127.0.9.1", "/"), Got::body(classes[1]));
    let statuses: Vec<bool> =
        (0..3).map(|_| matches!(site.ask("127.0.9.1", "/cgi-bin/"), Got::Reply(503, _))).collect();
    assert_eq!(statuses, [false, false, true]);
    daemon.await_line("rule.request-/cgi-bin/*.refused 1");
}

#[test]
fn nginx_is_reached_by_class() {
    if !may_run("nginx_is_reached_by_class", &[NGINX]) {
        return;
    }
    let site = Site::new();
    is_differentiated(&site, &site.nginx(), ["high", "low"]);
}

#[test]
fn haproxy_is_reached_by_class() {
    if !may_run("haproxy_is_reached_by_class", &[HAPROXY]) {
        return;
    }
    let site = Site::new();
    let server = Server::start(&site, &[HAPROXY, "-db", "-f", &haproxy(&site)]);
    is_differentiated(&site, &server, ["high", "low"]);
}

/// Its configuration.
pub(crate) fn haproxy(site: &Site) -> String {
    site.write(
        "haproxy.cfg",
        "global\n  maxconn 100\ndefaults\n  mode http\n  timeout client 100s\n  timeout connect 5s\n  timeout server 5s\n\
         frontend f\n  bind 127.0.0.1:8200 name high\n  bind 127.0.0.1:8201 name low\n\
         \x20 http-request return status 200 content-type text/plain lf-string \"%[so_name]\"\n",
    )
}

#[test]
fn apache_is_reached_where_it_does_not_listen() {
    if !may_run("apache_is_reached_where_it_does_not_listen", &[APACHE]) {
        return;
    }
    let site = Site::new();
    let server = apache(&site);
    let own = site.deferral_s(&server);
    is_differentiated(&site, &server, ["any", "any"]);
    assert_eq!(site.deferral_s(&server), own, "Apache's own deferral is left alone");
}

pub(crate) fn apache(site: &Site) -> Server<'_> {
    let load = |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let loads: String = ["mpm_event", "authz_core", "rewrite"].iter().map(load).collect();
    site.write("index.html", "any");
    let config = site.write(
        "apache.conf",
        &format!(
            "{loads}ServerName localhost\nListen 127.0.0.1:8200\nListen 127.0.0.1:8201\nServerRoot {{dir}}\n\
             PidFile {{dir}}/httpd.pid\nErrorLog {{dir}}/error.log\nDocumentRoot {{dir}}\nUser nobody\nGroup nogroup\n\
             RewriteEngine on\nRewriteRule .* {{dir}}/index.html [L]\n<Directory {{dir}}>\nRequire all granted\n</Directory>\n"
        ),
    );
    Server::start(site, &[APACHE, "-f", &config, "-DFOREGROUND"])
}

#[test]
fn caddy_is_reached_by_class() {
    if !may_run("caddy_is_reached_by_class", &[CADDY]) {
        return;
    }
    let site = Site::new();
    let config = site.write(
        "Caddyfile",
        "{\n\tadmin off\n\tauto_https off\n}\n\
         http://:8200 {\n\tbind 127.0.0.1\n\trespond high\n}\nhttp://:8201 {\n\tbind 127.0.0.1\n\trespond low\n}\n",
    );
    // It keeps a copy of its configuration in a home directory.
    let home = format!("HOME={}", site.path("").display());
    let words = ["/usr/bin/env", "-i", &home, CADDY, "run", "--config", &config, "--adapter", "caddyfile"];
    let server = Server::start(&site, &words);
    is_differentiated(&site, &server, ["high", "low"]);
}
