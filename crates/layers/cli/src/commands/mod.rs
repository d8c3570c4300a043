//! Commands of `bakeoff-layers`, one file each.

pub(crate) mod audit;
pub(crate) mod ca;
pub(crate) mod delegate;
pub(crate) mod integrity;
pub(crate) mod login;
pub(crate) mod mac;
pub(crate) mod moment;
pub(crate) mod mounted;
pub(crate) mod ola;
pub(crate) mod passphrase;
pub(crate) mod police;
pub(crate) mod proof;
pub(crate) mod remotefs;
pub(crate) mod revoke;
pub(crate) mod role;
pub(crate) mod store;
