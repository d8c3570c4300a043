//! Robots as user agents: properties that are the same in all requests of a robot.
//!
//! Measuring side, hot, pure. Owns the choice of robots that accept content codings.

use crate::judge::RequestKind;
use bakeoff_content::{GOLDEN, mix64, unit_of};
use bakeoff_units::Ratio;

/// Purpose of the random bits of where the sequence begins.
const AGENTS: u64 = 0xA6E7;

/// Whether this robot, of the whole population, is one of the share that accepts gzip. The share is drawn evenly and
/// not by chance alone, so that a few robots have it as nearly as many have: of any so many steps one after the other
/// about the share ends below the share.
pub(super) fn accepts_gzip(share: Ratio, seed: u64, robot: u64) -> bool {
    let place = mix64(seed ^ AGENTS).wrapping_add(robot.wrapping_mul(GOLDEN));
    unit_of(place) < share.get()
}

/// Whether requests of this kind may be answered so: ranges of coded bytes are of no use, and the reply to a POST is no
/// object.
pub(super) const fn wants_gzip(kind: RequestKind) -> bool {
    !matches!(kind, RequestKind::Range { .. } | RequestKind::Post)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_there_among_any_robots_and_another_seed_chooses_others() {
        for share in [0.0, 0.1, 0.5, 0.6, 1.0] {
            let ratio = Ratio::new(share).unwrap();
            for seed in 0..20 {
                for robots in [1, 7, 10, 100, 1250] {
                    let accept = (0..robots).filter(|robot| accepts_gzip(ratio, seed, *robot)).count();
                    let off = (accept as f64 - share * robots as f64).abs();
                    assert!(off < 3.0, "{share}, seed {seed}: {accept} of {robots}");
                }
            }
            assert!(share > 0.0 || !accepts_gzip(ratio, 1, 1));
        }
        let half = Ratio::new(0.5).unwrap();
        let chosen = |seed| (0..64).map(|robot| accepts_gzip(half, seed, robot)).collect::<Vec<_>>();
        assert_eq!(chosen(7), chosen(7));
        assert_ne!(chosen(7), chosen(8));
    }
}
