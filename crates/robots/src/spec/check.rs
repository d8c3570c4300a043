//! Checks of `[robots]` and `[[phase]]` together.

use super::{AmountPer, Connections, RobotsFile, Spec, SpecError, Special, SpecialFile};
use crate::phases::{self, Phase, PhaseFile};
use crate::popularity::HotSet;
use crate::working_set::GrowthLimit;
use bakeoff_content::Distribution;
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::num::{NonZeroU16, NonZeroU32};

/// More than any plan needs, and less than a process may open on most machines after `bakeoff doctor`.
const CONNECTIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(8191);

/// Bodies of requests are copied into a connection's buffer.
const POST_AT_MOST: f64 = 1024.0 * 1024.0;

pub(super) fn check(file: &RobotsFile, phases: &[PhaseFile]) -> Result<Spec, SpecError> {
    let robots = file.robots.unwrap_or(NonZeroU32::MIN);
    let phases = phases::check(phases)?;
    let working_set = working_set(file)?;
    can_freeze(&phases, working_set)?;
    let spec = Spec {
        robots,
        rate: rate(file, robots)?,
        gaps: file.inter_arrival.clone(),
        recurrence: at_most_all("recurrence", file.recurrence)?,
        popularity: file.popularity.unwrap_or_default(),
        hot_set: hot_set(file)?,
        byte_hit_discrimination: at_most_all("byte_hit_discrimination", file.byte_hit_discrimination)?,
        accept_gzip: at_most_all("accept_gzip", file.accept_gzip)?,
        special: special(&file.special)?,
        post_body: post_body(file)?,
        embedded: at_most_all("embedded", file.embedded.or(Ratio::new(1.0)))?,
        requests_per_connection: file.requests_per_connection.clone(),
        idle_timeout: file.idle_timeout,
        connections: match file.connections {
            Some(AmountPer::All(all)) => Connections::All(all),
            Some(AmountPer::Robot(each)) => Connections::Each(each),
            None => Connections::All(CONNECTIONS),
        },
        servers: file.servers.unwrap_or(NonZeroU16::MIN),
        working_set,
        phases: phases.into(),
    };
    Ok(spec)
}

fn rate(file: &RobotsFile, robots: NonZeroU32) -> Result<Option<PerSecond>, SpecError> {
    match file.rate {
        Some(AmountPer::All(rate)) => Ok(Some(rate)),
        Some(AmountPer::Robot(rate)) => {
            let all = PerSecond::new(rate.get() * f64::from(robots.get()));
            all.map(Some).ok_or_else(|| SpecError::new("rate", "it is endless", "write a smaller one"))
        }
        None if file.inter_arrival != super::Gaps::Poisson => {
            let help = "give a rate, or leave inter_arrival out";
            Err(SpecError::new("inter_arrival", "there is no rate, so there are no gaps", help))
        }
        None => Ok(None),
    }
}

fn working_set(file: &RobotsFile) -> Result<GrowthLimit, SpecError> {
    let Some(limit) = file.working_set else { return Ok(GrowthLimit::None) };
    match (limit.length, limit.objects) {
        (Some(length), None) if length > Nanos::ZERO => Ok(GrowthLimit::After(length)),
        (None, Some(objects)) => Ok(GrowthLimit::Objects(objects.get())),
        _ => {
            let help = "write { length = \"4h\" } or { objects = 100000 }, not both";
            Err(SpecError::new("working_set", "it needs one limit above zero", help))
        }
    }
}

fn can_freeze(phases: &[Phase], limit: GrowthLimit) -> Result<(), SpecError> {
    let waits = |phase: &&Phase| phase.goal.lock.is_some_and(|lock| lock.frozen);
    match phases.iter().find(waits) {
        Some(phase) if limit == GrowthLimit::None => {
            let place = format!("phase `{}`, lock", phase.name);
            let help = "give [robots] a working_set, or take \"frozen\" out";
            Err(SpecError::new(&place, "the working set never stops growing", help))
        }
        _ => Ok(()),
    }
}

fn post_body(file: &RobotsFile) -> Result<Option<Distribution>, SpecError> {
    match &file.post_body {
        Some(_) if file.special.post.is_none() => {
            Err(SpecError::new("post_body", "there is no POST", "write special = { post = \"1.5%\" }"))
        }
        Some(sizes) if sizes.mean() > POST_AT_MOST => {
            Err(SpecError::new("post_body", "it is more than 1 MB on average", "write a smaller size"))
        }
        sizes => Ok(sizes.clone()),
    }
}

fn hot_set(file: &RobotsFile) -> Result<Option<HotSet>, SpecError> {
    let Some(hot) = file.hot_set else { return Ok(None) };
    let share = at_most_all("hot_set.share", Some(hot.share))?;
    let probability = at_most_all("hot_set.probability", Some(hot.probability))?;
    if share == Ratio::default() {
        return Err(SpecError::new("hot_set.share", "nothing is hot", "write 1%, or leave hot_set out"));
    }
    Ok(Some(HotSet { share, probability }))
}

fn special(file: &SpecialFile) -> Result<Special, SpecError> {
    let special = Special {
        ims200: at_most_all("special.ims200", file.ims200)?,
        ims304: at_most_all("special.ims304", file.ims304)?,
        etag200: at_most_all("special.etag200", file.etag200)?,
        etag304: at_most_all("special.etag304", file.etag304)?,
        match412: at_most_all("special.match412", file.match412)?,
        hop: at_most_all("special.hop", file.hop)?,
        reload: at_most_all("special.reload", file.reload)?,
        range: at_most_all("special.range", file.range)?,
        abort: at_most_all("special.abort", file.abort)?,
        head: at_most_all("special.head", file.head)?,
        post: at_most_all("special.post", file.post)?,
    };
    let Special { ims200, ims304, etag200, etag304, match412, hop, reload, range, abort, head, post } =
        special;
    let kinds = [ims200, ims304, etag200, etag304, match412, hop, reload, range, abort];
    let kinds: f64 = kinds.into_iter().map(Ratio::get).sum();
    let sum = kinds.max(head.get() + post.get());
    if sum > 1.0 + 1e-9 {
        let what = format!("the shares make {:.2}%", sum * 100.0);
        return Err(SpecError::new("special", what, "make them 100% at most"));
    }
    Ok(special)
}

fn at_most_all(key: &str, share: Option<Ratio>) -> Result<Ratio, SpecError> {
    match share {
        Some(share) if share.get() > 1.0 => {
            Err(SpecError::new(key, format!("{share} is more than 100%"), "write a share from 0% to 100%"))
        }
        share => Ok(share.unwrap_or_default()),
    }
}
