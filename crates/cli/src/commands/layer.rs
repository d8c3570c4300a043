//! `bakeoff layer ...`: becomes `bakeoff-layers`, which lies beside this executable.
//!
//! What measures never links what is measured, so the layers are an executable of their own.

use crate::Failure;
use crate::args::LayerArgs;
use crate::exit::Exit;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Executes `bakeoff-layers` with the same arguments; returns only when that cannot be done.
pub(crate) fn layer(args: &LayerArgs) -> Result<Exit, Failure> {
    let own = std::env::current_exe().map_err(Failure::failed)?;
    let executable = own.with_file_name("bakeoff-layers");
    let error = Command::new(&executable).args(&args.rest).exec();
    Err(Failure::failed(missing(&executable, &error)))
}

fn missing(executable: &Path, error: &std::io::Error) -> String {
    format!(
        "layer: {}: {error}; the layers are a second executable: put `bakeoff-layers` beside `bakeoff`, or \
         build both with `cargo build --release`",
        executable.display()
    )
}
