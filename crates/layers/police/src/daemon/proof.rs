//! Evidence of a running daemon, for a process that did not see it begin.
//!
//! Measured side, cold. The programs live as long as the daemon does, so the status of a living daemon proves them.

use bakeoff_layers_base::daemon::status::{read_back, value};
use bakeoff_sys::process;
use std::path::Path;

/// Degree in the status of a living daemon that is `pid` or a descendant.
///
/// # Errors
/// The reason why there is none: no status, another process's, a daemon that has ended.
pub fn proof(pid: u32, status: &Path) -> Result<String, String> {
    let text = read_back(status);
    let told = |name: &str| value(&text, name).ok_or(format!("{} has no line `{name}`", status.display()));
    match told("state")? {
        "armed" => {}
        other => return Err(format!("the status says `{other}`")),
    }
    let daemon = living(&text).ok_or("the daemon of this status has ended: nothing is attached")?;
    if !process::is_or_below(daemon, pid) {
        return Err(format!("the status is of process {daemon}, which is neither {pid} nor below it"));
    }
    Ok(told("degree")?.to_owned())
}

/// The daemon that writes this status, if it lives.
pub(super) fn living(status: &str) -> Option<u32> {
    let number = |name: &str| value(status, name)?.parse::<u64>().ok();
    let pid = u32::try_from(number("pid")?).ok()?;
    let stat = process::stat(pid).ok()?;
    (Some(stat.start_ticks) == number("began") && stat.state != 'Z').then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_proves_a_living_daemon_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("status");
        let pid = std::process::id();
        let began = process::stat(pid).unwrap().start_ticks;
        let says = |state: &str, began: u64| {
            std::fs::write(&file, format!("state {state}\ndegree partial: tls\npid {pid}\nbegan {began}\n"))
                .unwrap();
            proof(pid, &file)
        };
        assert_eq!(says("armed", began).unwrap(), "partial: tls");
        assert!(says("armed", began + 1).unwrap_err().contains("has ended"));
        assert!(says("ended", began).unwrap_err().contains("`ended`"));
        says("armed", began).unwrap();
        assert!(proof(1, &file).is_ok(), "everything is below the first process");
        assert!(proof(u32::MAX, &file).unwrap_err().contains("neither"));
        assert!(proof(pid, &dir.path().join("none")).unwrap_err().contains("no line `state`"));
    }
}
