//! Reasons for decisions in words, values filled into a policy, and its digest.

use crate::policy;
use bakeoff_layers_mac::access::Access;
use bakeoff_layers_mac::grant::PortUse;
use bakeoff_layers_mac::policy::{Lets, PolicyError};
use std::path::{Path, PathBuf};

const POLICY: &str = "[types]
site = [\"/srv/site\"]
pages = { paths = [\"/srv/site/pages\"], hot = true }
secret = [\"/etc/secret\"]
late = [\"/gone/log\"]

[domain.web]
allow = { site = \"read\", pages = \"read list\", late = \"write\" }
listen = [80, \"{port}\"]
attributes = true

[[never]]
domain = \"web\"
type = \"secret\"
access = \"any\"
";

#[test]
fn a_reason_says_the_type_the_nearest_rule_what_it_holds_and_what_it_lacks() {
    let policy = policy(POLICY, &["port=8080"]).unwrap();
    let grant = policy.grant("web").unwrap();
    for (path, access, granted, label, reason) in [
        (
            "/srv/site/pages/a/b",
            Access::Write,
            false,
            Some("pages"),
            "`/srv/site/pages/a/b` is of type pages (p.toml:3); domain web may read list there (p.toml:8), not write",
        ),
        (
            "/srv/site",
            Access::Read,
            true,
            Some("site"),
            "`/srv/site` is of type site (p.toml:2); domain web may read there (p.toml:8)",
        ),
        (
            "/etc/secret",
            Access::Read,
            false,
            Some("secret"),
            "`/etc/secret` is of type secret (p.toml:4); domain web may do nothing there (p.toml:7)",
        ),
        (
            "/srv/sitemap\n",
            Access::Read,
            false,
            None,
            "`/srv/sitemap\\n` has no type in p.toml; domain web may do nothing there (p.toml:7)",
        ),
        (
            "/gone/log/x",
            Access::Write,
            false,
            Some("late"),
            "`/gone/log/x` is of type late (p.toml:5); domain web may write there (p.toml:8); `/gone/log` was not there \
             when the policy was read, so the kernel was told nothing",
        ),
    ] {
        let because = grant.because(Path::new(path), access);
        assert_eq!((because.granted, because.label, because.reason.as_str()), (granted, label, reason));
    }
    let rule = grant.because(Path::new("/srv/site/pages/x"), Access::Read).rule.unwrap();
    assert_eq!((rule.path.as_path(), rule.hot, rule.line), (Path::new("/srv/site/pages"), true, 8));
}

#[test]
fn ports_have_reasons_too() {
    let policy = policy(POLICY, &["port=8080"]).unwrap();
    let grant = policy.grant("web").unwrap();
    assert_eq!((grant.listen.as_slice(), grant.attributes), ([80, 8080].as_slice(), true));
    for (kind, port, granted, reason) in [
        (PortUse::Listen, 8080, true, "domain web may listen on port 80 8080 (p.toml:9)"),
        (PortUse::Listen, 22, false, "domain web may listen on port 80 8080 (p.toml:9), not 22"),
        (PortUse::Connect, 80, false, "domain web may connect to no TCP port (p.toml:7), not 80"),
    ] {
        let because = grant.because_port(kind, port);
        assert_eq!((because.granted, because.reason.as_str()), (granted, reason));
    }
}

#[test]
fn types_are_compared_where_links_lead() {
    let text = "[types]\na = [\"/link/x\"]\nb = [\"/real/x/y\"]\n[domain.d]\nallow = { a = \"read\", b = \"read\" }\n";
    let policy = policy(text, &[]).unwrap();
    let paths: Vec<PathBuf> = policy.grant("d").unwrap().files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(paths, [PathBuf::from("/real/x"), PathBuf::from("/real/x/y")]);
}

#[test]
fn names_are_filled_once_and_what_is_filled_in_is_no_pattern() {
    let text = "[types]\na = [\"{dir}/x\", \"{dir}{tail}\"]\n[domain.d]\nallow = { a = \"read\" }\n";
    let grant = policy(text, &["dir=/srv/[id]", "tail=/{dir}"]).unwrap().grant("d").unwrap().clone();
    let paths: Vec<&Path> = grant.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(paths, [Path::new("/srv/[id]/x"), Path::new("/srv/[id]/{dir}")]);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert!(Lets::of_words(&words(&["dir"])).unwrap_err().contains("--let NAME=VALUE"));
    assert!(Lets::of_words(&words(&["a=1", "a=2"])).unwrap_err().contains("twice"));
}

#[test]
fn a_policy_is_known_by_the_digest_that_other_tools_have_of_its_text() {
    let text = "[domain.d]\n";
    let digest = |lets: &[&str]| policy(text, lets).unwrap().digest().to_owned();
    // printf '[domain.d]\n' | sha256sum
    assert_eq!(digest(&[]), "44e6969b12e8f6e286d0b395133fc2cae09b740f1f0bd7f3dca4b6bf737fe5e6");
    assert_eq!(digest(&["a=1", "b=2"]), digest(&["b=2", "a=1"]));
    assert_ne!(digest(&["a=1"]), digest(&["a=2"]), "another port is another policy");
    assert_ne!(digest(&["a=1"]), digest(&[]));
    let policy = policy(text, &[]).unwrap();
    assert_eq!(
        (policy.grants()[0].digest.as_str(), policy.grants()[0].policy.as_str()),
        (policy.digest(), "p.toml")
    );
}

#[test]
fn a_domain_that_there_is_not_is_told_with_the_near_miss() {
    let policy = policy(POLICY, &["port=8080"]).unwrap();
    let Err(PolicyError::NoDomain(message)) = policy.grant("wbe") else { panic!("there is no wbe") };
    assert_eq!(message, "p.toml: there is no domain `wbe`; did you mean `web`?");
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/layers/mac.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("\n    [types]\n").skip(1).map(|after| {
        let block = after
            .lines()
            .take_while(|line| *line != "    END" && (line.starts_with("    ") || line.is_empty()));
        block.fold("[types]\n".to_owned(), |text, line| text + line.trim_start() + "\n")
    });
    let lets = ["dir=/run/web", "port=8080"];
    let found: Vec<_> = blocks.map(|block| policy(&block, &lets).unwrap()).collect();
    assert_eq!(found.len(), 1);
    let warnings: Vec<_> = found.iter().flat_map(|policy| policy.warnings()).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}
