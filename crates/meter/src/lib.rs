//! The catalogue of meters, recorders and samplers
