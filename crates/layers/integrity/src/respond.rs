//! Reactions to a wrong file besides the answer: its path is counted, the served processes are ended, the store is
//! locked.
//!
//! Deciding threads only leave an order; the main thread carries it out, so that no open waits for it.

use crate::counters::Count;
use crate::enforcer::Enforcer;
use crate::words::plain;
use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::manifest::check::Deviation;
use bakeoff_sys::process::{Signal, Stat, descendants, send, stat};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Counts a wrong file and orders its action; returns whether its open is allowed.
pub(crate) fn wrong(enforcer: &Enforcer, path: &str, wrong: Deviation, action: FaultAction) -> bool {
    enforcer.counters.violation(path, wrong);
    let action = action.min(enforcer.settings.mode);
    if action > FaultAction::Deny {
        enforcer.orders.leave(action, path);
    }
    action == FaultAction::Log
}

/// Carries out the pending order; for the main thread.
pub(crate) fn carry_out(enforcer: &Arc<Enforcer>) -> Option<String> {
    let (action, path) = enforcer.orders.take()?;
    let path = plain(&path);
    let mut said = format!("{path} is not as the manifest says");
    if action >= FaultAction::Lock {
        lock_store(enforcer, format!("{path} is not as its manifest says"));
    }
    if let Some(server) = &enforcer.server {
        let ended = end_tree(server);
        enforcer.counters.add_many(Count::Stopped, ended);
        said = format!("{said}; ended {ended} processes");
    }
    Some(said)
}

/// Kills a process and all its descendants, if its number is still its own. Repeats until nothing is left: children
/// forked meanwhile are found in the next turn.
fn end_tree(server: &Stat) -> u64 {
    const TURNS: usize = 20;
    let mut ended = 0;
    for _ in 0..TURNS {
        let root = stat(server.pid).ok().filter(|now| now.start_ticks == server.start_ticks);
        let Some(root) = root else { break };
        let mut tree = vec![root];
        tree.extend(descendants(server.pid).unwrap_or_default());
        tree.retain(|process| process.state != 'Z');
        if tree.is_empty() {
            break;
        }
        // The root first: a server restarts children that die.
        for process in &tree {
            let sent = send(process.pid, process.start_ticks, Signal::Kill);
            ended += u64::from(sent.unwrap_or(false));
        }
    }
    ended
}

/// Locks the store and waits for the answer of its mounts, in a thread of its own: a disk or a daemon may hang. An
/// order that comes meanwhile is part of it.
fn lock_store(enforcer: &Arc<Enforcer>, reason: String) {
    if enforcer.files.lock.is_none() || enforcer.locking.swap(true, Ordering::SeqCst) {
        return;
    }
    let own = enforcer.clone();
    let work = move || {
        let lock = own.files.lock.as_ref();
        match lock.map_or(Ok(()), |lock| lock.lock(&reason).and_then(|()| lock.wait_for_mounts())) {
            Ok(()) => own.counters.add(Count::Locked),
            Err(error) => own.say(format!("the store is not locked: {error}")),
        }
        own.locking.store(false, Ordering::SeqCst);
    };
    if std::thread::Builder::new().name("lock".to_owned()).spawn(work).is_err() {
        enforcer.locking.store(false, Ordering::SeqCst);
        enforcer.say("the store is not locked: no thread can be started".to_owned());
    }
}
