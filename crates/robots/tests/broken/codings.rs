//! Objects with two forms (plain and gzip), and robots of which some accept gzip.

use crate::breakage::Breakage;
use crate::run::{Seen, through};
use bakeoff_robots::ideal::RequestStream;
use bakeoff_robots::judge::{InGzip, ReplyFault};
use std::collections::BTreeMap;

/// Texts, that outlive the test, and images, which exist in one form.
const WORLD: &str = r#"
    [[content]]
    name = "text"
    size = "exp:4KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "nmt+0s" }
    compressibility = "60%"
    gzip = true
    share = "80%"

    [[content]]
    name = "image"
    size = "exp:2KB"
    life = { length = "const:2year", expires = "nmt+0s" }
    share = "20%"
"#;

/// Half of the robots accept gzip. One request after the other.
const PLAN: &str = "[robots]
    robots = 8
    rate = '2000/s'
    connections = '1'
    recurrence = '60%'
    accept_gzip = '50%'
    special = { ims304 = '5%', etag304 = '5%', reload = '5%', range = '5%', head = '5%', abort = '3%' }
    [[phase]]
    name = 'all'
    goal = { transactions = 600 }";

/// Faults other than misses of objects that were requested before, maybe in the other form.
fn wrong(seen: &Seen) -> BTreeMap<String, u64> {
    let mut wrong = seen.wrong();
    wrong.remove(ReplyFault::FalseMiss.label());
    wrong
}

/// Replies in gzip, and replies to requests that accept it, of every kind.
fn forms(seen: &Seen) -> (usize, usize) {
    let forms = || seen.judged.iter().map(|(_, judged)| judged.in_gzip);
    let came = forms().filter(|form| *form == InGzip::Came).count();
    (came, came + forms().filter(|form| *form == InGzip::Asked).count())
}

/// RFC 9110 section 8.8.3.3: it is the plain object's, too.
#[test]
fn a_strong_tag_of_two_codings_is_named() {
    let (seen, account, _) = through(Breakage::StrengthensTags, &PLAN.replace(", abort = '3%'", ""), WORLD);
    let wronged = account.wronged.len() as u64;
    let expected = BTreeMap::from([(ReplyFault::TagOfTwoCodings.label().to_owned(), wronged)]);
    assert_eq!(wrong(&seen), expected, "{:#?}", seen.sums.examples);
    assert!(wronged > 5, "{wronged}");
}

#[test]
fn a_cache_that_obeys_vary_is_found_right_and_has_what_an_ideal_one_has() {
    let (seen, account, origins) = through(Breakage::Nothing, PLAN, WORLD);
    assert_eq!(wrong(&seen), BTreeMap::new(), "{:#?}", seen.sums.examples);
    assert_eq!((seen.sums.finished, origins), (600, account.forwarded));
    let sums = &seen.sums;
    assert!(
        sums.gzip_asked > 100 && sums.gzip_came == sums.gzip_asked,
        "{} {}",
        sums.gzip_came,
        sums.gzip_asked
    );
    // Half of the robots accept gzip, for texts. A 304 of the origin and an aborted reply have no form.
    let (came, asked) = forms(&seen);
    assert!(came > 100 && asked < 300, "{came} {asked}");
    // Objects that were offered in the other form are misses, of the ideal cache, too.
    let plain = through(Breakage::Nothing, &PLAN.replace("special", "# special"), WORLD).0;
    assert_eq!(wrong(&plain), BTreeMap::new());
    let ideal = RequestStream::new(plain.stream.iter().copied()).known_at_once();
    assert_eq!(plain.sums.from_cache().count(), ideal.hits);
    let missed = plain.sums.offered_hit_bytes.count - ideal.hits;
    assert!(missed > 10 && missed == plain.faults(ReplyFault::FalseMiss), "{missed}");
}

/// One entry serves both, so that it has all that was offered.
#[test]
fn a_cache_that_unpacks_for_who_does_not_accept_it_is_found_right() {
    let (seen, ..) = through(Breakage::Unpacks, PLAN, WORLD);
    assert_eq!(wrong(&seen), BTreeMap::new(), "{:#?}", seen.sums.examples);
    assert!(seen.sums.gzip_asked > 100 && seen.sums.gzip_came == seen.sums.gzip_asked);
    let (plain, ..) = through(Breakage::Unpacks, &PLAN.replace("special", "# special"), WORLD);
    assert_eq!(plain.wrong(), BTreeMap::new());
    assert_eq!(plain.sums.from_cache().count(), plain.sums.offered_hit_bytes.count);
    let ideal = RequestStream::new(plain.stream.iter().copied()).known_at_once();
    assert!(plain.sums.from_cache().count() > ideal.hits);
}

#[test]
fn a_cache_that_ignores_vary_is_named_for_each_reply_in_the_wrong_form() {
    let (seen, account, _) = through(Breakage::IgnoresVary, &PLAN.replace("special", "# special"), WORLD);
    let wronged = account.wronged.len() as u64;
    assert_eq!(wrong(&seen), BTreeMap::from([(ReplyFault::UnacceptedCoding.label().to_owned(), wronged)]));
    assert!(wronged > 20 && seen.sums.failed == wronged, "{wronged}");
    let mut found = seen.judged.iter().filter(|(_, judged)| judged.faults.has(ReplyFault::UnacceptedCoding));
    assert!(
        found.all(|(stamp, judged)| account.wronged.contains(stamp) && judged.in_gzip == InGzip::NotAsked)
    );
    // A request that accepts gzip may get the object uncoded.
    assert!(seen.sums.gzip_came < seen.sums.gzip_asked);
}

#[test]
fn a_vary_that_is_lost_is_named() {
    let (seen, account, _) = through(Breakage::LosesVary, &PLAN.replace("special", "# special"), WORLD);
    let wronged = account.wronged.len() as u64;
    assert_eq!(wrong(&seen), BTreeMap::from([(ReplyFault::VaryLost.label().to_owned(), wronged)]));
    assert!(wronged > 50, "{wronged}");
}

#[test]
fn a_byte_that_is_changed_in_a_coded_body_is_found() {
    let plan = PLAN.replace("special", "# special").replace("'50%'", "'100%'");
    let (seen, account, _) = through(Breakage::FlipsABit, &plan, WORLD);
    let wronged = account.wronged.len() as u64;
    assert_eq!(wrong(&seen), BTreeMap::from([(ReplyFault::WrongBytes.label().to_owned(), wronged)]));
    let coded = seen.judged.iter().filter(|(_, judged)| judged.faults.has(ReplyFault::WrongBytes));
    assert!(coded.filter(|(_, judged)| judged.in_gzip == InGzip::Came).count() > 50, "{wronged}");
}
