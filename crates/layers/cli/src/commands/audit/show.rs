//! `audit show`: prints the records of a log.

use super::{DirArgs, Log};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::digest::Digest;
use bakeoff_layers_credentials::audit::{AuditOutcome, DecisionRecord, DecisionSubject, ObjectPath};
use bakeoff_layers_credentials::key::Hash;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::operation::Operations;
use clap::Args;
use serde_json::{Value, json};

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    dir: DirArgs,
    /// As lines of JSON, with the hashes of what each decision stands on
    #[arg(long)]
    json: bool,
}

/// Prints all readable records, whatever is wrong beside them.
pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let log = Log::open(&args.dir.dir, &[])?;
    let reader = log.directory.read(&log.keys, log.checkpoints.clone(), |record| {
        terminal::say(&if args.json { to_json(&record).to_string() } else { to_line(&record) });
    });
    Log::end(reader.map_err(Failure::failed)?).said()?;
    Ok(Exit::Done)
}

fn to_line(record: &DecisionRecord) -> String {
    let decision = &record.decision;
    let peer = decision.peer.as_ref().map_or_else(|| "a stranger".to_owned(), PrincipalName::to_string);
    let said = match &decision.about {
        DecisionSubject::Admitted { until_unix_s } => format!("let in until {until_unix_s}"),
        DecisionSubject::NotAdmitted { refusal } => format!("not let in: {refusal}"),
        DecisionSubject::Object { paths, asked, rights, outcome } => {
            let paths: Vec<String> = paths.iter().map(to_text).collect();
            let outcome = match outcome {
                // Whoever has any right there or below is told of a name.
                AuditOutcome::Allowed { line: 0 } => "allowed by any right there or below".to_owned(),
                AuditOutcome::Allowed { line } => format!("allowed by line {line}"),
                AuditOutcome::Refused { refusal } => format!("refused: {refusal}"),
            };
            let asked = match *asked {
                Operations::NONE => "to be told".to_owned(),
                some => some.to_string(),
            };
            format!("{asked} of {} {outcome} (may {})", paths.join(" and "), rights)
        }
    };
    let unwritten = match record.unwritten {
        0 => String::new(),
        some => format!(" ({some} refusals of strangers before it were not written)"),
    };
    format!(
        "{} at {} session {} {peer}: {said}{unwritten}",
        record.number, decision.time_unix_s, decision.session
    )
}

fn to_json(record: &DecisionRecord) -> Value {
    let (decision, hex) = (&record.decision, |hash: &Hash| Digest(*hash).to_string());
    let force = &decision.force;
    let mut line = json!({
        "number": record.number,
        "unwritten": record.unwritten,
        "time_unix_s": decision.time_unix_s,
        "session": decision.session,
        "peer": decision.peer.as_ref().map(PrincipalName::to_string),
        "shown": decision.shown.as_ref().map(hex),
        "epoch": force.epoch,
        "acl": hex(&force.acl),
        "bundles": force.bundles.iter().map(hex).collect::<Vec<_>>(),
        "revoked": hex(&force.revoked),
    });
    let more = match &decision.about {
        DecisionSubject::Admitted { until_unix_s } => {
            json!({ "decision": "let-in", "until_unix_s": until_unix_s })
        }
        DecisionSubject::NotAdmitted { refusal } => json!({ "decision": "not-let-in", "refusal": refusal }),
        DecisionSubject::Object { paths, asked, rights, outcome } => {
            let (word, by, value) = match outcome {
                AuditOutcome::Allowed { line } => ("allowed", "line", json!(line)),
                AuditOutcome::Refused { refusal } => ("refused", "refusal", json!(refusal)),
            };
            json!({
                "decision": word,
                by: value,
                "paths": paths.iter().map(to_text).collect::<Vec<_>>(),
                "asked": asked.to_string(),
                "rights": rights.to_string(),
            })
        }
    };
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more);
    }
    line
}

/// A path as text: names that are not UTF-8, and odd characters, with backslashes.
fn to_text(path: &ObjectPath) -> String {
    let name = |name: &Vec<u8>| match std::str::from_utf8(name) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => name.escape_ascii().to_string(),
    };
    format!("/{}", path.iter().map(name).collect::<Vec<_>>().join("/"))
}
