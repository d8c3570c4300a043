//! Products that bakeoff knows by name, as servers of the site and as fronts between clients and a server.
//!
//! Measuring side, cold path. Started like every subject, under a supervisor, unprivileged, with all files in the private
//! directory. Each product has one file: a row of its features, its configurations, its start, its gauge. This file has
//! the closed list of them; `spec` describes a front, `store` a reading of a gauge. Judges no hits: robots and origin
//! do, from outside.
//!
//! Our configurations make a shared cache that obeys the origin and lets a reader compare products:
//! - fresh is what `Cache-Control` or `Expires` says; replies without either are not kept by guess, and nothing stale
//!   is given out. Stale replies are kept and revalidated, where the product can.
//! - a client's `Cache-Control: no-cache` (a reload) reaches the origin.
//! - the largest object is an eighth of the store, larger ones are passed through (not in Traffic Server, see
//!   [`ProxySpec::largest_object_bytes`]).
//! - connections to clients may be idle for ten minutes; connections to the origin are kept.
//! - 2,000 requests in flight, or `Context::connections` if that is more.
//! - no access log. The product's own word on a hit is in a reply header, where it can.
//! - concurrent misses as is the product's default: see [`Product`].

mod apache;
mod caddy;
mod haproxy;
mod nginx;
mod reading;
mod spec;
mod squid;
mod store;
mod trafficserver;
mod varnish;

pub use reading::store;
pub use spec::{ProxyMode, ProxyRefusal, ProxySpec};
pub use store::{StoreError, StoreReading, StoresIn};

use crate::SubjectError;
use crate::config::{ConfigError, Substitutions, demand_port, sets, statements};
use crate::context::Context;
use crate::litter::Litter;
use crate::program::{self, Recipe, StartSite, Subject};
use crate::user::Runner;
use std::path::{Path, PathBuf};
use store::{CACHE, Store};

/// The programs that bakeoff can start by name, all of them Debian's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Product {
    /// Squid. Concurrent misses each go to the origin until the first reply's head is there
    /// (`collapsed_forwarding` is off by default); later ones share its body.
    Squid,
    /// Varnish. Concurrent misses wait for the first (its default, request coalescing).
    Varnish,
    /// nginx with `proxy_cache`. Concurrent misses each go to the origin (`proxy_cache_lock` is
    /// off by default).
    Nginx,
    /// Apache httpd with `mod_cache_disk`. Concurrent misses each go to the origin (`CacheLock` is
    /// off by default).
    Apache,
    /// Apache Traffic Server. A concurrent miss waits half a second for the first one's reply, to
    /// share it (`enable_read_while_writer` is on by default, with 10 tries at 50 ms); then it goes
    /// to the origin.
    TrafficServer,
    /// HAProxy with its small-object cache. Concurrent misses each go to the origin; it has no
    /// collapsing, and it never revalidates.
    HaProxy,
    /// Caddy. It keeps nothing.
    Caddy,
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Squid,
        Self::Varnish,
        Self::Nginx,
        Self::Apache,
        Self::TrafficServer,
        Self::HaProxy,
        Self::Caddy,
    ];

    /// The row of features in its file.
    const fn row(self) -> &'static Row {
        match self {
            Self::Squid => &squid::ROW,
            Self::Varnish => &varnish::ROW,
            Self::Nginx => &nginx::ROW,
            Self::Apache => &apache::ROW,
            Self::TrafficServer => &trafficserver::ROW,
            Self::HaProxy => &haproxy::ROW,
            Self::Caddy => &caddy::ROW,
        }
    }

    /// Its name in plans and results.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// Its name in sentences.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// The product with this label.
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.label() == label)
    }

    /// The Debian packages it needs, as `apt-get install` takes them.
    pub const fn debian_packages(self) -> &'static str {
        self.row().debian_packages
    }

    /// Products that serve the site.
    pub fn servers() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|product| product.row().serve.is_some())
    }

    /// Products that can stand before a server.
    pub fn fronts() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// Products that keep replies in a store.
    pub fn caches() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|product| product.stores_in().is_some())
    }

    /// Whether it may keep replies with this configuration of the user's.
    pub fn may_keep(self, config: &str) -> bool {
        self.row().store.as_ref().is_some_and(|store| {
            store.enabled_by.is_empty() || store.enabled_by.iter().any(|directive| sets(config, directive))
        })
    }

    /// The directive of this configuration that lets it give replies whose lifetime is over, if there is one.
    pub fn stale_by(self, config: &str) -> Option<&'static str> {
        statements(config).find_map(|words| match (self, words.as_slice()) {
            (Self::Nginx, ["proxy_cache_use_stale", first, ..]) if *first != "off" => {
                Some("proxy_cache_use_stale")
            }
            (Self::Varnish, ["set", "beresp.grace", "=", time]) if *time != "0s" => Some("beresp.grace"),
            (Self::Apache, [name, "on" | "On"]) if name.eq_ignore_ascii_case("CacheLock") => {
                Some("CacheLock")
            }
            (Self::Squid, ["refresh_pattern", options @ ..]) if options.contains(&"override-expire") => {
                Some("override-expire")
            }
            _ => None,
        })
    }

    /// Location of its store for objects; none: it has no store.
    pub fn stores_in(self) -> Option<StoresIn> {
        self.row().store.as_ref().map(|store| store.stores_in)
    }

    /// Whether it accepts requests with whole URLs.
    pub const fn can_forward(self) -> bool {
        self.row().can_forward
    }

    /// Whether our configuration of it as a front can speak TLS with clients.
    pub const fn can_tls(self) -> bool {
        self.row().can_tls
    }

    /// Whether it asks the origin if a stale object is still good, instead of fetching it anew.
    pub fn can_revalidate(self) -> bool {
        self.row().store.as_ref().is_some_and(|store| store.can_revalidate)
    }

    /// The reply header in which our configuration makes it report hit or miss; the words are the product's. (Squid
    /// from version 6 adds `Cache-Status`.)
    pub fn verdict_header(self) -> Option<&'static str> {
        self.row().store.as_ref().and_then(|store| store.verdict_header)
    }

    /// Whether its replies are numbered when it is a server with our configuration and caches may stand before it.
    pub const fn numbers_replies(self) -> bool {
        self.row().numbers_replies
    }
}

