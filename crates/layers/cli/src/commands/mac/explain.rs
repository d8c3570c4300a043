//! `explain`.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    policy: PolicyArgs,
}

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    args.policy.read()?;
    Ok(Exit::Done)
}
