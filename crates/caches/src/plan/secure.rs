//! `[origin] tls = true`: robots ask by https, through proxies in tunnels.
//!
//! Measuring side, cold, pure. Owns the exclusions that follow, and their words.

use super::reader::Reader;
use super::{CachePlan, Entrant, EntrantKind, PlanError};
use bakeoff_subject::ProxyMode as Mode;

/// Effects of TLS to the origin on a bake-off.
pub const TUNNELS: &str = "robots ask by https, through each proxy in a tunnel (CONNECT); what goes through it cannot be \
    kept: the hit ratio is 0 by design, no store is filled, no cache is simulated, and the rule of 1999 is not judged";

/// Reason why no reverse proxy takes part then.
const NO_REVERSE: &str = "with `tls = true` in [origin] a proxy is asked for a tunnel, and a reverse proxy opens none; ask \
    it in `mode = \"forward\"` or with --proxy, or take `tls` out";

impl CachePlan {
    /// Whether stores are filled before anything is measured. A tunnel fills no store.
    pub fn fills(&self) -> bool {
        self.fill.is_some() && !self.tls
    }

    /// Reason why a proxy in this mode cannot take part, if it cannot.
    pub fn refusal(&self, mode: Mode) -> Option<&'static str> {
        (self.tls && mode == Mode::Reverse).then_some(NO_REVERSE)
    }

    /// Refuses a mode that does not go with TLS. The plan's own mode counts even if no entrant uses it: a stored plan
    /// is read again without the flags that named the entrants.
    pub(super) fn without_reverse_over_tls(self, reader: &Reader<'_>) -> Result<Self, PlanError> {
        let own = |entrant: &Entrant| match entrant.kind {
            EntrantKind::Direct | EntrantKind::Product { .. } => None,
            EntrantKind::Running { mode, .. } => Some(mode),
        };
        let mut modes = std::iter::once(self.mode).chain(self.entrants.iter().filter_map(own));
        let refusal = modes.find_map(|mode| self.refusal(mode));
        refusal.map_or(Ok(self), |why| Err(reader.wrong("tls", why)))
    }
}

/// Splits `tls` from the rest of the origin's section: the certificate is made by the code that starts the origin.
pub(super) fn take_tls(reader: &Reader<'_>, origin: &toml::Table) -> Result<(bool, toml::Table), PlanError> {
    let mut rest = origin.clone();
    match rest.remove("tls") {
        None => Ok((false, rest)),
        Some(toml::Value::Boolean(tls)) => Ok((tls, rest)),
        Some(other) => Err(reader.wrong("tls", format!("`{other}` in [origin]; write true or false"))),
    }
}