/// Writes a product's files and returns the recipe of its start.
type Start<What> = fn(&What, &StartSite<'_>) -> Result<Recipe, SubjectError>;

/// Names and values of variables.
type Environment = fn(&StartSite<'_>) -> Vec<(String, String)>;

/// The features of a product, and how it is started.
struct Row {
    label: &'static str,
    title: &'static str,
    debian_packages: &'static str,
    /// Start as a server; none: it serves no files.
    serve: Option<Start<Server>>,
    /// Start as a front, between clients and a server.
    front: Start<ProxySpec>,
    /// Variables that it needs in its environment.
    environment: Option<Environment>,
    /// Its store; none: it keeps nothing.
    store: Option<Store>,
    can_forward: bool,
    can_tls: bool,
    numbers_replies: bool,
}

impl Row {
    fn environment(&self, place: &StartSite<'_>) -> Vec<(String, String)> {
        self.environment.map(|environment| environment(place)).unwrap_or_default()
    }
}

/// A product as a server of the site.
pub(crate) struct Server {
    pub(crate) product: Product,
    /// The user's configuration; none: ours.
    pub(crate) config: Option<PathBuf>,
    pub(crate) tls: bool,
}

impl Subject for Server {
    fn tls(&self) -> bool {
        self.tls
    }

    fn users_config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    fn runner(&self) -> Option<Runner> {
        Runner::unprivileged()
    }

    fn environment(&self, place: &StartSite<'_>) -> Result<Vec<(String, String)>, SubjectError> {
        Ok(self.product.row().environment(place))
    }

    fn recipe(&self, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
        let Some(serve) = self.product.row().serve else {
            let (product, refusal) = (self.product.title(), ProxyRefusal::ServesNothing);
            return Err(SubjectError::Proxy { arm: place.arm(), product, refusal });
        };
        Ok(Recipe { cwd: place.dir.clone(), ..serve(self, place)? })
    }
}

/// MIME types given to all servers, so that they send the same headers.
const MIME_TYPES: &[(&str, &str)] = &[
    ("text/html", "html htm"),
    ("text/css", "css"),
    ("text/plain", "txt"),
    ("application/javascript", "js"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/xml", "xml rss"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg jpeg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/x-icon", "ico"),
];

/// Least number of requests in flight to allow for: hundreds a second at an origin that thinks for 3 s.
const LEAST_CONNECTIONS: usize = 2_000;

/// The surroundings with the names that a proxy's configuration may use.
pub(crate) fn context<'a>(spec: &ProxySpec, around: &Context<'a>) -> Context<'a> {
    let mut context = around.clone();
    let values = [
        ("origin", spec.origin.to_string()),
        ("origin_host", spec.origin.ip().to_string()),
        ("origin_port", spec.origin.port().to_string()),
        ("memory_bytes", spec.memory_bytes.to_string()),
        ("disk_bytes", spec.disk_bytes.unwrap_or(0).to_string()),
    ];
    context.values.extend(values.map(|(name, value)| (name.to_owned(), value)));
    context
}

impl Subject for ProxySpec {
    fn tls(&self) -> bool {
        self.tls
    }

    fn users_config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    fn runner(&self) -> Option<Runner> {
        Runner::unprivileged()
    }

    fn environment(&self, place: &StartSite<'_>) -> Result<Vec<(String, String)>, SubjectError> {
        Ok(self.product.row().environment(place))
    }

    fn recipe(&self, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
        if let Some(refusal) = self.refusal() {
            let product = self.product.title();
            return Err(SubjectError::Proxy { arm: place.arm(), product, refusal });
        }
        let recipe = (self.product.row().front)(self, place)?;
        let litter = Litter { dir: Some(place.dir.join(CACHE)), ..recipe.litter };
        Ok(Recipe { cwd: place.dir.clone(), litter, ..recipe })
    }
}

