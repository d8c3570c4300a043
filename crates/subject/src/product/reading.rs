//! Reading of the store of a running proxy.
//!
//! Measuring side, cold path: never in a slice.

use super::spec::ProxySpec;
use super::store::{Gauge, StoreError, StoreReading};
use crate::SubjectError;
use crate::running::Running;

/// The fill level of the store of a running proxy.
///
/// # Errors
/// The product does not tell.
pub fn store(spec: &ProxySpec, running: &Running) -> Result<StoreReading, SubjectError> {
    let read = || {
        let dir = running.dir.as_deref().ok_or(StoreError::NotOurs)?;
        let config = running.config.as_deref().unwrap_or_default();
        let (memory_bytes, disk_bytes, store_bytes) =
            (spec.memory_bytes, spec.disk_bytes, spec.store_bytes());
        let gauge = Gauge { memory_bytes, disk_bytes, store_bytes, address: running.address, dir, config };
        let store = spec.product.row().store.as_ref().ok_or(StoreError::None)?;
        (store.gauge)(&gauge)
    };
    let product = spec.product.title();
    read().map_err(|source| SubjectError::Store { arm: running.arm.clone(), product, source })
}
