//! Site on disk without the pages that applications behind the arms' servers make.
//!
//! All arms are compared on one site. So a page has no file only if every arm that reads files has a running server's
//! configuration that passes it on; then the stand-ins, which know all objects, answer for it.

use crate::run::scratch::Scratch;
use crate::run::{Run, RunError};
use bakeoff_content::Catalogue;
use bakeoff_plan::{Arm, ArmKind};
use bakeoff_subject::{Application, Context, Spec, application, made_pages};
use bakeoff_units::Bytes;
use bakeoff_workload::{Site, Workload};
use std::collections::HashSet;
use std::io;

/// The files of a run.
#[derive(Default)]
pub(super) struct DiskSite {
    /// None: the workload has no site.
    pub(super) site: Option<Site>,
    /// Number of the site's paths that have no file, and of all; none: each has one.
    pub(super) made: Option<(usize, usize)>,
}

/// The site as servers find it.
pub(super) fn on_disk(
    run: &Run<'_>,
    scratch: &Scratch,
    workload: &dyn Workload,
) -> Result<DiskSite, RunError> {
    let Some(site) = workload.site() else { return Ok(DiskSite::default()) };
    let whole = DiskSite { site: Some(site.clone()), made: None };
    // Files that are altered on purpose are drawn from the whole site.
    if run.plan.violations.is_some() {
        return Ok(whole);
    }
    let Some(applications) = applications(run, scratch)? else { return Ok(whole) };
    let paths: Vec<&[u8]> = site.catalogue().iter().map(|(path, _)| path).collect();
    let made: HashSet<&[u8]> = made_pages(&applications, &paths).into_iter().collect();
    if made.is_empty() {
        return Ok(whole);
    }
    let text = site.catalogue().to_text(); // a line for each path, in their order
    let kept = text.lines().zip(&paths).filter(|(_, path)| !made.contains(*path));
    let kept: String = kept.map(|(line, _)| format!("{line}\n")).collect();
    let mut files = Catalogue::from_text(&kept).map_err(|why| RunError::System(io::Error::other(why)))?;
    for script in applications.iter().flat_map(Application::scripts).map(str::as_bytes) {
        if !files.is_object(script) {
            files.insert(script, 0); // its existence is asked for, not its text
        }
    }
    let made = Some((made.len(), paths.len()));
    Ok(DiskSite { site: Some(Site::new(files, Bytes::new(u64::MAX))?), made })
}

/// The applications of all arms that read files; none: an arm has none.
fn applications(run: &Run<'_>, scratch: &Scratch) -> Result<Option<Vec<Application>>, RunError> {
    let mut all = Vec::new();
    for arm in &run.plan.arms {
        let Some(spec) = reading(arm) else { continue };
        let Some(own) = application(spec, &context(run, scratch, arm))? else { return Ok(None) };
        all.push(own);
    }
    Ok(Some(all))
}

/// What it takes to read an arm's configuration.
pub(super) fn context<'a>(run: &'a Run<'_>, scratch: &'a Scratch, arm: &Arm) -> Context<'a> {
    Context {
        home: Some(run.plan.base_dir.clone()),
        allowed_upstreams: arm.allowed_upstreams.clone(),
        asked_host: arm.client.name_in_tls().map(str::to_owned),
        files: run.plan.written.clone(),
        ..Context::new(&arm.name, scratch.path(), scratch.path(), run.interrupted)
    }
}

/// The server of an arm that reads the site's files.
pub(super) fn reading(arm: &Arm) -> Option<&Spec> {
    let ArmKind::Server(spec) = &arm.what else { return None };
    let reads = !matches!(spec, Spec::Origin { .. } | Spec::Proxy(_) | Spec::Url { .. });
    (reads && arm.serves_site).then_some(spec)
}
