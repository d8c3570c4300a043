//! Workloads of a run, built from the plan's description, which give the slices.

use super::RunError;
use bakeoff_plan::{LoadClock, RequestSource, RequestWork};
use bakeoff_workload::replay::{InOrder, ReplayOptions, Shuffled};
use bakeoff_workload::{Get, Webstone, Workload, walk};
use std::num::NonZeroU32;

/// The workload and a line about it.
pub(crate) fn build(
    work: &RequestWork,
    seed: u64,
    expect: bool,
) -> Result<(Box<dyn Workload>, String), RunError> {
    match &work.source {
        RequestSource::Get(urls) => {
            let paths: Vec<&str> = urls.iter().take(3).map(|url| url.path.as_str()).collect();
            let more = if urls.len() > paths.len() { ", ..." } else { "" };
            let line = format!("weighted URLs: {}{more}", paths.join(", "));
            Ok((Box::new(Get::new(urls, work.clock.robots(), seed)?), line))
        }
        RequestSource::Webstone => {
            let robots = work.clock.robots().unwrap_or(1);
            Ok((Box::new(Webstone::new(robots, seed)?), "WebStone 2.5 standard file set".to_owned()))
        }
        RequestSource::Walk { shape, max_site } => {
            let LoadClock::Closed { robots, passes, .. } = work.clock else {
                return Err(RunError::System(std::io::Error::other("a walk is a closed loop")));
            };
            let passes = passes.and_then(NonZeroU32::new);
            let walk = Shuffled::over(walk(shape, seed, *max_site)?, robots, passes, seed)?;
            let line = format!(
                "a made-up site: {} files, {}; {} URLs, {} of them missing; mean reply {}",
                shape.files, shape.bytes, shape.urls, shape.missing, shape.mean_reply
            );
            Ok((Box::new(walk), line))
        }
        RequestSource::Replay { log, format, conditional, compressible, max_site, max_unparsable } => {
            let options = ReplayOptions {
                format: *format,
                expect,
                conditional: *conditional,
                compressible: *compressible,
                max_unparsable: *max_unparsable,
                max_site: *max_site,
            };
            if let LoadClock::Closed { robots, passes, .. } = work.clock {
                let passes = passes.and_then(NonZeroU32::new);
                let replay = Shuffled::new(log, &options, robots, passes, seed)?;
                let line =
                    replay.summary().map_or_else(|| log.name(), |summary| describe(&log.name(), summary));
                return Ok((Box::new(replay), line));
            }
            let stamps = matches!(work.clock, LoadClock::Original { .. });
            let replay = InOrder::new(log, &options, stamps, seed)?;
            let line = describe(&log.name(), replay.summary());
            Ok((Box::new(replay), line))
        }
    }
}

fn describe(name: &str, summary: &bakeoff_workload::replay::Summary) -> String {
    format!("{name}: {} lines ({}), {} requests", summary.lines, summary.format, summary.requests)
}
