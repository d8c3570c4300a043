//! Arming of the daemon: everything is loaded and attached in mode `off`, and one store puts it in force, so that a
//! failure leaves nothing behind.
//!
//! Measured side, cold. The order: rules, server, its network, its sockets, programs, steering, interfaces, socket
//! options, in force, rights given up.

use super::interfaces::Interfaces;
use super::life::{Armed, attach_classes, defers};
use super::proof::living;
use super::watch::Watch;
use super::{DaemonError, DaemonSettings, rights};
use crate::kernel::{KernelError, PoliceMode, Programs, count_time, probe};
use crate::listeners::Server;
use crate::rules::Rules;
use bakeoff_layers_base::daemon::status::{StatusFile, read_back};
use bakeoff_layers_base::plain::PathError;

pub(super) fn arm<'s>(
    settings: &'s DaemonSettings,
    note: &mut impl FnMut(&str),
) -> Result<Armed<'s>, DaemonError> {
    let Rules { table, warnings, .. } = settings.read_rules()?;
    warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    let status = settings.status.as_deref();
    let file = StatusFile::open(status).map_err(PathError::written(status))?;
    let left = status.map(read_back).unwrap_or_default();
    // Two that write one status would each undo the other's settings.
    living(&left).map_or(Ok(()), |pid| Err(DaemonError::Twice(pid)))?;
    let server = Server::of(settings.server_pid)?;
    server.enter_network()?;
    probe().map_err(KernelError::from)?;
    let (mut watch, ready) = Watch::begin(server, &table, &left)?;
    if !watch.deferrals.is_empty() {
        note(
            "an earlier daemon was killed and left TCP_DEFER_ACCEPT on the server's sockets; it is put back at the end of this one",
        );
    }
    let mut programs = Programs::load(&table, PoliceMode::Off)?;
    let timer = settings.count_time.then(count_time).transpose()?;
    if !table.classes.is_empty() {
        attach_classes(&mut programs)?;
    }
    let interfaces = Interfaces::attach(&settings.interfaces, settings.xdp, &mut programs)?;
    watch.take_on(ready, defers(&table, settings.mode), &mut programs)?;
    let mut armed = Armed::new(settings, table, programs, watch, interfaces, (file, timer));
    if let Err(error) = armed.begin().and_then(|()| rights::give_up(settings)) {
        // Nothing may stay on the server's sockets.
        let _ = armed.watch.put_back();
        return Err(error);
    }
    armed.turn(note);
    Ok(armed)
}
