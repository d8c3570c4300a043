//! `bakeoff verify`: whether a results directory is as it was written, and says what its records give.

use crate::Failure;
use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::kinds;

/// Prints what is not as it was written, a line each. Writes nothing.
pub(crate) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    kinds::verify(kinds::of_directory(&args.dir)?, &args.dir)
}
