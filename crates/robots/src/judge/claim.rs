//! The cache's own statement on a hit: `Cache-Status` (RFC 9211), `X-Cache`, `Age`.
//!
//! Measuring side, hot, reads untrusted input. The statement is never believed: it is compared with the stamp, and a
//! disagreement is counted.

use super::value::parameter;
use bakeoff_units::Nanos;
use bakeoff_wire::http1::items;

/// The cache's statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheClaim {
    /// None that could be held against a stamp.
    #[default]
    Nothing,
    /// From the cache.
    Hit,
    /// From the origin.
    Miss,
    /// From the cache, after the origin was asked; stamps and products may call that either way.
    Revalidated,
}

impl CacheClaim {
    /// This statement, or else the other.
    pub const fn or(self, other: Self) -> Self {
        if matches!(self, Self::Nothing) { other } else { self }
    }

    /// `Cache-Status`: a list, the cache nearest to the origin first. A hit anywhere kept the request from the origin.
    /// A request that was joined to another's (`collapsed`) is a miss by the product's count, and the reply bears
    /// another's stamp: that says nothing.
    pub fn of_cache_status(value: &[u8]) -> Self {
        let mut claim = Self::Nothing;
        for member in items(value) {
            let mut forwarded = false;
            let mut collapsed = false;
            let mut status = None;
            for item in member.split(|&byte| byte == b';').skip(1) {
                let (name, argument) = parameter(item.trim_ascii());
                match name {
                    b"hit" if argument != b"?0" => return Self::Hit,
                    b"fwd" => forwarded = true,
                    b"fwd-status" => status = Some(argument),
                    b"collapsed" if argument != b"?0" => collapsed = true,
                    _ => {}
                }
            }
            claim = match (forwarded, collapsed, status) {
                (true, true, _) => return Self::Nothing,
                (true, false, Some(b"304")) => Self::Revalidated,
                (true, false, _) => claim.or(Self::Miss),
                (false, ..) => claim,
            };
        }
        claim
    }

    /// `X-Cache`, which has no rule: `HIT from host`, `MISS, HIT`, `TCP_REFRESH_UNMODIFIED`, `hit-fresh`,
    /// nginx's `$upstream_cache_status`. A hit anywhere kept the request from the origin.
    pub fn of_x_cache(value: &[u8]) -> Self {
        let mut claim = Self::Nothing;
        for item in items(value) {
            // Names of hosts come behind the word.
            let word = item.split(|&byte| byte == b' ').next().unwrap_or_default();
            match word {
                b"HIT" => return Self::Hit,
                b"MISS" => {
                    claim = claim.or(Self::Miss);
                    continue;
                }
                _ => {}
            }
            let has = |part: &[u8]| contains(word, part);
            if has(b"refresh") || has(b"revalidated") {
                claim = Self::Revalidated;
            } else if has(b"hit") {
                return Self::Hit;
            } else if has(b"stale") || has(b"updating") {
                claim = Self::Hit;
            } else if has(b"miss") || has(b"expired") || has(b"bypass") || has(b"pass") {
                claim = claim.or(Self::Miss);
            }
        }
        claim
    }

    /// A reply that is older than its request was stored. A younger one may be either: by RFC 9111 section 4.2.3 the
    /// time of the fetch itself is part of the age, and ages are whole seconds.
    pub fn of_age(age: Option<u64>, took: Nanos) -> Self {
        let fetched = took.get().div_ceil(1_000_000_000) + 1;
        if age.is_some_and(|seconds| seconds > fetched) { Self::Hit } else { Self::Nothing }
    }
}

/// Whether `part`, in small letters, is in `text` in any case.
fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_status_as_in_the_rfc() {
        let claim = |text: &str| CacheClaim::of_cache_status(text.as_bytes());
        // The examples of RFC 9211 section 3.
        assert_eq!(claim("ExampleCache; hit; ttl=376"), CacheClaim::Hit);
        assert_eq!(claim("ExampleCache; fwd=uri-miss"), CacheClaim::Miss);
        assert_eq!(claim("ExampleCache; fwd=stale; fwd-status=304"), CacheClaim::Revalidated);
        assert_eq!(claim("ExampleCache; fwd=uri-miss; collapsed; ttl=30"), CacheClaim::Nothing);
        assert_eq!(claim("ReverseProxy; hit, ForwardProxy; fwd=uri-miss; stored"), CacheClaim::Hit);
        assert_eq!(claim("A; fwd=miss; collapsed=?0"), CacheClaim::Miss);
        assert_eq!(claim("A; hit=?0, \"B\"; detail=x"), CacheClaim::Nothing);
        assert_eq!(claim(";;;=,=;,"), CacheClaim::Nothing);
    }

    #[test]
    fn x_cache_of_products() {
        let claim = |text: &str| CacheClaim::of_x_cache(text.as_bytes());
        for hit in
            ["HIT", "HIT from squid.example", "TCP_MEM_HIT", "hit-fresh", "MISS, HIT", "STALE", "UPDATING"]
        {
            assert_eq!(claim(hit), CacheClaim::Hit, "{hit}");
        }
        for miss in ["MISS", "MISS from hit.example", "TCP_MISS", "BYPASS", "EXPIRED", "miss, miss"] {
            assert_eq!(claim(miss), CacheClaim::Miss, "{miss}");
        }
        for either in ["REVALIDATED", "TCP_REFRESH_UNMODIFIED", "TCP_REFRESH_HIT"] {
            assert_eq!(claim(either), CacheClaim::Revalidated, "{either}");
        }
        assert_eq!(claim("none of yours"), CacheClaim::Nothing);
    }

    #[test]
    fn only_an_age_beyond_the_request_s_own_time_says_something() {
        let took = Nanos::from_millis(2_100);
        assert_eq!(CacheClaim::of_age(None, took).or(CacheClaim::of_age(Some(4), took)), CacheClaim::Nothing);
        assert_eq!(CacheClaim::of_age(Some(5), took), CacheClaim::Hit);
        assert_eq!(CacheClaim::of_age(Some(u64::MAX), Nanos::MAX), CacheClaim::Hit);
        assert_eq!(CacheClaim::Miss.or(CacheClaim::Hit), CacheClaim::Miss);
    }
}
