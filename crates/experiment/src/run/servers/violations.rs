//! Planted violations: requests that the layer must refuse, put in the place of others.

use crate::run::RunError;
use bakeoff_content::{Body, SplitMix64};
use bakeoff_plan::{ViolationPlan, Violations};
use bakeoff_workload::{Expect, Method, Request, RequestTable, Site, Slice, Statuses, Workload};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Seed purpose of the choice of altered files.
const FILES: u64 = 0x71_01;
/// Seed purpose of the places of violations in a slice.
const PLACES: u64 = 0x71_02;

/// Violations planted in every slice.
pub(super) struct Planted {
    share: f64,
    requests: Vec<Request>,
    altered: HashSet<Body>,
    seed: u64,
}

impl Planted {
    /// Violations of a plan; altered files are drawn from the site, not yet altered. `None` if nothing is planted.
    pub(super) fn new(
        plan: &ViolationPlan,
        workload: &dyn Workload,
        seed: u64,
    ) -> Result<(Option<Self>, Vec<PathBuf>), RunError> {
        let mut files = Vec::new();
        let mut altered = HashSet::new();
        let requests = match &plan.what {
            Violations::Digests(_) | Violations::Denied(_) => return Ok((None, files)),
            Violations::Urls(urls) => urls.iter().map(|url| refused(url.as_bytes())).collect(),
            Violations::Files(count) => {
                for (path, body) in drawn(workload.site(), *count, seed)? {
                    altered.insert(body);
                    files.push(path);
                }
                files.iter().map(|path| refused(target_of(path).as_bytes())).collect()
            }
        };
        Ok((Some(Self { share: plan.share.get(), requests, altered, seed }), files))
    }

    /// The slice with violations in it: as many requests as before, the same for every arm.
    pub(super) fn plant(&self, slice: &Slice, round: u64) -> Slice {
        let mut requests: Vec<Request> = slice.table.requests.iter().map(|r| self.seen(r)).collect();
        let first = requests.len() as u32;
        requests.extend(self.requests.iter().cloned());
        let mut lists = slice.lists.as_ref().clone();
        let mut random = SplitMix64::for_purpose(self.seed ^ PLACES, round);
        let mut places: Vec<(usize, usize)> =
            (0..lists.len()).flat_map(|list| (0..lists[list].len()).map(move |at| (list, at))).collect();
        random.shuffle(&mut places);
        places.truncate((self.share * places.len() as f64).ceil() as usize);
        for (n, (list, at)) in places.into_iter().enumerate() {
            lists[list][at] = first + (n % self.requests.len()) as u32;
        }
        Slice { table: Arc::new(RequestTable { requests }), lists: Arc::new(lists), at: slice.at.clone() }
    }

    /// Requests of the workload's own for an altered file are violations as well.
    fn seen(&self, request: &Request) -> Request {
        let violates = request.expect.object().is_some_and(|body| self.altered.contains(&body));
        let expect = if violates { Expect::Refusal } else { request.expect };
        Request { expect, ..request.clone() }
    }
}

/// Statuses that mean refused.
pub(super) fn statuses(plan: Option<&ViolationPlan>) -> Statuses {
    plan.map_or_else(Statuses::default, |plan| Statuses::of(&plan.refused))
}

/// Changes one byte of each file; size and times stay.
pub(super) fn alter(root: &Path, files: &[PathBuf]) -> Result<(), RunError> {
    for relative in files {
        let path = root.join(relative);
        flip(&path)
            .map_err(|why| RunError::Scratch { path: path.display().to_string(), why: why.to_string() })?;
    }
    Ok(())
}

fn flip(path: &Path) -> std::io::Result<()> {
    let times = fs::metadata(path)?;
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0)?;
    file.write_all_at(&[byte[0] ^ 0xff], 0)?;
    file.set_times(fs::FileTimes::new().set_accessed(times.accessed()?).set_modified(times.modified()?))?;
    file.sync_all()
}

pub(super) fn drawn(site: Option<&Site>, count: usize, seed: u64) -> Result<Vec<(PathBuf, Body)>, RunError> {
    let mut files: Vec<(PathBuf, Body)> = site
        .into_iter()
        .flat_map(Site::files)
        .filter(|(_, body)| !body.is_empty())
        .map(|(path, body)| (path.to_owned(), body))
        .collect();
    if files.len() < count {
        return Err(RunError::TooFewFiles { wanted: count, there: files.len() });
    }
    SplitMix64::for_purpose(seed, FILES).shuffle(&mut files);
    files.truncate(count);
    Ok(files)
}

fn refused(target: &[u8]) -> Request {
    Request { method: Method::Get, target: target.into(), headers: Box::default(), expect: Expect::Refusal }
}

/// The path percent-encoded (RFC 3986 section 2.3: unreserved characters stay).
fn target_of(path: &Path) -> String {
    let mut target = "/".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            target.push(byte as char);
        } else {
            let _ = write!(target, "%{byte:02X}");
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::ObjectId;

    fn request(name: &str, body: Body) -> Request {
        Request { expect: Expect::Body(body), ..refused(name.as_bytes()) }
    }

    #[test]
    fn violations_take_the_place_of_their_share_and_of_requests_for_altered_files() {
        let (good, bad) = (Body::new(ObjectId::of_name(b"/a"), 9), Body::new(ObjectId::of_name(b"/b"), 9));
        let planted =
            Planted { share: 0.1, requests: vec![refused(b"/x")], altered: HashSet::from([bad]), seed: 1 };
        let table = RequestTable { requests: vec![request("/a", good), request("/b", bad)] };
        let lists = vec![vec![0; 150], vec![1; 50]];
        let slice = Slice { table: Arc::new(table), lists: Arc::new(lists), at: Arc::default() };
        let out = planted.plant(&slice, 3);
        assert_eq!(out.len(), 200);
        let entries: Vec<u32> = out.lists.iter().flatten().copied().collect();
        assert_eq!(entries.iter().filter(|entry| **entry == 2).count(), 20);
        assert_eq!(out.table.requests[1].expect, Expect::Refusal);
        assert_eq!(out.table.requests[0].expect, Expect::Body(good));
        assert_eq!(out.lists, planted.plant(&slice, 3).lists, "the same for every arm");
        assert_ne!(out.lists, planted.plant(&slice, 4).lists);
    }

    #[test]
    fn an_altered_file_keeps_size_and_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "hello").unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        alter(dir.path(), &[PathBuf::from("f")]).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.len(), after.modified().unwrap()), (5, before));
        assert_ne!(fs::read(&path).unwrap(), b"hello");
    }

    #[test]
    fn names_are_encoded() {
        assert_eq!(target_of(Path::new("a b/ü.txt")), "/a%20b/%C3%BC.txt");
    }
}
