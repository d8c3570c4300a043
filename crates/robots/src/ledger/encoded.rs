//! Serde codec for histograms in the interchange form of HdrHistogram, as everywhere in bakeoff.

use bakeoff_meter::Histogram;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(histogram: &Histogram, to: S) -> Result<S::Ok, S::Error> {
    histogram.encode().serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
    Histogram::decode(&String::deserialize(from)?).map_err(D::Error::custom)
}
