//! Description of a proxy cache in a plan: the product, its clients and origin, and the size of its store.
//!
//! Measuring side, cold path, no I/O. Owns the list of what a product cannot do, so that a plan is refused before
//! anything is started. Knows no configuration syntax.

use super::{Product, StoresIn};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A proxy cache that bakeoff starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySpec {
    /// The product.
    pub product: Product,
    /// The origin it fetches from. A forward proxy goes where each request says; it is told the origin all the same, to
    /// keep connections to it.
    pub origin: SocketAddr,
    /// The form of the requests that clients send it.
    pub mode: ProxyMode,
    /// Room for objects in memory. With `disk_bytes`, what each product makes of it is in its module's documentation;
    /// nginx, Apache and Varnish on disk leave memory to the page cache.
    pub memory_bytes: u64,
    /// Room for objects on disk, in the private directory; none: in memory only.
    pub disk_bytes: Option<u64>,
    /// The user's configuration; none: ours. Besides what every subject's has, `{origin_host}`,
    /// `{origin_port}`, `{origin}` (both, as in a URL), `{memory_bytes}` and `{disk_bytes}` (0
    /// without) are put in. A cache directory in it should be `{dir}/cache`: that is where the
    /// gauge looks, and what is removed at the end.
    pub config: Option<PathBuf>,
    /// It speaks TLS with clients. For a configuration of the user's this describes what that one does.
    pub tls: bool,
}

/// Form of the requests that clients send a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyMode {
    /// Whole URLs: clients know that it is a proxy.
    Forward,
    /// Paths, as if it were the origin.
    Reverse,
}

impl ProxySpec {
    /// The same with this room for objects. A product that has one store has all of it there: on disk, if it can be in
    /// both places and some of the room is on disk. `memory_bytes` stays what was given if the store is on disk: it is
    /// the size of Traffic Server's RAM cache, and may be used in a user's configuration.
    #[must_use]
    pub fn with_room(self, memory_bytes: u64, disk_bytes: Option<u64>) -> Self {
        let all = match disk_bytes {
            Some(bytes) => memory_bytes.saturating_add(bytes),
            None => memory_bytes,
        };
        let (memory_bytes, disk_bytes) = match (self.product.stores_in(), disk_bytes) {
            (Some(StoresIn::Memory), _) => (all, None),
            (Some(StoresIn::Disk), _) | (Some(StoresIn::Either), Some(_)) => (memory_bytes, Some(all)),
            (Some(StoresIn::Either), None) | (Some(StoresIn::Both), _) | (None, _) => {
                (memory_bytes, disk_bytes)
            }
        };
        Self { memory_bytes, disk_bytes, ..self }
    }

    /// Bytes that objects may take, in memory or on disk, where the store is.
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

    /// The feature that the product lacks; a plan is refused with it before anything starts.
    pub fn refusal(&self) -> Option<ProxyRefusal> {
        if self.mode == ProxyMode::Forward && !self.product.can_forward() {
            return Some(ProxyRefusal::ReverseOnly);
        }
        if self.tls && self.config.is_none() && !self.product.can_tls() {
            return Some(ProxyRefusal::NoTls);
        }
        let store = self.product.row().store.as_ref()?;
        match (store.stores_in, self.disk_bytes) {
            (StoresIn::Disk, None) => Some(ProxyRefusal::DiskOnly),
            (StoresIn::Memory, Some(_)) => Some(ProxyRefusal::MemoryOnly),
            _ if self.store_bytes() > store.most_bytes => {
                Some(ProxyRefusal::TooLarge { most_bytes: store.most_bytes })
            }
            _ if self.store_bytes() < store.least_bytes => {
                Some(ProxyRefusal::TooSmall { least_bytes: store.least_bytes })
            }
            _ => None,
        }
    }
}

/// Reasons why a proxy is not started as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyRefusal {
    /// It answers requests for paths, not for whole URLs.
    #[error("it is a reverse proxy only; ask it in reverse, or take squid, apache or trafficserver")]
    ReverseOnly,
    /// It passes requests on, and has no files of its own.
    #[error(
        "it serves no files; put it in front of a server with `front`, or take {}",
        labels(Product::servers())
    )]
    ServesNothing,
    /// Its open version, or our configuration of it, has none.
    #[error("our configuration of it speaks no TLS with clients; give it a `config` of yours, or take {}", labels(Product::fronts().filter(|product| product.can_tls())))]
    NoTls,
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

fn labels(products: impl Iterator<Item = Product>) -> String {
    products.map(Product::label).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(product: Product, mode: ProxyMode, disk_bytes: Option<u64>) -> ProxySpec {
        let origin = SocketAddr::from(([127, 0, 0, 1], 80));
        ProxySpec { product, origin, mode, memory_bytes: 64 << 20, disk_bytes, config: None, tls: false }
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
