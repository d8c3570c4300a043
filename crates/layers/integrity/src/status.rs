//! Status file of enforcement: lines `name value` in a file that is always complete.

use crate::enforcer::Enforcer;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

/// Text of the status.
pub(crate) fn text(enforcer: &Enforcer) -> String {
    let listed = enforcer.listed();
    let settings = &enforcer.settings;
    let mut text = String::from("bakeoff-integrity-status 1\n");
    let header = listed.manifest.header();
    let _ = writeln!(text, "root {}", enforcer.tree.path.display().to_string().escape_debug());
    let _ = writeln!(text, "mode {}", settings.mode);
    let _ = writeln!(text, "manifest-version {}", header.version);
    let _ = writeln!(text, "manifest-not-after {}", header.not_after_unix_s);
    let _ = writeln!(text, "files {}", listed.manifest.len());
    let _ = writeln!(text, "files-missing {}", listed.missing);
    let _ = writeln!(text, "verdicts-kept {}", enforcer.verdicts.kept());
    let _ = writeln!(text, "leases-held {}", enforcer.leases.len());
    let _ = writeln!(text, "frozen {}", enforcer.guard.len());
    let _ = writeln!(text, "unasked {}", enforcer.unasked.load(Ordering::Relaxed));
    let _ = writeln!(text, "worker-pid {}", enforcer.own);
    let _ = writeln!(text, "supervisor-pid {}", enforcer.supervisor);
    let ended = enforcer.ended.load(Ordering::Relaxed);
    let _ = writeln!(text, "state {}", if ended { "ended" } else { "armed" });
    text.push_str(&enforcer.gaps.text(settings.mode));
    text.push_str(&enforcer.counters.text());
    text
}
