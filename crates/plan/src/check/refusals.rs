//! Check of `refused` of `[workload]`: statuses and failures that are neither good nor bad.
//!
//! Failures that must not be taken for a refusal are in [`ErrorClass::may_refuse`].

use super::super::file::{ClientSection, ExperimentSection, RefusedEntry, WorkloadSection};
use super::super::{ViolationPlan, Work};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_loadgen::Refusals;
use bakeoff_meter::ErrorClass;
use bakeoff_meter::catalogue::SUBJECT_CPU_PER_REPLY;

impl Context<'_> {
    /// The refusals that the workload names; none without the key.
    pub(super) fn refusals(&self, w: &ClientSection) -> Checked<Refusals> {
        let Some(list) = &w.refused else { return Ok(Refusals::default()) };
        let (mut statuses, mut classes) = (Vec::new(), Vec::new());
        for entry in list.as_ref() {
            match entry.as_ref() {
                RefusedEntry::Status(status @ 400..=599) => statuses.push(*status),
                RefusedEntry::Status(status) => {
                    let help = "those are 400 to 599, such as 429 and 503";
                    self.refuse(Some(entry), format!("{status} is no status that refuses"), help)?;
                }
                RefusedEntry::Class(label) => classes.push(self.refusing(entry, label)?),
            }
        }
        let none = list.when(list.as_ref().is_empty());
        self.refuse(none, "nothing is named", "such as [429, 503, \"reset\"]")?;
        Ok(Refusals::of(&statuses, &classes))
    }

    fn refusing(&self, entry: &Spanned<RefusedEntry>, label: &str) -> Checked<ErrorClass> {
        match ErrorClass::ALL.into_iter().find(|class| class.as_str() == label) {
            Some(class) if class.may_refuse() => Ok(class),
            Some(ErrorClass::ServerError | ErrorClass::ClientError | ErrorClass::WrongStatus) => {
                let what = format!("`{label}` says nothing of how");
                self.wrong(entry.span(), what, "name the status, such as 503")
            }
            Some(_) => {
                let what = format!("`{label}` is a failure and refuses nothing");
                self.wrong(entry.span(), what, "take it out: an arm that fails so must stay invalid")
            }
            None => {
                let known = ErrorClass::ALL.into_iter().filter(|class| class.may_refuse());
                let known: Vec<&str> = known.map(ErrorClass::as_str).collect();
                self.unknown(entry.span(), "class of failures", label, &known)
            }
        }
    }

    /// A status cannot stand both for a layer that enforces and for an overloaded server; and a cost of what is served
    /// needs that some requests may be refused.
    pub(super) fn refusals_fit(
        &self,
        e: &ExperimentSection,
        w: &WorkloadSection,
        work: &Work,
        violations: Option<&ViolationPlan>,
    ) -> Checked<()> {
        let named = match work {
            Work::Requests(requests) => requests.refusals,
            Work::Command(_) | Work::Files(_) | Work::Calls(_) => Refusals::default(),
        };
        let both = violations.and_then(|plan| plan.refused.iter().find(|status| named.has_status(**status)));
        if let Some(status) = both {
            let key = w.requests().and_then(|w| w.client.refused.as_ref());
            let what =
                format!("{status} would be both a violation that was noticed and a request that was refused");
            self.refuse(key, what, "give `refused` in [violations] without it")?;
        }
        let of_replies =
            e.primary.as_ref().filter(|name| name.as_ref() == SUBJECT_CPU_PER_REPLY && named.is_empty());
        let what = format!("`{SUBJECT_CPU_PER_REPLY}` is for workloads in which something may be refused");
        self.refuse(of_replies, what, "add `refused` to [workload], or take `subject_cpu_per_request`")
    }
}
