//! Errors of subjects: the arm, what happened, where, and what to do next.

use crate::command_end::CommandEnd;
use crate::config::ConfigError;
use crate::product::{ProxyRefusal, StoreError};
use crate::words::LastWords;
use std::io;
use std::path::PathBuf;

/// Reasons why a subject could not be started, or is no longer there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The private directory or a file in it could not be made.
    #[error("arm `{arm}`: cannot write {}: {source}. Choose another directory for the run's files, or free space there", .path.display())]
    Dir {
        /// Name of the arm.
        arm: String,
        /// The path that could not be made.
        path: PathBuf,
        /// Error from the kernel.
        source: io::Error,
    },
    /// A front sends plain HTTP to a server that speaks TLS.
    #[error(
        "arm `{arm}`: what stands before its server asks it over plain HTTP; take `tls` from the arm, and say `tls = true` in the [front.NAME] that clients ask"
    )]
    FrontAsksPlain {
        /// Name of the arm.
        arm: String,
    },
    /// A server program is not installed.
    #[error("arm `{arm}`: no program `{program}` on this machine; {remedy}")]
    NoProgram {
        /// Name of the arm.
        arm: String,
        /// The program that was searched for.
        program: String,
        /// Package to install, or setting to change.
        remedy: String,
    },
    /// A server program is installed without HTTP/2, and the plan asks for it.
    #[error("arm `{arm}`: this {program} does not speak HTTP/2 ({missing}); {remedy}, or take `http2` out")]
    NoHttp2 {
        /// Name of the arm.
        arm: String,
        /// The program.
        program: &'static str,
        /// The part that is missing from it.
        missing: String,
        /// The package to install.
        remedy: &'static str,
    },
    /// A configuration file or a command cannot be used.
    #[error("arm `{arm}`: {origin}: {source}")]
    Config {
        /// Name of the arm.
        arm: String,
        /// The file, or `command`.
        origin: String,
        /// The error in it.
        source: ConfigError,
    },
    /// A running server's configuration cannot be adopted.
    #[error("arm `{arm}`: {source}")]
    Adopt {
        /// Name of the arm.
        arm: String,
        /// The reason, with its place.
        source: bakeoff_adopt::AdoptError,
    },
    /// A file of the user's cannot be read.
    #[error("arm `{arm}`: cannot read {}: {source}", .path.display())]
    Read {
        /// Name of the arm.
        arm: String,
        /// The file.
        path: PathBuf,
        /// Error from the kernel.
        source: io::Error,
    },
    /// The server runs as another user, which cannot reach its files.
    #[error("arm `{arm}`: the server runs as user `{user}`, who may not {need} {}; {remedy}", .path.display())]
    Unreachable {
        /// Name of the arm.
        arm: String,
        /// The name of that user.
        user: String,
        /// `enter` or `read`.
        need: &'static str,
        /// The path that it cannot reach.
        path: PathBuf,
        /// The correction.
        remedy: String,
    },
    /// TLS is wanted, but the caller gave no certificate.
    #[error("arm `{arm}`: TLS is wanted, but there is no certificate to give to the server")]
    NoCertificate {
        /// Name of the arm.
        arm: String,
    },
    /// The origin was given no catalogue of its objects.
    #[error("arm `{arm}`: the origin has no catalogue of objects to serve")]
    NoCatalogue {
        /// Name of the arm.
        arm: String,
    },
    /// The supervisor could not be started, or is gone.
    #[error("arm `{arm}`: its supervisor process failed: {source}; the server has been ended, start again (what the supervisor printed is in {})", .log.display())]
    Supervisor {
        /// Name of the arm.
        arm: String,
        /// The error from the kernel.
        source: io::Error,
        /// The file with its output.
        log: PathBuf,
    },
    /// The command could not be started.
    #[error("arm `{arm}`: {doing} failed: {message} (command: {command})")]
    Spawn {
        /// Name of the arm.
        arm: String,
        /// The step that failed.
        doing: String,
        /// Error from the kernel.
        message: String,
        /// The whole command.
        command: String,
    },
    /// A limit cannot be put on it.
    #[error("arm `{arm}`: its limits cannot be set: {reason}")]
    Limit {
        /// Name of the arm.
        arm: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// A command that prepares the start failed.
    #[error("arm `{arm}`: `{command}`, which prepares its start, failed ({status}){said}")]
    Prepare {
        /// Name of the arm.
        arm: String,
        /// Program and arguments.
        command: String,
        /// Its exit status.
        status: CommandEnd,
        /// Its last words.
        said: LastWords,
    },
    /// A layer could not be built or put up.
    #[error("arm `{arm}`: the layer `{layer}` is not up: {what}{said}")]
    Layer {
        /// Name of the arm.
        arm: String,
        /// Name of the layer.
        layer: String,
        /// Program and arguments, and how it ended or what it did not do.
        what: String,
        /// Its last words.
        said: LastWords,
    },
    /// A layer's process ended while its arm was measured.
    #[error(
        "arm `{arm}`: the process of the layer `{layer}` ended during the run: what was served since then was not behind it"
    )]
    LayerDied {
        /// Name of the arm.
        arm: String,
        /// Name of the layer.
        layer: String,
    },
    /// The command that tells whether the layer is on gave no answer.
    #[error(
        "arm `{arm}`: its proof `{command}` does not say whether the layer is on ({status}; 0 means on, 1 means off){said}"
    )]
    Proof {
        /// Name of the arm.
        arm: String,
        /// Program and arguments.
        command: String,
        /// Its exit status.
        status: CommandEnd,
        /// Its last words.
        said: LastWords,
    },
    /// It ended before it was ready.
    #[error("arm `{arm}`: the server ended before it was ready ({ending}){said}")]
    DiedAtStart {
        /// Name of the arm.
        arm: String,
        /// Its exit status or signal, in words.
        ending: String,
        /// Its last words.
        said: LastWords,
    },
    /// It ended while it was measured.
    #[error("arm `{arm}`: the server ended during the run ({ending}){said}")]
    Died {
        /// Name of the arm.
        arm: String,
        /// Its exit status or signal, in words.
        ending: String,
        /// Its last words.
        said: LastWords,
    },
    /// It did not get ready in time.
    #[error(
        "arm `{arm}`: the server was not ready after {waited}: {missing}. Give it more time with `start_timeout`, or see why{said}"
    )]
    NotReady {
        /// Name of the arm.
        arm: String,
        /// The time that it was given.
        waited: bakeoff_units::Nanos,
        /// The condition that was not met.
        missing: String,
        /// Its last words.
        said: LastWords,
    },
    /// It cannot be killed and started again where it was.
    #[error("arm `{arm}`: it cannot be killed and started again: {reason}")]
    Again {
        /// Name of the arm.
        arm: String,
        /// The reason.
        reason: &'static str,
    },
    /// Another process serves the port.
    #[error(
        "arm `{arm}`: {address} is answered by somebody else's server, not by the one started; stop that one, or check that the configuration listens on {{host}}:{{port}}{said}"
    )]
    Stranger {
        /// Name of the arm.
        arm: String,
        /// The address.
        address: String,
        /// The last words of our own server.
        said: LastWords,
    },
    /// The network that the subject belongs in cannot be entered.
    #[error("arm `{arm}`: cannot enter the network of the subjects: {source}; start again")]
    Network {
        /// Name of the arm.
        arm: String,
        /// Error from the kernel.
        source: io::Error,
    },
    /// The start was interrupted.
    #[error("arm `{arm}`: interrupted while starting")]
    Interrupted {
        /// Name of the arm.
        arm: String,
    },
    /// The URL cannot be used.
    #[error("arm `{arm}`: `{url}` cannot be measured: {reason}")]
    Url {
        /// Name of the arm.
        arm: String,
        /// The URL as written.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A proxy cannot be started as asked.
    #[error("arm `{arm}`: {product} as a proxy: {refusal}")]
    Proxy {
        /// Name of the arm.
        arm: String,
        /// The product.
        product: &'static str,
        /// The reason.
        refusal: ProxyRefusal,
    },
    /// The fill of a proxy's store cannot be read.
    #[error("arm `{arm}`: how full {product} is cannot be read: {source}")]
    Store {
        /// Name of the arm.
        arm: String,
        /// The product.
        product: &'static str,
        /// The reason.
        source: StoreError,
    },
    /// The certificates could not be made.
    #[error("cannot make the throw-away certificate in {}: {reason}", .dir.display())]
    Certificate {
        /// The directory they were to be in.
        dir: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl SubjectError {
    /// The quoted output, if the error has some.
    pub const fn said_mut(&mut self) -> Option<&mut LastWords> {
        match self {
            Self::Prepare { said, .. }
            | Self::Layer { said, .. }
            | Self::Proof { said, .. }
            | Self::DiedAtStart { said, .. }
            | Self::Died { said, .. }
            | Self::NotReady { said, .. }
            | Self::Stranger { said, .. } => Some(said),
            _ => None,
        }
    }
}
