//! `mac check`: faults of a policy, and the effective rights of each domain.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_mac::grant::DomainGrant;
use bakeoff_layers_mac::policy::Policy;
use clap::Args;
use std::fmt::Write;

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Walk the trees of all types, too, for hard links that join two types
    #[arg(long)]
    tree: bool,
}

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let policy = args.policy.read()?;
    let found = if args.tree { policy.check_trees().map_err(Failure::usage)? } else { Vec::new() };
    for warning in policy.warnings().iter().chain(&found) {
        terminal::note(&format!("warning: {warning}"));
    }
    terminal::say(&about(&policy));
    Ok(Exit::Done)
}

fn about(policy: &Policy) -> String {
    let mut text = format!(
        "nothing is wrong; domains {}, assertions {}, sha256 {}\n",
        policy.grants().len(),
        policy.assertions(),
        policy.digest()
    );
    for grant in policy.grants() {
        let _ = write!(text, "\n{}", domain(grant));
    }
    text
}

/// Rights of a domain, path by path: the kernel's answer, which was compared with the written policy.
fn domain(grant: &DomainGrant) -> String {
    let mut rows = vec![["may".to_owned(), "type".to_owned(), "path".to_owned()]];
    rows.extend(grant.types.iter().map(|typed| {
        let path = typed.path.display().to_string().escape_debug().to_string();
        let not_there = if typed.there { "" } else { " (not there)" };
        [grant.effective(&typed.path).to_string(), typed.label.clone(), format!("{path}{not_there}")]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut text = format!("domain {}\n", grant.domain);
    for [may, label, path] in &rows {
        let _ = writeln!(text, "  {may:first$}  {label:second$}  {path}");
    }
    for (verb, ports) in [("listen on", &grant.listen), ("connect to", &grant.connect)] {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let ports =
            if ports.is_empty() { "no TCP port".to_owned() } else { format!("TCP {}", ports.join(" ")) };
        let _ = writeln!(text, "  may {verb} {ports}");
    }
    let not = if grant.attributes { "" } else { "not " };
    let _ = writeln!(text, "  may {not}change modes, owners, times and extended attributes");
    text
}
