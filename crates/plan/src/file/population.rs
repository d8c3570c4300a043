//! `[population.NAME]` as typed: keys of `[workload]`, put over those.

use super::clock::ClockSection;
use super::keys::TableKeys;
use super::spanned::Spanned;
use super::workload::{ClientSection, GetSection, RequestsSection, WorkloadSection};
use crate::PlanError;
use schemars::JsonSchema;

/// `[population.NAME]`
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the schema is made from it; what is read is the workload with these keys over its own"
)]
pub(super) struct PopulationSection {
    /// What it asks for, in place of the workload's requests: `get`, with `urls`.
    #[schemars(flatten)]
    own: GetSection,
    /// When its requests are due.
    #[schemars(flatten)]
    clock: ClockSection,
    /// How they come.
    #[schemars(flatten)]
    client: ClientSection,
    /// The part of a slice in which it asks, such as "5s-10s". Default: all of it.
    during: Option<Spanned<String>>,
    /// Share of its requests that may fail; above it the arm is invalid. Default: that of `[experiment]`.
    max_errors: Option<Spanned<String>>,
}

/// A population, and the workload as it applies to it.
#[derive(Debug)]
pub struct PopulationOf {
    /// Its name.
    pub name: Spanned<String>,
    /// Its requests, their clock and client settings.
    pub requests: RequestsSection,
    /// Whether it has requests of its own.
    pub own_requests: bool,
    /// The part of a slice in which it sends requests.
    pub during: Option<Spanned<String>>,
    /// Share of its requests that may fail.
    pub max_errors: Option<Spanned<String>>,
}

impl PopulationOf {
    /// The keys of a population over those of the workload. A population with another clock drops the keys of the
    /// workload's clock.
    pub(super) fn read(
        name: Spanned<String>,
        mut own: TableKeys<'_>,
        workload: &TableKeys<'_>,
    ) -> Result<Self, PlanError> {
        // All keys that define the requests, but paths of its own.
        let mut of_workload = [RequestsSection::source_names().as_slice(), &["max_age"]].concat();
        of_workload.retain(|key| *key != "urls");
        if let Some((key, span)) = own.first_of(&of_workload) {
            let help = "the servers hold what [workload] says, for all populations; `urls` are paths that one asks for";
            return Err(own.wrong(span, &format!("`{key}` has no meaning in a population"), help));
        }
        let during = own.optional("during")?;
        let max_errors = own.optional("max_errors")?;
        let own_requests = own.has("urls");
        let mut common = workload.clone().without(&["max_age"]);
        if own.has("clock") || own_requests {
            common = common.without(&ClockSection::names());
        }
        if own_requests {
            common = common.without(&RequestsSection::source_names());
            own.say("kind", "get");
        }
        match WorkloadSection::read(own.over(&common), false)? {
            WorkloadSection::Requests(requests) => {
                Ok(Self { name, requests: *requests, own_requests, during, max_errors })
            }
            WorkloadSection::Command(_) | WorkloadSection::Files(_) | WorkloadSection::Calls(_) => {
                Err(workload.wrong(name.span(), "populations ask servers", "choose a workload of requests"))
            }
        }
    }
}
