//! Drawings that need no script: positions for the template.
//!
//! Cold, pure; knows nothing of what is drawn.

pub(crate) mod chart;
pub(crate) mod forest;
