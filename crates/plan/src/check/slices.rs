//! Check of `slice_requests` of arms: cases in which slices may be unequal, and cases in which that would spoil a
//! comparison.

use super::super::expand::Cell;
use super::super::{Arm, DesignChoice, Plan};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_meter::catalogue;
use std::ops::Range;

impl Context<'_> {
    /// `cells` are those that the plan's arms were made from.
    pub(super) fn slices(&self, plan: &Plan, cells: &[Cell]) -> Checked<()> {
        let keys = || cells.iter().filter_map(|cell| cell.section.has.asked.slice_requests.as_ref());
        let Some(first) = keys().next() else { return Ok(()) };
        if plan.design == DesignChoice::Duet {
            let what = "in a duet all arms are loaded at once, with the same requests";
            let help = "take the line out, or choose design = \"pairs\"";
            return self.wrong(first.span(), what, help);
        }
        let of_whole_slice = |name: &str| catalogue::find(name).is_some_and(|m| m.is_of_whole_slice());
        let Some(primary) = plan.primary.as_deref().filter(|name| of_whole_slice(name)) else {
            return Ok(());
        };
        for (index, (arm, cell)) in plan.arms.iter().zip(cells).enumerate() {
            let baseline = &plan.arms[plan.baselines.of(index)];
            let steady = arm.first_use_of.as_ref().and_then(|name| plan.arm_of(name));
            for other in [Some(baseline), steady].into_iter().flatten() {
                self.equal_slices(plan, primary, (arm, other), span(cell).unwrap_or(first.span()))?;
            }
        }
        Ok(())
    }

    fn equal_slices(
        &self,
        plan: &Plan,
        primary: &str,
        (arm, other): (&Arm, &Arm),
        span: Range<usize>,
    ) -> Checked<()> {
        let (own, theirs) = (plan.slice_requests(arm), plan.slice_requests(other));
        if own == theirs {
            return Ok(());
        }
        let words =
            |count: Option<u64>| count.map_or("as many as the pilot finds".to_owned(), |n| n.to_string());
        let what = format!(
            "`{primary}` is of a whole slice, and cannot compare `{}` with `{}`: a slice of the one has {} requests, of \
             the other {}",
            arm.name,
            other.name,
            words(own),
            words(theirs)
        );
        let help = "give both the same `slice_requests`, or let the verdict stand on a figure of a request, such as \
                    primary = \"subject_cpu_per_request\"";
        self.wrong(span, what, help)
    }
}

fn span(cell: &Cell) -> Option<Range<usize>> {
    cell.section.has.asked.slice_requests.as_ref().map(Spanned::span)
}
