//! Nodes of a Slurm job as places: `bakeoff` runs in the batch script, the others are its far ends.
//!
//! Cold. Asks `scontrol` what the nodes are called, and at which address this one is. Starts nothing.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::process::Command;

/// Slurm does not say what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlurmError {
    /// One of its variables is missing.
    #[error(
        "slurm: {0} is not set: this is not a batch script on a node of a job; start bakeoff in one, by `sbatch`"
    )]
    NoJob(&'static str),
    /// No node is left for a generator.
    #[error("slurm: the job has no node but this one, {0}; ask for more, as in `sbatch -N3`")]
    Alone(String),
    /// `scontrol` failed.
    #[error("slurm: `scontrol {words}`: {why}")]
    Control {
        /// Its words.
        words: String,
        /// Its own, or the system's.
        why: String,
    },
    /// The node is not at an IPv4 address.
    #[error("slurm: `scontrol` gives this node, {0}, no IPv4 address; name it, as in --address 10.0.0.2")]
    NoAddress(String),
}

/// Names of all nodes of the job but this one.
///
/// # Errors
/// This is no job, it has this node alone, or `scontrol` fails.
pub(crate) fn other_nodes() -> Result<Vec<String>, SlurmError> {
    let own = own_node()?;
    let list = variable("SLURM_JOB_NODELIST")?;
    let said = scontrol(&["show", "hostnames", &list])?;
    let others = said.split_whitespace().filter(|name| **name != own);
    let others: Vec<String> = others.map(str::to_owned).collect();
    if others.is_empty() { Err(SlurmError::Alone(own)) } else { Ok(others) }
}

/// Address at which the other nodes reach this one.
///
/// # Errors
/// As above, or the node has none.
pub fn own_address() -> Result<Ipv4Addr, SlurmError> {
    let own = own_node()?;
    let said = scontrol(&["--oneliner", "show", "node", &own])?;
    let name = said.split_whitespace().find_map(|field| field.strip_prefix("NodeAddr="));
    let found = (name.unwrap_or_default(), 0).to_socket_addrs().into_iter().flatten();
    let is_4 = |address: SocketAddr| match address {
        SocketAddr::V4(address) => Some(*address.ip()),
        SocketAddr::V6(_) => None,
    };
    found.filter_map(is_4).next().ok_or(SlurmError::NoAddress(own))
}

fn own_node() -> Result<String, SlurmError> {
    variable("SLURMD_NODENAME")
}

fn variable(name: &'static str) -> Result<String, SlurmError> {
    std::env::var(name).map_err(|_| SlurmError::NoJob(name))
}

/// Standard output of `scontrol`.
fn scontrol(words: &[&str]) -> Result<String, SlurmError> {
    let failed = |why: String| SlurmError::Control { words: words.join(" "), why };
    let ended = Command::new("scontrol").args(words).output().map_err(|why| failed(why.to_string()))?;
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&ended.stderr).trim().to_owned())),
    }
}
