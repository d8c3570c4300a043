//! Worlds: endless sets of objects that need no list.
//!
//! Measuring side; used by origin and robots alike, so that the one serves and the other expects the same without a
//! word between them. A [`ObjectName`] is a few numbers; the object (size, type, whether it may be cached, when it changes,
//! what it embeds) follows from the name and from the [`Model`], which a plan describes in TOML. No I/O, no clock, no
//! state: the time comes in as a number.
//!
//! After Web Polygraph. Each property is drawn from a generator of its own, seeded by the name and a
//! constant of that property: a property that is added later changes none of the others.

mod model;
mod name;
mod object;
mod purpose;
mod shares;
mod think;
mod typed;
mod words;

pub use model::{Base, ContentKind, Embeds, Expiry, LifeCycle, Model};
pub use name::ObjectName;
pub use object::{Object, Version};
pub use typed::{ModelError, TypedKind};

#[cfg(test)]
mod tests;
