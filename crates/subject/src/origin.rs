//! The built-in origin as a subject: this executable again, as its own process.
//!
//! It is our own program and reads only the catalogue, so it runs as bakeoff's user; its own counters are never read.

use crate::SubjectError;
use crate::program::{Recipe, StartSite, Subject};
use crate::spec::Burn;

/// Protocol of a stand-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    Http,
    Https,
    FastCgi,
}

pub(crate) struct Origin {
    pub(crate) tls: bool,
    /// It plays what is behind a server.
    pub(crate) stand_in: Option<StandIn>,
    pub(crate) burn: Burn,
}

impl Subject for Origin {
    fn tls(&self) -> bool {
        self.tls
    }

    fn recipe(&self, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
        let arm = || place.arm();
        let catalogue =
            place.context.catalogue.as_ref().ok_or_else(|| SubjectError::NoCatalogue { arm: arm() })?;
        let program = place.context.executable().map_err(|source| SubjectError::Read {
            arm: arm(),
            path: "/proc/self/exe".into(),
            source,
        })?;
        let mut argv = vec![program.display().to_string(), "origin".into()];
        let mut option = |name: &str, value: String| argv.extend([name.to_owned(), value]);
        option("--port", place.port.to_string());
        if !place.context.host().is_loopback() {
            option("--address", place.context.host().to_string());
        }
        option("--catalog", catalogue.display().to_string());
        for (name, time) in [
            ("--burn", self.burn.request),
            ("--burn-in-flight", self.burn.in_flight),
            ("--burn-per-wakeup", self.burn.wakeup),
            ("--max-age", place.context.max_age),
        ] {
            if let Some(time) = time {
                option(name, format!("{}ns", time.get()));
            }
        }
        if let Some(stand_in) = self.stand_in {
            let spoken = if stand_in == StandIn::FastCgi { "fastcgi" } else { "http" };
            option("--stand-in", spoken.to_owned());
        }
        if self.tls {
            let made = place.demand_certificate()?;
            option("--cert", made.cert.display().to_string());
            option("--key", made.key.display().to_string());
            argv.push("--tls".into());
        }
        let version = Some(format!("bakeoff {}", env!("CARGO_PKG_VERSION")));
        Ok(Recipe { argv, cwd: place.dir.clone(), version, ..Recipe::default() })
    }
}
