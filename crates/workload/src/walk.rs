//! Synthetic site of a given shape, walked by robots as a log would be.
//!
//! Cold: made once. For studies whose data is lost: so many files of so many bytes, so many distinct URLs, a share of
//! them for files that do not exist, a mean reply. Sizes are log-normal, as those of web files are (Crovella and
//! Bestavros 1997 for the body), with a spread of our choice, and then scaled so that the sums come out. The same shape
//! and seed are the same site on every machine.

use crate::replay::LogIndex;
use crate::{Expect, Method, Request, Site, WorkloadError};
use bakeoff_content::{Catalogue, SplitMix64};
use bakeoff_units::{Bytes, Ratio};

/// Standard deviation of the logarithm of file sizes: the middle file has a third of the mean.
const SPREAD: f64 = 1.5;
/// Files of a directory.
const DIRECTORY: usize = 100;
/// Seed purpose of sizes.
const SIZES: u64 = 0x517e_0001;
/// Seed purpose of the choice of requested files.
const ASKED: u64 = 0x517e_0002;

/// The shape of a site and of the requests for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteShape {
    /// Files of the site.
    pub files: usize,
    /// Their bytes together.
    pub bytes: Bytes,
    /// Distinct URLs asked for.
    pub urls: usize,
    /// Share of them for files that do not exist.
    pub missing: Ratio,
    /// Bytes of a reply's body over all URLs, those of missing files counted as none.
    pub mean_reply: Bytes,
}

impl SiteShape {
    /// URLs of files that exist.
    fn asked(&self) -> usize {
        self.urls - (self.missing.get() * self.urls as f64).round() as usize
    }

    /// The numbers that contradict each other, in words.
    pub fn fault(&self) -> Option<String> {
        let asked = self.asked();
        let asked_bytes = self.asked_bytes();
        if asked == 0 {
            return Some("no URL is for a file that exists".to_owned());
        }
        if asked > self.files {
            return Some(format!("{asked} URLs are for files that exist, and there are only {}", self.files));
        }
        let (rest, rest_bytes) = ((self.files - asked) as u64, self.bytes.get().checked_sub(asked_bytes));
        match rest_bytes {
            None => Some(format!(
                "replies of {} take {}, and the site has only {}",
                self.mean_reply,
                Bytes::new(asked_bytes),
                self.bytes
            )),
            Some(0) if rest == 0 => None,
            Some(bytes) if rest == 0 => {
                Some(format!("every file is asked for, and {} are left over", Bytes::new(bytes)))
            }
            Some(bytes) if bytes < rest => Some(format!("{rest} files are left with less than a byte each")),
            Some(_) => None,
        }
    }

    fn asked_bytes(&self) -> u64 {
        self.mean_reply.get().saturating_mul(self.urls as u64)
    }
}

/// The site, with every URL once, in the form of a log.
///
/// # Errors
/// The numbers contradict each other, or the site is larger than `max` on disk.
pub fn walk(shape: &SiteShape, seed: u64, max: Bytes) -> Result<LogIndex, WorkloadError> {
    if let Some(fault) = shape.fault() {
        return Err(WorkloadError::NoSuchSite { fault });
    }
    let asked = shape.asked();
    let mut random = SplitMix64::for_purpose(seed, SIZES);
    let rest = shape.files - asked;
    let mut sizes = drawn(asked, shape.asked_bytes(), &mut random);
    sizes.extend(drawn(rest, shape.bytes.get() - shape.asked_bytes(), &mut random));
    // The choice of requested files does not follow their names.
    let mut names: Vec<usize> = (0..shape.files).collect();
    SplitMix64::for_purpose(seed, ASKED).shuffle(&mut names);
    let mut catalogue = Catalogue::default();
    let mut requests = Vec::with_capacity(shape.urls);
    for (place, (name, size)) in names.into_iter().zip(sizes).enumerate() {
        let path = path(name, size);
        let body = catalogue.insert(path.as_bytes(), size);
        if place < asked {
            requests.push((get(&path, Expect::Body(body)), size));
        }
    }
    for number in 0..shape.urls - asked {
        let path = format!("/gone/{:03}/page-{number:05}.html", number / DIRECTORY);
        requests.push((get(&path, Expect::Status(404)), 0));
    }
    Ok(LogIndex::of(requests, Site::new(catalogue, max)?))
}

