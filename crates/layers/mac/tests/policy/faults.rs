//! Every fault of a policy by itself: its line, its name, and its advice.

use crate::policy;
use bakeoff_layers_mac::policy::{PolicyError, PolicyFault, PolicyFaultKind};

/// Fault, text after the sound part, number of lines below it, message.
const CASES: [(PolicyFaultKind, &str, usize, &str); 33] = [
    (PolicyFaultKind::NotToml, "[domain", 1, "unclosed table"),
    (PolicyFaultKind::Unknown, "[domian.x]", 1, "there is no key `domian`; did you mean `domain`?"),
    (PolicyFaultKind::Unknown, "[[transition]]", 1, "Landlock only takes away"),
    (PolicyFaultKind::Unknown, "[roles]", 1, "neither roles nor levels"),
    (PolicyFaultKind::Unknown, "[domain.x]\nview = true", 2, "put a mount namespace around"),
    (PolicyFaultKind::Unknown, "[domain.x]\nlisen = [1]", 2, "did you mean `listen`?"),
    (
        PolicyFaultKind::Unknown,
        "[domain.x]\nallow = { stie = \"read\" }",
        2,
        "no type `stie`; did you mean `site`?",
    ),
    (
        PolicyFaultKind::Unknown,
        "[domain.x.allow]\n\nsite = \"raed\"",
        3,
        "no access `raed`; did you mean `read`?",
    ),
    (PolicyFaultKind::Unknown, "[domain.x.allow]\nsite = \"read append\"", 2, "Landlock has no append"),
    (PolicyFaultKind::Unknown, "[domain.x.allow]\nsite = \"chmod\"", 2, "attributes = true"),
    (
        PolicyFaultKind::Unknown,
        "[[never]]\ndomain = \"wed\"\ntype = \"site\"\naccess = \"any\"",
        1,
        "did you mean `web`?",
    ),
    (
        PolicyFaultKind::Unknown,
        "[[never]]\ndomain = \"*\"\ntype = \"cite\"\naccess = \"any\"",
        1,
        "did you mean `site`?",
    ),
    (
        PolicyFaultKind::Unknown,
        "[[never]]\ndomain = \"*\"\ntype = \"far\"\naccess = \"any\"",
        1,
        "known are site, log",
    ),
    (PolicyFaultKind::OfAnotherType, "[domain.x]\nlisten = 80", 2, "write listen = [8080]"),
    (PolicyFaultKind::OfAnotherType, "[domain.x]\nlisten = [0x50]", 2, "write listen = [8080]"),
    (PolicyFaultKind::OfAnotherType, "[domain.x]\nallow = \"read\"", 2, "write allow = { TYPE"),
    (PolicyFaultKind::OfAnotherType, "[domain.x]\nattributes = 1", 2, "`attributes` is true or false"),
    (PolicyFaultKind::OfAnotherType, "[types.x]\npaths = [1]", 2, "`paths` is a list of paths"),
    (
        PolicyFaultKind::OfAnotherType,
        "[[never]]\ndomain = 1\ntype = \"site\"\naccess = \"any\"",
        2,
        "\"*\" for all",
    ),
    (PolicyFaultKind::KeyMissing, "[[never]]\ntype = \"site\"\naccess = \"any\"", 1, "`domain` is missing"),
    (PolicyFaultKind::KeyMissing, "[types.x]\nhot = true", 1, "`paths` is missing"),
    (PolicyFaultKind::OddName, "[domain.\"x y\"]", 1, "`x y` is no name"),
    (PolicyFaultKind::NoAccess, "[domain.x]\nallow = { site = \"\" }", 2, "write some of read list"),
    (
        PolicyFaultKind::Unfilled,
        "[domain.x]\nlisten = [\"{prot}\"]",
        2,
        "{prot} has no value; did you mean `port`?",
    ),
    (PolicyFaultKind::Unfilled, "[types.x]\npaths = [\"{etwas}/x\"]", 2, "give --let etwas=VALUE"),
    (PolicyFaultKind::Pattern, "[types.x]\npaths = [\"/a/*.html\"]", 2, "through --let"),
    (PolicyFaultKind::Pattern, "[types.x]\npaths = [\"/a/{b,c}\"]", 2, "name the directory"),
    (PolicyFaultKind::NotAbsolute, "[types.x]\npaths = [\"pages\"]", 2, "begin with /"),
    (PolicyFaultKind::NotAbsolute, "[types.x]\npaths = [\"/a/../b\"]", 2, "without `..`"),
    (PolicyFaultKind::OfEachProcess, "[types.x]\npaths = [\"/proc/self/fd\"]", 2, "name /proc"),
    (PolicyFaultKind::NoPort, "[domain.x]\nconnect = [70000]", 2, "0 to 65535"),
    (
        PolicyFaultKind::TwoTypes,
        "[types.x]\npaths = [\"/link/site/\"]",
        2,
        "`/real/site`, is of type x and, by line 2, of type site",
    ),
    (
        PolicyFaultKind::Nested,
        "[types.x]\npaths = [\"/real/site/secret\"]\n[domain.y]\nallow = { x = \"write\" }",
        0,
        "domain web would also get `read list` on `/real/site/secret` (type x): it lies inside `/real/site` (type site)",
    ),
];

/// The base policy, without fault, with everything that the cases refer to: `site` is used, as is `log`.
const SOUND: &str = "[types]\nsite = [\"/real/site\"]\nlog = { paths = [\"/var/log\"] }\n\
    [domain.web]\nallow = { site = \"read list\", log = \"any\" }\n";

