//! Reload of the manifest without a gap: marks stay, and the old rules hold until the new ones do.
//!
//! Runs on SIGHUP. With freezing, loading a newer manifest opens the tree for changes; SIGHUP with the same manifest
//! again closes it.

use crate::arming::{self, Mounts};
use crate::counters::Count;
use crate::enforcer::Enforcer;
use crate::error::{EnforceError, escaped};
use crate::gap::Gap;
use crate::settings::EnforcementSettings;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::manifest::load::{self, LoadError, TrustConditions};
use bakeoff_layers_base::manifest::signature::AdminPublicKey;
use bakeoff_layers_base::manifest::{HighWater, Manifest, ManifestRefusal};
use bakeoff_layers_base::name::EscapedName;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Reads the manifest. Refuses one that is older than `seen` or the high-water mark. An expired one is refused, too,
/// except version `seen` itself: it was valid when accepted, and goes on.
pub(crate) fn read(settings: &EnforcementSettings, tree: &Path, seen: u64) -> Result<Manifest, EnforceError> {
    let key = AdminPublicKey::read(&settings.public_key)?;
    let marks = settings.high_water.as_deref().map(HighWater::at);
    let kept = marks.as_ref().map_or(Ok(0), |marks| marks.read(key.id()))?;
    let mut trust = TrustConditions { key: &key, now_unix_s: now_unix_s(), seen_version: seen.max(kept) };
    let manifest = match load::load(&settings.manifest, &trust) {
        Err(refused @ LoadError::Refused { refusal: ManifestRefusal::Expired { .. }, .. }) => {
            trust.now_unix_s = 0;
            let expired = load::load(&settings.manifest, &trust)?;
            if expired.header().version == seen { expired } else { return Err(refused.into()) }
        }
        loaded => loaded?,
    };
    let wanted = match &settings.name {
        Some(name) => name.clone(),
        None => EscapedName::of(tree),
    };
    let is = manifest.signed().name.clone();
    if is.as_ref() != Some(&wanted) {
        return Err(EnforceError::WrongManifest { is, wanted });
    }
    if let Some(marks) = marks {
        marks.raise(key.id(), manifest.header().version)?;
    }
    Ok(manifest)
}

/// Handles SIGHUP; returns the message to print.
pub(crate) fn reload(enforcer: &Enforcer) -> String {
    let listed = enforcer.listed();
    let version = listed.manifest.header().version;
    match read(&enforcer.settings, &enforcer.tree.path, version) {
        Err(error) => {
            enforcer.counters.add(Count::ReloadsRefused);
            format!("version {version} goes on: {error}")
        }
        Ok(manifest) if manifest.header() == listed.manifest.header() => close(enforcer, manifest),
        Ok(manifest) => take(enforcer, manifest),
    }
}

fn take(enforcer: &Enforcer, manifest: Manifest) -> String {
    let version = manifest.header().version;
    let frozen = enforcer.settings.freeze && !enforcer.is_read_only();
    if frozen {
        // First, so that from now on no verdict relies on stable names or files.
        enforcer.gaps.set(Gap::OpenForChanges, 1);
        arming::thaw(enforcer);
    }
    let odd = take_rules(enforcer, Arc::new(manifest), Mounts::Taken);
    enforcer.counters.add(Count::Reloads);
    let open = if frozen { "; the tree is open for changes until the next SIGHUP" } else { "" };
    format!("took version {version}{open}{odd}")
}

/// Closes the tree after changes: marks and freezes its present content again.
fn close(enforcer: &Enforcer, manifest: Manifest) -> String {
    let version = manifest.header().version;
    let frozen = enforcer.settings.freeze && !enforcer.is_read_only();
    enforcer.guard.switch(frozen);
    let odd = take_rules(enforcer, Arc::new(manifest), Mounts::Taken);
    enforcer.gaps.set(Gap::OpenForChanges, 0);
    format!("version {version} goes on{}{odd}", if frozen { "; the tree is closed" } else { "" })
}

/// Restores all removed marks, and lets the kernel ask about everything again.
pub(crate) fn rouse(enforcer: &Enforcer) {
    take_rules(enforcer, enforcer.listed().manifest.clone(), Mounts::Known);
}

/// Sets the marks first, then the new rules, and then drops the old verdicts: at no time does a file open unchecked
/// that the rules of that time would not allow. Returns a message about a file that must not be there. As a server
/// relies on us now, it is a gap and not an error.
fn take_rules(enforcer: &Enforcer, manifest: Arc<Manifest>, mounts: Mounts) -> String {
    match arming::arm(enforcer, manifest, mounts) {
        Ok(mut listed) => {
            enforcer.unasked.store(0, Ordering::Relaxed);
            let odd = listed.odd.take();
            enforcer.replace_listed(listed);
            enforcer.void_all();
            odd.map_or(String::new(), |(path, what)| format!("; {}: {what}", escaped(&path)))
        }
        // The root was marked before, so the kernel is out of memory: the old rules hold.
        Err(_) => {
            enforcer.counters.add(Count::ReloadsRefused);
            String::new()
        }
    }
}
