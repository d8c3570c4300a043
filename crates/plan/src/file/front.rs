//! `[front.NAME]` as typed: a front before a server. The groups of keys that it has decide its kind.

use super::keys::{TableKeys, names_of};
use super::spanned::Spanned;
use crate::PlanError;
use crate::needs::Need;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `[front.NAME]`: a proxy or gateway with a port of its own, or what is attached to a running server. Words may hold
/// `{host}` and `{port}` (where it listens), `{upstream}` (whom it asks, as `host:port`; `{upstream_host}`,
/// `{upstream_port}`) and `{dir}` (its private directory).
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FrontSection {
    /// What it is.
    #[schemars(flatten)]
    pub what: FrontWhat,
    /// What tells of it.
    #[schemars(flatten)]
    pub told: FrontToldSection,
}

/// What a front is.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum FrontWhat {
    /// With a `command`.
    Command(CommandFront),
    /// With `attach`.
    Attach(AttachFront),
    /// With `rules`.
    Rules(RulesFront),
    /// With none of these.
    Product(ProductFront),
}

/// A front that bakeoff knows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct ProductFront {
    /// A product that bakeoff knows, such as `varnish` or `haproxy`. Default: the section's name.
    pub product: Option<Spanned<String>>,
    /// product: your configuration, with the same substitutions. Default: one of ours, which keeps what it may and obeys
    /// the server.
    pub config: Option<Spanned<String>>,
    /// product: lines for our own configuration.
    pub directives: Option<Spanned<String>>,
    /// product: room for objects in memory. Default "256MB".
    pub memory: Option<Spanned<String>>,
    /// product: room for objects on disk. Default none, but for products that keep objects on disk only.
    pub disk: Option<Spanned<String>>,
    /// It speaks TLS with clients, and plain HTTP with what is behind it. Default false.
    pub tls: Option<Spanned<bool>>,
}

/// A front of the user's.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CommandFront {
    /// Any other program that listens on `{host}:{port}` and asks `{upstream}`.
    pub command: Spanned<Vec<String>>,
    /// It speaks TLS with clients, and plain HTTP with what is behind it. Default false.
    pub tls: Option<Spanned<bool>>,
    /// command: environment variables.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// A path that answers below 500 when it is ready. Default: its port accepts.
    pub ready: Option<Spanned<String>>,
}

/// What is started beside a server.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AttachFront {
    /// A program that is started beside the running server and has no port of its own. It may say `{pid}` (the server's
    /// first process), `{pids}` (all, with commas), `{host}`, `{port}`, `{interface}` (the device with that address) and
    /// `{layers}` (the executable with bakeoff's own layers).
    pub attach: Spanned<Vec<String>>,
    /// It is ready when it prints a line that begins so. Default: at once.
    pub ready: Option<Spanned<String>>,
}

/// The layer `police` before a server.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RulesFront {
    /// Rules of the layer police, which is attached to the server: the name of a `[file]` of the plan, or a file of yours. They
    /// may say `{port}`, `{port2}` to `{port9}` and levels of factors.
    pub rules: Spanned<String>,
    /// rules: `enforce`, `log` (nothing is refused, all is counted) or `off` (attached, and nothing else). Default `enforce`.
    pub mode: Option<Spanned<String>>,
    /// rules: SYNs are decided in the driver where it can (native XDP). Default false.
    pub xdp: Option<Spanned<bool>>,
    /// rules: the kernel measures how long the programs run (`runs` and `run-ns` of the status), which costs some 50 ns a run.
    /// Default false.
    pub count_time: Option<Spanned<bool>>,
}

/// What tells of a front.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FrontToldSection {
    /// A command that tells whether it is on, as the arm's own `proof`.
    pub proof: Option<Spanned<Vec<String>>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<Spanned<String>>,
    /// The counter of violations that it noticed.
    pub violations: Option<Spanned<String>>,
    /// As an arm's: every arm with this front needs them.
    pub needs: Option<Spanned<Vec<Need>>>,
}

impl FrontSection {
    /// Reads a front with its name.
    pub(super) fn read(
        (name, mut keys): (Spanned<String>, TableKeys<'_>),
    ) -> Result<(Spanned<String>, Self), PlanError> {
        let of_rules = keys.first_of(&["rules"]).is_some();
        let what = match (keys.first_of(&["command"]), keys.first_of(&["attach"])) {
            (Some(_), Some((_, span))) => {
                let what = format!("the front `{}` is two programs", name.as_ref());
                let help = "give it `command` if it has a port of its own, or `attach` if it has none";
                return Err(keys.wrong(span, &what, help));
            }
            (Some(_), None) => FrontWhat::Command(keys.group()?),
            (None, Some(_)) => FrontWhat::Attach(keys.group()?),
            (None, None) if of_rules => FrontWhat::Rules(keys.group()?),
            (None, None) => FrontWhat::Product(keys.group()?),
        };
        let told = keys.group()?;
        let all = [
            names_of::<ProductFront>(),
            names_of::<CommandFront>(),
            names_of::<AttachFront>(),
            names_of::<RulesFront>(),
        ];
        keys.none_left("for this front", &all.concat())?;
        Ok((name, Self { what, told }))
    }
}