fn faults(text: &str) -> Vec<PolicyFault> {
    match policy(text, &["port=80"]) {
        Ok(_) => Vec::new(),
        Err(PolicyError::Wrong(faults)) => faults,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn each_fault_is_told_by_itself_with_its_line_and_what_to_do() {
    let before = SOUND.lines().count();
    assert_eq!(faults(SOUND), []);
    for (wrong, text, line, said) in CASES {
        let found = faults(&format!("{SOUND}{text}\n"));
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        let fault = &found[0];
        // A nested type is reported where it is granted: by web, before.
        let line = if line == 0 { 5 } else { before + line };
        assert_eq!((fault.wrong, fault.line), (wrong, line), "{text}: {fault}");
        assert!(fault.sentence.contains(said), "{text}: {fault}");
        assert_eq!(fault.to_string(), format!("p.toml:{line}: {}", fault.sentence));
    }
}

#[test]
fn what_is_nested_is_no_fault_where_as_much_is_written() {
    let with = |allow: &str| {
        format!("[types]\nsite = [\"/s\"]\nx = [\"/s/x\", \"/y\"]\n[domain.web]\nallow = {{ {allow} }}\n")
    };
    assert_eq!(faults(&with("site = \"read list\", x = \"read list write\"")), []);
    assert_eq!(faults(&with("site = \"read list\", x = \"any\"")), []);
    assert_eq!(faults(&with("x = \"any\"")), [], "Landlock never grants what lies around");
    let found = faults(&with("site = \"read list\", x = \"read write\""));
    assert_eq!((found.len(), found[0].wrong, found[0].line), (1, PolicyFaultKind::Nested, 5));
    assert!(found[0].sentence.contains("also get `list`"), "{}", found[0]);
    assert!(found[0].sentence.contains("Write x = \"read list write\""), "{}", found[0]);
}

#[test]
fn an_assertion_is_held_against_what_the_kernel_will_grant() {
    let with = |allow: &str, never: &str| {
        format!(
            "[types]\nsite = [\"/s\"]\nx = [\"/s/x\"]\n[domain.web]\nallow = {{ {allow} }}\n[domain.other]\n\
             [[never]]\n{never}\n"
        )
    };
    let any = "domain = \"*\"\ntype = \"x\"\naccess = \"read delete\"";
    // Not a word of x: the rule around it is at fault.
    let found = faults(&with("site = \"read\"", any));
    let wrongs: Vec<PolicyFaultKind> = found.iter().map(|fault| fault.wrong).collect();
    assert_eq!(wrongs, [PolicyFaultKind::Nested, PolicyFaultKind::Broken]);
    assert_eq!(found[1].line, 7);
    assert!(
        found[1].sentence.contains("domain web gets `read` on `/s/x` (type x) by line 5"),
        "{}",
        found[1]
    );
    assert_eq!(faults(&with("x = \"list\"", any)), []);
    assert_eq!(faults(&with("x = \"read\"", any))[0].wrong, PolicyFaultKind::Broken);
    assert_eq!(faults(&with("x = \"read\"", "domain = \"other\"\ntype = \"x\"\naccess = \"any\"")), []);
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_lines() {
    let text = "[types]\na = [\"x\"]\nb = [\"/b\"]\n[domain.d]\nallow = { a = \"raed\", c = \"read\" }\nlisten = [\"x\"]\n\
                [[never]]\ndomain = \"e\"\n";
    let found: Vec<(usize, PolicyFaultKind)> =
        faults(text).iter().map(|fault| (fault.line, fault.wrong)).collect();
    let expected = [
        (2, PolicyFaultKind::NotAbsolute),
        (5, PolicyFaultKind::Unknown),
        (5, PolicyFaultKind::Unknown),
        (6, PolicyFaultKind::NoPort),
        (7, PolicyFaultKind::KeyMissing),
        (7, PolicyFaultKind::KeyMissing),
    ];
    assert_eq!(found, expected);
    let all = policy(text, &[]).unwrap_err().to_string();
    assert_eq!(all.lines().count(), 7, "{all}");
}

#[test]
fn mistakes_of_form_are_told_each_and_nothing_that_follows_from_them() {
    let found = faults("[types]\nx = \"/a\ny = [\"/b\"]\nz = ]\n[domain.d]\nallow = { none = \"read\" }\n");
    let found: Vec<(usize, PolicyFaultKind)> = found.iter().map(|fault| (fault.line, fault.wrong)).collect();
    assert_eq!(found, [(2, PolicyFaultKind::NotToml), (4, PolicyFaultKind::NotToml)]);
    assert_eq!(faults("[types]\n")[0].wrong, PolicyFaultKind::NoDomain);
}

#[test]
fn warnings_do_not_hinder() {
    let text = "[types]\nidle = [\"/i\"]\nlate = [\"/gone/x\"]\nfile = [\"/a.txt\"]\nboth = [\"/b.txt\", \"/b\"]\n\
                [domain.d]\nallow = { late = \"read\", file = \"read list create\", both = \"read list\" }\n";
    let policy = policy(text, &[]).unwrap();
    let found: Vec<(usize, PolicyFaultKind)> =
        policy.warnings().iter().map(|fault| (fault.line, fault.wrong)).collect();
    assert_eq!(
        found,
        [(2, PolicyFaultKind::Unused), (3, PolicyFaultKind::NotThere), (7, PolicyFaultKind::OnlyFiles)]
    );
    assert!(policy.warnings()[2].sentence.starts_with("`list create` says nothing of files"));
    assert!(policy.warnings().iter().all(|fault| fault.wrong.is_warning()));
    assert_eq!(policy.grant("d").unwrap().files.len(), 4, "what is not there is told to whoever confines");
}
