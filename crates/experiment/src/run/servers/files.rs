//! Site, catalogue and certificates of a run, as far as some arm needs them.

use super::pages::{DiskSite, context, reading};
use crate::run::scratch::Scratch;
use crate::run::{Run, RunError, RunProgress};
use bakeoff_plan::{Arm, ArmKind};
use bakeoff_subject::{Certificate, KeyKind, Spec, key_kind};
use bakeoff_workload::Workload;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files that servers find on disk.
pub(super) struct Files {
    pub(super) root: PathBuf,
    /// The tree that the site's owner signed; mostly the same.
    pub(super) reference: PathBuf,
    /// Trees of arms that cannot share one, by name.
    pub(super) own: BTreeMap<String, PathBuf>,
    pub(super) catalogue: Option<PathBuf>,
    pub(super) certificate: Option<Certificate>,
    /// Kinds of keys that the plan names or running servers have, by arm.
    kinds: BTreeMap<String, KeyKind>,
}

impl Files {
    /// The certificate of an arm's parts.
    pub(super) fn certificate_of(&self, arm: &Arm) -> Option<Certificate> {
        let made = self.certificate.clone()?;
        Some(self.kinds.get(&arm.name).map_or_else(|| made.clone(), |kind| made.clone().of_kind(*kind)))
    }
}

pub(super) fn prepare(
    run: &Run<'_>,
    scratch: &Scratch,
    (workload, disk): (&dyn Workload, &DiskSite),
    progress: &mut dyn RunProgress,
) -> Result<Files, RunError> {
    let arms = &run.plan.arms;
    let root = scratch.subdirectory("site")?;
    let writes = arms.iter().any(|arm| reading(arm).is_some());
    if let Some(site) = disk.site.as_ref().filter(|_| writes) {
        let need = site.disk_need();
        scratch.demand_room(need.bytes.get())?;
        progress.stage(&format!("writing the site: {} files, {}", need.files, need.bytes));
        site.write_to(&root)?;
    }
    let text = workload.catalogue().map_or_else(String::new, |catalogue| catalogue.to_text());
    let catalogue = Some(write(scratch.path(), "catalogue", text.as_bytes())?);
    let names: BTreeSet<&str> = arms.iter().filter_map(|arm| arm.client.name_in_tls()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let asks_peers = run.plan.written.iter().any(|file| file.text.contains("{client_ca}"));
    let makes_tls = asks_peers || arms.iter().any(makes_tls);
    let mut kinds = BTreeMap::new();
    for arm in arms {
        let running = || spec(arm).map_or(Ok(None), |spec| key_kind(spec, &context(run, scratch, arm)));
        let kind = arm.certificate.map_or_else(running, |kind| Ok(Some(kind)))?;
        kinds.extend(kind.map(|kind| (arm.name.clone(), kind)));
    }
    let needed = kinds.values().copied().collect();
    let create = || Certificate::create_for(scratch.path(), &names, &needed);
    let certificate = makes_tls.then(create).transpose()?;
    Ok(Files { reference: root.clone(), root, own: BTreeMap::new(), catalogue, certificate, kinds })
}

fn spec(arm: &Arm) -> Option<&Spec> {
    match &arm.what {
        ArmKind::Server(spec) => Some(spec),
        ArmKind::Command(_) | ArmKind::Files(_) | ArmKind::Calls(_) => None,
    }
}

/// Whether bakeoff starts the TLS side of the arm.
fn makes_tls(arm: &Arm) -> bool {
    arm.is_asked_over_tls() && !(arm.fronts.is_empty() && matches!(spec(arm), Some(Spec::Url { .. })))
}

fn write(dir: &Path, name: &str, content: &[u8]) -> Result<PathBuf, RunError> {
    let path = dir.join(name);
    std::fs::write(&path, content)
        .map_err(|why| RunError::Scratch { path: path.display().to_string(), why: why.to_string() })?;
    Ok(path)
}