fn get(path: &str, expect: Expect) -> Request {
    Request { method: Method::Get, target: path.as_bytes().into(), headers: Box::default(), expect }
}

/// Sizes of at least a byte that add up to `total`, which is at least `count`.
fn drawn(count: usize, total: u64, random: &mut SplitMix64) -> Vec<u64> {
    let weights: Vec<f64> = (0..count).map(|_| (SPREAD * normal(random)).exp()).collect();
    let all: f64 = weights.iter().sum();
    let spare = total.saturating_sub(count as u64);
    let mut sizes = Vec::with_capacity(count);
    let (mut so_far, mut given) = (0.0, 0);
    for weight in weights {
        so_far += weight;
        let end = ((so_far / all).min(1.0) * spare as f64).round() as u64;
        sizes.push(1 + end.min(spare).saturating_sub(given));
        given = given.max(end.min(spare));
    }
    if let Some(last) = sizes.last_mut() {
        *last += spare - given;
    }
    sizes
}

/// Box and Muller; only here, and not on any hot path.
fn normal(random: &mut SplitMix64) -> f64 {
    let (u, v) = (1.0 - random.unit(), random.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn path(name: usize, size: u64) -> String {
    let kind = match size {
        0..=16_383 => "html",
        16_384..=262_143 => "jpg",
        _ => "pdf",
    };
    format!("/{:03}/{:05}.{kind}", name / DIRECTORY, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use crate::replay::Shuffled;
    use std::num::NonZeroU32;

    fn athletics() -> SiteShape {
        SiteShape {
            files: 19_623,
            bytes: Bytes::new(664_000_000),
            urls: 20_741,
            missing: Ratio::new(0.15).unwrap(),
            mean_reply: Bytes::new(22_768),
        }
    }

    #[test]
    fn the_sums_are_those_asked_for() {
        let index = walk(&athletics(), 7, Bytes::new(u64::MAX)).unwrap();
        let site = index.site().unwrap();
        let sizes: Vec<u64> = site.files().map(|(_, body)| body.len()).collect();
        assert_eq!((sizes.len(), sizes.iter().sum::<u64>()), (19_623, 664_000_000));
        let requests = &index.table().requests;
        assert_eq!((requests.len() as u64, index.lines()), (20_741, 20_741));
        let missing = requests.iter().filter(|r| r.expect == Expect::Status(404)).count();
        assert_eq!(missing, 3111, "15.0 %");
        let bodies: u64 =
            requests.iter().map(|r| if let Expect::Body(body) = r.expect { body.len() } else { 0 }).sum();
        assert_eq!(bodies, 22_768 * 20_741);
        let mut sorted = sizes;
        sorted.sort_unstable();
        assert!(sorted[0] >= 1 && sorted[9811] < 15_000 && sorted[19_622] > 500_000, "skewed");
    }

    #[test]
    fn a_whole_walk_is_every_url_once_for_each_robot_and_the_seed_decides() {
        let small = SiteShape {
            files: 50,
            bytes: Bytes::new(90_000),
            urls: 40,
            missing: Ratio::new(0.1).unwrap(),
            mean_reply: Bytes::new(1000),
        };
        let slices = |seed| {
            let index = walk(&small, seed, Bytes::new(u64::MAX)).unwrap();
            let mut walk = Shuffled::over(index, 3, NonZeroU32::new(1), seed).unwrap();
            walk.slice(0, 1).unwrap()
        };
        let slice = slices(1);
        for list in slice.lists.iter() {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..40));
        }
        assert_ne!(slice.lists[0], slice.lists[1]);
        assert_eq!(slice.lists, slices(1).lists);
        assert_ne!(slice.lists, slices(2).lists);
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused_in_words() {
        let wrong = |shape: SiteShape| walk(&shape, 1, Bytes::new(u64::MAX)).unwrap_err().to_string();
        let good = athletics();
        assert!(wrong(SiteShape { files: 100, ..good }).contains("17630 URLs are for files that exist"));
        assert!(wrong(SiteShape { bytes: Bytes::new(1000), ..good }).contains("the site has only 1 KB"));
        assert!(wrong(SiteShape { missing: Ratio::new(1.0).unwrap(), ..good }).contains("no URL"));
    }
}
