//! Caddy as a server, and as a reverse proxy without a store, with our Caddyfile or the user's.
//!
//! It has no administration port, gets no certificates of its own, and writes below its private directory only, which
//! is its home. It uses its own list of MIME types. Names in braces are also Caddy's own: in a Caddyfile those that
//! bakeoff does not know stay as they are.

use super::{Product, ProxySpec, Row, Server, connections, numbered_version, program, users_text_by};
use crate::SubjectError;
use crate::adopted::{self, language};
use crate::config::{Substitutions, quoted};
use crate::program::{Recipe, StartSite};
use bakeoff_adopt::{Language, TREE};
use std::path::Path;

pub(super) const ROW: Row = Row {
    label: "caddy",
    title: "Caddy",
    debian_packages: "caddy",
    serve: Some(serve),
    front: proxy,
    environment: None,
    store: None,
    can_forward: false,
    can_tls: true,
    numbers_replies: true,
};

/// Time that a connection to the server behind may be idle, below the origin's 15 s, so that no request is sent into a
/// closing one.
const IDLE_SECONDS: u64 = 10;

fn serve(server: &Server, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    if let Some(path) = &server.config
        && language(Product::Caddy, &place.read(path)?).is_some()
    {
        return private_copy(place, path, server.tls);
    }
    let (config, tls) = (server.config.as_deref(), server.tls);
    recipe(place, config, tls, || {
        let root = quoted(&place.root);
        let numbers = for_caches(place);
        Ok(format!(
            "{numbers}    root * {root}\n    try_files {{path}} {{path}}/index.html\n    file_server\n"
        ))
    })
}

/// `compression off`: clients say themselves what they accept.
fn proxy(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    recipe(place, spec.config.as_deref(), spec.tls, || {
        let (origin, most) = (spec.origin, connections(place));
        Ok(format!(
            "    reverse_proxy {origin} {{
        transport http {{
            versions 1.1
            compression off
            keepalive {IDLE_SECONDS}s
            keepalive_idle_conns {most}
            keepalive_idle_conns_per_host {most}
        }}
    }}
"
        ))
    })
}

/// The recipe that starts Caddy with the user's configuration, or with ours, whose site has these lines.
fn recipe(
    place: &StartSite<'_>,
    users: Option<&Path>,
    tls: bool,
    lines: impl FnOnce() -> Result<String, SubjectError>,
) -> Result<Recipe, SubjectError> {
    let caddy = program(&ROW, place, &["caddy"])?;
    let config = match users {
        None => own_config(place, tls, &lines()?)?,
        Some(path) => users_config(place, path)?,
    };
    let file = place.write("Caddyfile", &config)?;
    Ok(Recipe { config: Some(config), ..started_with(place, &caddy, &file) })
}

/// The recipe that starts a private copy of a running server's configuration.
fn private_copy(place: &StartSite<'_>, path: &Path, tls: bool) -> Result<Recipe, SubjectError> {
    let caddy = program(&ROW, place, &["caddy"])?;
    let copies = adopted::copies(place, (Language::Caddy, path), tls, (Path::new("/"), ""))?;
    let (config, tree) = (Some(copies.whole_text()), Some(place.dir.join(TREE)));
    Ok(Recipe { config, tree, ..started_with(place, &caddy, copies.main()) })
}

fn started_with(place: &StartSite<'_>, caddy: &Path, file: &Path) -> Recipe {
    let file = file.display().to_string();
    let words = ["run", "--adapter", "caddyfile", "--config", &file].map(str::to_owned);
    let argv = std::iter::once(caddy.display().to_string()).chain(words).collect();
    let version = numbered_version(&ROW, caddy, "version", "v");
    Recipe { argv, version, logs: vec![place.dir.join("error.log")], ..Recipe::default() }
}

/// Caddy uses all cores it may by default. At its end it waits for replies under way, by default without a limit.
fn own_config(place: &StartSite<'_>, tls: bool, lines: &str) -> Result<String, SubjectError> {
    let directives = place.directives("the directives for Caddy")?;
    let (scheme, certificate) = if tls {
        let made = place.demand_certificate()?;
        ("https", format!("    tls {} {}\n", quoted(&made.cert), quoted(&made.key)))
    } else {
        ("http", String::new())
    };
    let protocols = match (place.context.http2, tls) {
        (false, _) => "h1",
        (true, false) => "h1 h2c",
        (true, true) => "h1 h2",
    };
    Ok(format!(
        "{{
    admin off
    auto_https off
    storage file_system {data}
    grace_period 1s
    log {{
        output file {log}
        level WARN
    }}
    servers {{
        protocols {protocols}
        timeouts {{
            idle 10m
        }}
    }}
}}
{scheme}://:{port} {{
    bind {host}
{certificate}{directives}{lines}}}
",
        data = quoted(&place.dir.join("data")),
        log = quoted(&place.dir.join("error.log")),
        host = place.context.host(),
        port = place.port,
    ))
}

/// Lifetime of replies, and a number for each, by which hits are told: 15 of its digits are random. Replies that may be
/// answered with 304 have none, so that a stored reply keeps the number that it was made with.
fn for_caches(place: &StartSite<'_>) -> String {
    let Some(age) = place.context.max_age else { return String::new() };
    let seconds = age.whole_secs();
    format!(
        "    header Cache-Control \"public, max-age={seconds}\"
    @whole {{
        not header If-None-Match *
        not header If-Modified-Since *
    }}
    map {{http.request.uuid}} {{serial}} {{
        ~^(.{{8}})-(.{{4}})-(.{{4}}) \"serial=${{1}}${{2}}${{3}}\"
    }}
    header @whole X-Bakeoff {{serial}}
"
    )
}

fn users_config(place: &StartSite<'_>, path: &Path) -> Result<String, SubjectError> {
    // (With an address in it, it would answer requests for that name only.)
    let listen = Some("http://:{port} {` and `bind {host}");
    users_text_by(place, path, listen, Substitutions::file_with_names_of_its_own)
}
