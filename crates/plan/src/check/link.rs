//! Check of the link between generator and subjects.

use super::super::file::ExperimentSection;
use super::super::{Arm, ArmKind, LinkPlan, Work};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_link::SOURCES;
use bakeoff_loadgen::LocalAddresses;
use bakeoff_subject::Spec;
use bakeoff_units::{BitsPerSecond, Nanos, Ratio};
use std::net::IpAddr;

/// At a lower rate the check of the link alone takes longer than people wait; above, no kernel
/// shapes.
const RATES: (u64, u64) = (100_000, 100_000_000_000);
/// Longest delay allowed: a server on the moon takes 1.3 s.
const LONGEST_DELAY: Nanos = Nanos::from_secs(2);
/// Loss from which a link is refused.
const TOO_MUCH_LOSS: f64 = 0.5;

impl Context<'_> {
    pub(super) fn link(&self, e: &ExperimentSection, work: &Work, arms: &[Arm]) -> Checked<Option<LinkPlan>> {
        let Some(rate) = &e.link else {
            for (name, key) in [("delay", &e.delay), ("loss", &e.loss)] {
                self.refuse(key.as_ref(), format!("`{name}` needs a link"), "add link = \"100Mbit\"")?;
            }
            return Ok(None);
        };
        self.reaches(rate, work, arms)?;
        let link = LinkPlan {
            rate: self.quantity(&e.link, "100Mbit")?,
            delay: self.quantity(&e.delay, "0s")?,
            loss: self.quantity(&e.loss, "0%")?,
        };
        self.in_bounds(e, rate, link).map(Some)
    }

    /// A link leads to servers that bakeoff starts, or to a daemon that serves a directory.
    fn reaches(&self, rate: &Spanned<String>, work: &Work, arms: &[Arm]) -> Checked<()> {
        let serves = |arm: &Arm| matches!(&arm.what, ArmKind::Files(files) if files.serve.is_some());
        match work {
            Work::Requests(_) => {}
            Work::Files(_) if arms.iter().any(serves) => return Ok(()),
            Work::Files(_) => {
                let what = "a link leads to what `serve` starts; no arm has it";
                return self.wrong(rate.span(), what, "give an arm `serve`, or take the line out");
            }
            Work::Command(_) | Work::Calls(_) => {
                let what = "a link leads to servers; here are none";
                return self.wrong(rate.span(), what, "take the line out");
            }
        }
        let sources = |arm: &Arm| arm.sources().map(|from| from.to_string()).collect::<Vec<_>>();
        let strange = |arm: &&Arm| arm.sources().flat_map(LocalAddresses::ends).any(|ends| !over_link(ends));
        if let Some(arm) = arms.iter().find(strange) {
            let what = format!(
                "the requests to `{}` are `from` {}, and on a link they come from 198.18.0.1 or from {} to {}",
                arm.name,
                sources(arm).join(", "),
                SOURCES.start(),
                SOURCES.end()
            );
            return self.wrong(rate.span(), what, "such as from = \"198.19.1.0/24\"; a link is IPv4 alone");
        }
        let running = |arm: &&Arm| matches!(arm.what, ArmKind::Server(Spec::Url { .. }));
        let Some(arm) = arms.iter().find(running) else { return Ok(()) };
        let what = format!("no link can be put in front of `{}`, which runs already", arm.name);
        self.wrong(rate.span(), what, "let bakeoff start the server, or take the line out")
    }

    fn in_bounds(&self, e: &ExperimentSection, rate: &Spanned<String>, link: LinkPlan) -> Checked<LinkPlan> {
        let outside = rate.when(!(RATES.0..=RATES.1).contains(&link.rate.get()));
        let bound = |bits| BitsPerSecond::new(bits).map_or(String::new(), |rate| rate.to_string());
        let help = format!("between {} and {}", bound(RATES.0), bound(RATES.1));
        self.refuse(outside, format!("a link of {} cannot be made", link.rate), help)?;
        let long = e.delay.as_ref().filter(|_| link.delay > LONGEST_DELAY);
        let help = format!("at most {LONGEST_DELAY}, such as \"10ms\"");
        self.refuse(long, "no network on Earth delays by so much", help)?;
        let large = e.loss.as_ref().filter(|_| link.loss.get() >= TOO_MUCH_LOSS);
        let below = Ratio::new(TOO_MUCH_LOSS).unwrap_or_default();
        let help = format!("below {below}, such as \"0.1%\"");
        self.refuse(large, "no TCP connection lives with such a loss", help)?;
        Ok(link)
    }
}

/// Whether both ends of a range are addresses that a link can have.
fn over_link((first, last): (IpAddr, IpAddr)) -> bool {
    [first, last].iter().all(|end| matches!(end, IpAddr::V4(end) if SOURCES.contains(end)))
}
