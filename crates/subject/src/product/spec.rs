//! Which proxy, between whom, with how much room: what a plan says of a cache.
//!
//! Measuring side, cold path, no I/O. Owns the closed list of products and what each of them cannot
//! do at all, so that a plan is refused before anything is started. Knows no configuration syntax.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A proxy cache that bakeoff starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySpec {
    /// Which program.
    pub product: Product,
    /// Whom it fetches from. A forward proxy goes where each request says; it is told the origin
    /// all the same, to keep connections to it.
    pub origin: SocketAddr,
    /// How clients ask it.
    pub mode: ProxyMode,
    /// For objects in memory. With `disk_bytes`, what each product makes of it is in its module's
    /// documentation; nginx, Apache and Varnish on disk leave memory to the page cache.
    pub memory_bytes: u64,
    /// For objects on disk, in the private directory; none: in memory only.
    pub disk_bytes: Option<u64>,
    /// The user's configuration; none: ours. Besides what every subject's has, `{origin_host}`,
    /// `{origin_port}`, `{origin}` (both, as in a URL), `{memory_bytes}` and `{disk_bytes}` (0
    /// without) are put in. A cache directory in it should be `{dir}/cache`: that is where the
    /// gauge looks, and what is removed at the end.
    pub config: Option<PathBuf>,
}

/// How clients ask a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyMode {
    /// With whole URLs, knowing that it is a proxy.
    Forward,
    /// With paths, as if it were the origin.
    Reverse,
}

/// The proxy caches that bakeoff can start, all of them Debian's.
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
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Squid, Self::Varnish, Self::Nginx, Self::Apache, Self::TrafficServer, Self::HaProxy];

    /// Its name in plans and results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Squid => "squid",
            Self::Varnish => "varnish",
            Self::Nginx => "nginx",
            Self::Apache => "apache",
            Self::TrafficServer => "trafficserver",
            Self::HaProxy => "haproxy",
        }
    }

    /// Its name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Squid => "Squid",
            Self::Varnish => "Varnish",
            Self::Nginx => "nginx",
            Self::Apache => "Apache httpd",
            Self::TrafficServer => "Traffic Server",
            Self::HaProxy => "HAProxy",
        }
    }

    /// The product with this label.
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.label() == label)
    }

    /// The Debian packages it needs, as `apt-get install` takes them.
    pub const fn debian_packages(self) -> &'static str {
        match self {
            Self::Squid => "squid",
            Self::Varnish => "varnish",
            Self::Nginx => "nginx-light",
            Self::Apache => "apache2 apache2-utils",
            Self::TrafficServer => "trafficserver",
            Self::HaProxy => "haproxy",
        }
    }

    /// Where its store for objects is.
    pub const fn stores_in(self) -> StoresIn {
        match self {
            Self::HaProxy => StoresIn::Memory,
            Self::Nginx | Self::Apache | Self::TrafficServer => StoresIn::Disk,
            Self::Varnish => StoresIn::Either,
            Self::Squid => StoresIn::Both,
        }
    }

    /// Those that can stand before a server.
    pub fn fronts() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// It can be asked with whole URLs.
    pub const fn can_forward(self) -> bool {
        matches!(self, Self::Squid | Self::Apache | Self::TrafficServer)
    }

    /// It asks the origin whether a stale object is still good, instead of fetching it anew.
    pub const fn can_revalidate(self) -> bool {
        !matches!(self, Self::HaProxy)
    }

    /// The reply header in which our configuration makes it say hit or miss; the words are the
    /// product's. (Squid from version 6 adds `Cache-Status`.)
    pub const fn verdict_header(self) -> Option<&'static str> {
        match self {
            Self::Squid | Self::Varnish | Self::Nginx | Self::Apache | Self::TrafficServer => Some("X-Cache"),
            Self::HaProxy => None,
        }
    }
}

/// Where a product keeps objects. Copies in memory of what is on disk are no room of their own: neither the
/// page cache's nor those in Traffic Server's RAM cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoresIn {
    /// In memory only.
    Memory,
    /// On disk only.
    Disk,
    /// In one store, which is in memory or on disk.
    Either,
    /// In memory and on disk.
    Both,
}

/// HAProxy takes the size of its cache in whole megabytes, up to this many.
const HAPROXY_MOST_BYTES: u64 = 4095 << 20;

/// Less than that, and what the store needs for itself leaves too little for objects.
const LEAST_BYTES: u64 = 8 << 20;

/// Traffic Server keeps 8 MB of its store free.
const TRAFFIC_SERVER_LEAST_BYTES: u64 = 32 << 20;

impl ProxySpec {
    /// The same with this room for objects. A product that has one store has all of it there: on disk, where it
    /// can be in both places and some of the room is on disk. `memory_bytes` stays what was given where the
    /// store is on disk: it is the size of Traffic Server's RAM cache, and may stand in a user's configuration.
    #[must_use]
    pub fn with_room(self, memory_bytes: u64, disk_bytes: Option<u64>) -> Self {
        let all = match disk_bytes {
            Some(bytes) => memory_bytes.saturating_add(bytes),
            None => memory_bytes,
        };
        let (memory_bytes, disk_bytes) = match (self.product.stores_in(), disk_bytes) {
            (StoresIn::Memory, _) => (all, None),
            (StoresIn::Disk, _) | (StoresIn::Either, Some(_)) => (memory_bytes, Some(all)),
            (StoresIn::Either, None) | (StoresIn::Both, _) => (memory_bytes, disk_bytes),
        };
        Self { memory_bytes, disk_bytes, ..self }
    }

    /// The bytes that objects may take, and where they are.
    pub const fn store_bytes(&self) -> u64 {
        match self.disk_bytes {
            Some(bytes) => bytes,
            None => self.memory_bytes,
        }
    }

