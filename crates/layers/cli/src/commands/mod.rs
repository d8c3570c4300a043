//! One file a command.

pub(crate) mod audit;
pub(crate) mod integrity;
pub(crate) mod mac;
pub(crate) mod mounted;
pub(crate) mod passphrase;
pub(crate) mod police;
pub(crate) mod proof;
pub(crate) mod remotefs;
pub(crate) mod store;
