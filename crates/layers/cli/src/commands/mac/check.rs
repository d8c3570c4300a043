//! `check`.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    policy: PolicyArgs,
}

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    args.policy.read()?;
    Ok(Exit::Done)
}
