//! Proxy caches as subjects: six products between clients and an origin, and how full each is.
//!
//! Measuring side, cold path. Started like every subject, under a guardian, unprivileged, with all
//! files in the private directory. `spec` is what can be asked for, one file a product writes its
//! configuration and reads its gauge, `store` is what a gauge reading is. Judges no hits: robots
//! and origin do, from outside.
//!
//! Our configurations make a shared cache that obeys the origin and lets a reader compare products:
//! - fresh is what `Cache-Control` or `Expires` says; what says nothing is not kept by guess, and
//!   nothing stale is given out. What is stale is kept and revalidated, where the product can.
//! - a client's `Cache-Control: no-cache` (a reload) reaches the origin.
//! - the largest object is an eighth of the store, larger ones are passed through (not in Traffic
//!   Server, see [`ProxySpec::largest_object_bytes`]).
//! - connections to clients may be idle for ten minutes; connections to the origin are kept.
//! - 2,000 requests in flight, or `Context::connections` if that is more.
//! - no access log. What the product says of a hit is in a reply header, where it can.
//! - concurrent misses as is the product's default: see [`Product`].

pub(crate) mod apache;
mod apache_cache;
mod haproxy;
pub(crate) mod nginx;
mod nginx_cache;
mod spec;
mod squid;
mod store;
mod trafficserver;
mod varnish;

pub use spec::{Product, ProxyMode, ProxyRefusal, ProxySpec, StoresIn};
pub use store::{StoreError, StoreReading, store};

use crate::SubjectError;
use crate::config::demand_port;
use crate::context::Context;
use crate::product::apache::debian_environment;
use crate::program::{self, Place, Recipe, Subject};
use crate::user::Runner;
use std::path::{Path, PathBuf};

/// The directory for objects, in the private one; removed when the proxy has ended.
const CACHE: &str = "cache";

/// Requests in flight at least: hundreds a second at an origin that thinks for 3 s.
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
        false
    }

    fn runner(&self) -> Option<Runner> {
        Runner::unprivileged()
    }

    fn environment(&self, place: &Place<'_>) -> Result<Vec<(String, String)>, SubjectError> {
        Ok(match self.product {
            Product::Apache => debian_environment(&place.dir.display().to_string()),
            Product::TrafficServer => trafficserver::environment(place),
            _ => Vec::new(),
        })
    }

    fn recipe(&self, place: &Place<'_>) -> Result<Recipe, SubjectError> {
        if let Some(refusal) = self.refusal() {
            let product = self.product.title();
            return Err(SubjectError::Proxy { arm: place.arm(), product, refusal });
        }
        let recipe = match self.product {
            Product::Squid => squid::recipe(self, place),
            Product::Varnish => varnish::recipe(self, place),
            Product::Nginx => nginx_cache::recipe(self, place),
            Product::Apache => apache_cache::recipe(self, place),
            Product::TrafficServer => trafficserver::recipe(self, place),
            Product::HaProxy => haproxy::recipe(self, place),
        }?;
        Ok(Recipe { cwd: place.dir.clone(), litter: Some(place.dir.join(CACHE)), ..recipe })
    }
}

/// The first of a product's programs of these names that is there.
fn program(spec: &ProxySpec, place: &Place<'_>, names: &[&str]) -> Result<PathBuf, SubjectError> {
    program::find(names).ok_or_else(|| SubjectError::NoProgram {
        arm: place.arm(),
        program: names.first().copied().unwrap_or_default().to_owned(),
        remedy: format!("install it (Debian, Ubuntu: `apt-get install {}`)", spec.product.debian_packages()),
    })
}

/// The first line that a program says of its version that has a digit in it, without `before`;
/// none, and no error, when it says nothing.
fn version(program: &Path, question: &str, before: &str) -> Option<String> {
    let said = program::ask(program, question).ok()?;
    let line = said.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()))?.trim();
    Some(line.strip_prefix(before).unwrap_or(line).trim().to_owned())
}

/// A new directory in the private one, which becomes the server's.
fn make_dir(place: &Place<'_>, name: &str) -> Result<PathBuf, SubjectError> {
    let path = place.dir.join(name);
    match std::fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(SubjectError::Dir { arm: place.arm(), path, source }),
    }
}

/// The user's configuration with the substitutions made. `listen` is the line that makes it listen
/// where bakeoff looks; none: that is said elsewhere.
fn users_text(place: &Place<'_>, path: &Path, listen: Option<&str>) -> Result<String, SubjectError> {
    let text = place.read(path)?;
    let origin = place.context.at_home(path).display().to_string();
    let wrong = |source| SubjectError::Config { arm: place.arm(), origin: origin.clone(), source };
    if let Some(example) = listen {
        demand_port(&text, example).map_err(wrong)?;
    }
    place.substitutions().file(&text).map_err(wrong)
}

/// Requests that may be in flight at once.
fn connections(place: &Place<'_>) -> usize {
    place.context.connections.max(LEAST_CONNECTIONS)
}

/// Descriptors for that many requests: one to the client, one to the origin, one for a file.
fn descriptors(place: &Place<'_>) -> usize {
    connections(place).saturating_mul(3).saturating_add(1024)
}

/// The cores it may use.
fn cores(place: &Place<'_>) -> usize {
    match place.context.cpus.len() {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    }
}
