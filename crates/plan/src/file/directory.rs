//! `directory = "NAME"`: directories that come with bakeoff, as arms of `files` workloads.
//!
//! Measuring side, cold. A directory is a set of keys for an arm; the arm's own keys go over them. Keys for caches that
//! the workload does not have are left out, so that one directory serves all workloads.

use super::keys::{Named, TableKeys, Text};
use super::spanned::Spanned;
use super::workload::FilesSection;
use crate::error::suggestion;
use crate::shipped;
use crate::{CacheState, PlanError};

/// An arm's keys put over those of the directory that it names.
pub(super) fn named<'t>(keys: TableKeys<'t>, work: &FilesSection) -> Result<TableKeys<'t>, PlanError> {
    let Some(word) = keys.word("directory")? else { return Ok(keys) };
    let all = all()?;
    let Some((_, found)) = all.iter().find(|(name, _)| name.as_ref() == word.as_ref()) else {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_ref().as_str()).collect();
        let what = format!("there is no directory `{}`", word.as_ref());
        return Err(keys.wrong(word.span(), &what, &suggestion(word.as_ref(), &names)));
    };
    let cache = work.cache.as_ref().map(Spanned::as_ref);
    let cache = CacheState::ALL.into_iter().find(|state| cache.is_some_and(|word| word == state.as_str()));
    let drops = cache.is_some_and(CacheState::drops);
    let idle = [("drop", drops), ("status", cache == Some(CacheState::First))];
    let idle: Vec<&str> = idle.into_iter().filter(|(_, used)| !used).map(|(key, _)| key).collect();
    Ok(keys.over(&found.clone().without(&idle)))
}

/// The directories that come with bakeoff.
fn all() -> Result<Named<TableKeys<'static>>, PlanError> {
    TableKeys::of_plan(Text { origin: "directories.toml", text: shipped::DIRECTORIES })?.all()
}

#[cfg(test)]
mod tests {
    use crate::{ArmKind, Plan};
    use std::path::Path;

    fn parse(cache: &str, arm: &str) -> Result<Plan, String> {
        let text = format!(
            "[experiment]\nbaseline = \"own\"\n[workload]\nkind = \"files\"\n{cache}\n[arm.own]\n[arm.other]\n{arm}"
        );
        Plan::parse("test", "plan.toml", &text, Path::new("/")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_directory_is_good_with_all_caches_and_an_arm_may_say_otherwise() {
        let names: Vec<String> =
            super::all().unwrap().into_iter().map(|(name, _)| name.as_ref().clone()).collect();
        assert!(names.len() > 1);
        for cache in ["cached", "cold", "remote", "first"] {
            for name in &names {
                let arm = format!("directory = \"{name}\"\nneeds = []\nenv = {{ OWN = \"1\" }}");
                let plan = parse(&format!("cache = \"{cache}\""), &arm).unwrap();
                let ArmKind::Files(files) = &plan.arms[1].what else { panic!("no files") };
                assert_eq!(files.drop.is_empty(), cache == "cached", "{name} {cache}");
                assert_eq!(files.env.len(), 1);
            }
        }
        let message = parse("", "directory = \"remotfs\"").unwrap_err();
        assert!(message.contains("did you mean `remotefs`") && message.contains("plan.toml"), "{message}");
    }
}
