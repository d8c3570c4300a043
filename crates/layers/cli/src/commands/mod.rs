//! One file a command.

pub(crate) mod integrity;
pub(crate) mod passphrase;