/// The first of these programs of a product that is installed.
fn program(row: &Row, place: &StartSite<'_>, names: &[&str]) -> Result<PathBuf, SubjectError> {
    program::find(names).ok_or_else(|| missing(row, place, names.first().copied().unwrap_or_default()))
}

/// The error that some part of a product is not installed.
fn missing(row: &Row, place: &StartSite<'_>, what: &str) -> SubjectError {
    SubjectError::NoProgram {
        arm: place.arm(),
        program: what.to_owned(),
        remedy: format!("install it (Debian, Ubuntu: `apt-get install {}`)", row.debian_packages),
    }
}

/// The first line of a program's version output that has a digit in it, without `before`; none, and no error, when it
/// prints nothing.
fn version(program: &Path, question: &str, before: &str) -> Option<String> {
    let said = program::ask(program, question).ok()?;
    let line = said.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()))?.trim();
    Some(line.strip_prefix(before).unwrap_or(line).trim().to_owned())
}

/// The version as `NAME/NUMBER`; the number is the first word behind `before`.
fn numbered_version(row: &Row, program: &Path, question: &str, before: &str) -> Option<String> {
    let line = version(program, question, before)?;
    let number = line.split_whitespace().next().unwrap_or_default();
    Some(format!("{}/{number}", row.label))
}

/// A new directory in the private one, which becomes the server's.
fn make_dir(place: &StartSite<'_>, name: &str) -> Result<PathBuf, SubjectError> {
    let path = place.dir.join(name);
    match std::fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(SubjectError::Dir { arm: place.arm(), path, source }),
    }
}

/// The user's configuration with the substitutions made. `listen` is the line that makes it listen where bakeoff looks;
/// none: no such line is demanded.
fn users_text(place: &StartSite<'_>, path: &Path, listen: Option<&str>) -> Result<String, SubjectError> {
    users_text_by(place, path, listen, Substitutions::file)
}

/// The same with substitutions as the product's language needs them.
fn users_text_by(
    place: &StartSite<'_>,
    path: &Path,
    listen: Option<&str>,
    put_in: fn(&Substitutions, &str) -> Result<String, ConfigError>,
) -> Result<String, SubjectError> {
    let text = place.read(path)?;
    let origin = place.context.at_home(path).display().to_string();
    let wrong = |source| SubjectError::Config { arm: place.arm(), origin: origin.clone(), source };
    if let Some(example) = listen {
        demand_port(&text, example).map_err(wrong)?;
    }
    put_in(&place.substitutions(), &text).map_err(wrong)
}

/// Requests that may be in flight at once.
fn connections(place: &StartSite<'_>) -> usize {
    place.context.connections.max(LEAST_CONNECTIONS)
}

/// Descriptors for that many requests: one to the client, one to the origin, one for a file.
fn descriptors(place: &StartSite<'_>) -> usize {
    connections(place).saturating_mul(3).saturating_add(1024)
}

/// The cores it may use.
fn cores(place: &StartSite<'_>) -> usize {
    match place.context.cpus.len() {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_replies_are_allowed_by_directives_that_are_no_comments_and_are_not_off() {
        for (product, config, by) in [
            (
                Product::Nginx,
                "location / { proxy_cache_use_stale error updating; }",
                Some("proxy_cache_use_stale"),
            ),
            (Product::Nginx, "proxy_cache_use_stale off;\n# proxy_cache_use_stale updating;", None),
            (Product::Varnish, "sub vcl_backend_response { set beresp.grace = 10s; }", Some("beresp.grace")),
            (Product::Varnish, "set beresp.grace = 0s;", None),
            (Product::Apache, "cachelock On", Some("CacheLock")),
            (Product::Apache, "CacheLock off", None),
            (Product::Squid, "refresh_pattern . 5 20% 10 override-expire", Some("override-expire")),
            (Product::Squid, "refresh_pattern . 0 20% 4320", None),
            (Product::HaProxy, "proxy_cache_use_stale updating;", None),
        ] {
            assert_eq!(product.stale_by(config), by, "{config}");
        }
    }

    #[test]
    fn labels_lead_back_to_their_products() {
        for product in Product::ALL {
            assert_eq!(Product::from_label(product.label()), Some(product));
        }
        assert_eq!(Product::from_label("polygraph"), None);
    }

    #[test]
    fn a_configuration_without_a_store_keeps_nothing() {
        let proxy = "defaults\n  mode http\nlisten all # cache\n  bind :1\n";
        assert!(!Product::HaProxy.may_keep(proxy));
        assert!(Product::HaProxy.may_keep(&format!("{proxy}cache small\n  total-max-size 4\n")));
        assert!(!Product::Nginx.may_keep("http { server { proxy_pass http://a; } }"));
        assert!(Product::Nginx.may_keep("http { server { proxy_cache a; } }"));
        assert!(Product::Nginx.may_keep("http { include sites/*; }"), "it may be there");
        assert!(Product::Varnish.may_keep("") && !Product::Caddy.may_keep(""));
    }
}