    /// The largest object that our configurations let into the store: an eighth of it, so that one
    /// object cannot empty it, and the same for all. (HAProxy's own default is a 256th, Squid's
    /// 4 MB, Apache's 1 MB.) Larger ones are passed on. Only Traffic Server takes all: a limit would
    /// end its sharing of a reply under way.
    pub const fn largest_object_bytes(&self) -> u64 {
        self.store_bytes() / 8
    }

    /// What the product cannot do; a plan is refused with it before anything starts.
    pub fn refusal(&self) -> Option<ProxyRefusal> {
        let most = match self.product {
            Product::HaProxy => HAPROXY_MOST_BYTES,
            _ => u64::MAX,
        };
        let least = match self.product {
            Product::TrafficServer => TRAFFIC_SERVER_LEAST_BYTES,
            _ => LEAST_BYTES,
        };
        match (self.product.stores_in(), self.disk_bytes) {
            _ if self.mode == ProxyMode::Forward && !self.product.can_forward() => {
                Some(ProxyRefusal::ReverseOnly)
            }
            (StoresIn::Disk, None) => Some(ProxyRefusal::DiskOnly),
            (StoresIn::Memory, Some(_)) => Some(ProxyRefusal::MemoryOnly),
            _ if self.store_bytes() > most => Some(ProxyRefusal::TooLarge { most_bytes: most }),
            _ if self.store_bytes() < least => Some(ProxyRefusal::TooSmall { least_bytes: least }),
            _ => None,
        }
    }
}

/// Why a proxy is not started as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyRefusal {
    /// It answers requests for paths, not for whole URLs.
    #[error("it is a reverse proxy only; ask it in reverse, or take squid, apache or trafficserver")]
    ReverseOnly,
    /// It has no store in memory for objects of all sizes.
    #[error("it stores on disk only; say how much with `disk_bytes`")]
    DiskOnly,
    /// It has no store on disk.
    #[error("it stores in memory only; leave out `disk_bytes`")]
    MemoryOnly,
    /// Its store cannot be that large.
    #[error("its store is at most {most_bytes} bytes large; ask for less")]
    TooLarge {
        /// The limit.
        most_bytes: u64,
    },
    /// Nothing would fit.
    #[error("its store needs at least {least_bytes} bytes; ask for more")]
    TooSmall {
        /// The limit.
        least_bytes: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(product: Product, mode: ProxyMode, disk_bytes: Option<u64>) -> ProxySpec {
        let origin = SocketAddr::from(([127, 0, 0, 1], 80));
        ProxySpec { product, origin, mode, memory_bytes: 64 << 20, disk_bytes, config: None }
    }

    #[test]
    fn labels_lead_back_to_their_products() {
        for product in Product::ALL {
            assert_eq!(Product::from_label(product.label()), Some(product));
        }
        assert_eq!(Product::from_label("polygraph"), None);
    }

    #[test]
    fn what_a_product_cannot_do_is_refused_by_name() {
        use ProxyMode::{Forward, Reverse};
        let refusal = |product, mode, disk| spec(product, mode, disk).refusal();
        for product in [Product::Nginx, Product::Varnish, Product::HaProxy] {
            assert_eq!(refusal(product, Forward, None), Some(ProxyRefusal::ReverseOnly));
        }
        for product in [Product::Squid, Product::Apache, Product::TrafficServer] {
            assert_eq!(refusal(product, Forward, Some(1 << 30)), None);
        }
        assert_eq!(refusal(Product::Nginx, Reverse, None), Some(ProxyRefusal::DiskOnly));
        assert_eq!(refusal(Product::HaProxy, Reverse, Some(1 << 30)), Some(ProxyRefusal::MemoryOnly));
        assert_eq!(refusal(Product::Varnish, Reverse, None), None);
        let small = Some(ProxyRefusal::TooSmall { least_bytes: 8 << 20 });
        assert_eq!(refusal(Product::Squid, Reverse, Some(1 << 20)), small);
    }

    #[test]
    fn one_store_has_all_the_room_wherever_it_is() {
        let given = |product, disk| {
            let spec = spec(product, ProxyMode::Reverse, None).with_room(32 << 20, disk);
            assert_eq!(spec.refusal(), None, "{product:?}");
            (spec.store_bytes() >> 20, spec.disk_bytes.is_some())
        };
        let on_both = |product| given(product, Some(256 << 20));
        for product in [Product::Nginx, Product::Apache, Product::TrafficServer, Product::Varnish] {
            assert_eq!(on_both(product), (288, true), "{product:?}");
        }
        assert_eq!(on_both(Product::HaProxy), (288, false));
        assert_eq!(on_both(Product::Squid), (256, true), "and 32 in memory");
        for product in [Product::Nginx, Product::Apache, Product::TrafficServer] {
            assert_eq!(given(product, None), (32, true), "{product:?}");
        }
        for product in [Product::Varnish, Product::HaProxy, Product::Squid] {
            assert_eq!(given(product, None), (32, false), "{product:?}");
        }
    }

    #[test]
    fn haproxys_limit_is_named() {
        let large = ProxySpec { memory_bytes: 5 << 30, ..spec(Product::HaProxy, ProxyMode::Reverse, None) };
        assert_eq!(large.refusal(), Some(ProxyRefusal::TooLarge { most_bytes: 4095 * 1024 * 1024 }));
    }

    #[test]
    fn one_object_takes_at_most_an_eighth_of_the_store() {
        assert_eq!(spec(Product::Varnish, ProxyMode::Reverse, None).largest_object_bytes(), 8 << 20);
        assert_eq!(spec(Product::Squid, ProxyMode::Reverse, Some(80)).largest_object_bytes(), 10);
    }
}
