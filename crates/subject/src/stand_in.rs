//! Stand-ins: what plays the servers behind an adopted configuration, so that none of the user's is asked.
//!
//! Measuring side, cold path. Each is the built-in origin in a process of its own, with the objects of the site; it
//! counts neither as the arm's server nor as its front.

use crate::SubjectError;
use crate::adopted::configuration;
use crate::context::Context;
use crate::origin::StandIn;
use crate::running::Running;
use crate::spec::Spec;
use crate::start::start_stand_in;
use bakeoff_adopt::{Setting, StandIns};
use std::net::SocketAddr;

/// The stand-ins that the arm's server needs, started, and their addresses.
pub(crate) fn start_for(
    spec: &Spec,
    context: &Context<'_>,
) -> Result<(Vec<Running>, StandIns<Option<SocketAddr>>), SubjectError> {
    let none = (Vec::new(), StandIns::default());
    let Some((configuration, entrance)) = configuration(spec, context)? else { return Ok(none) };
    let wrong = |source| SubjectError::Adopt { arm: context.arm.clone(), source };
    let setting = Setting { allowed: &context.allowed_upstreams, ..Setting::unreal(entrance.port) };
    let needed = configuration.adopt(&setting).map_err(wrong)?.stand_ins;
    let mut around = context.beside_the_server("stand-in");
    (around.port, around.limits, around.max_age) = (None, crate::Limits::default(), None);
    let mut all = Vec::new();
    let mut start = |needed: bool, stand_in| -> Result<Option<SocketAddr>, SubjectError> {
        if !needed {
            return Ok(None);
        }
        let running = start_stand_in(stand_in, &around)?;
        let address = running.address;
        all.push(running);
        Ok(Some(address))
    };
    let addresses = StandIns {
        http: start(needed.http, StandIn::Http)?,
        https: start(needed.https, StandIn::Https)?,
        fastcgi: start(needed.fastcgi, StandIn::FastCgi)?,
    };
    Ok((all, addresses))
}

/// Ends one, and takes its directory away.
pub(crate) fn end(stand_in: Running) {
    let dir = stand_in.dir.clone();
    let _ = stand_in.stop(); // nothing of it is counted
    if let Some(dir) = dir {
        let _ = std::fs::remove_dir_all(dir); // goes with the run's files
    }
}
