//! Domains, their agents and their members, from outside and over loopback.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

mod strangers;
mod support;

use bakeoff_layers_agent::{authority, client, read_secret_key};
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::grant::SessionGrant;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::{CredentialRefusal, Item, Revoked, verify};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::Yard;

const HOME: &str = "home.example";
const SITE: &str = "site.example";

fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Alice delegates something to bob, who acts through it.
fn delegated(yard: &Yard) {
    for name in ["alice@home.example", "bob@home.example"] {
        yard.certify("user", name);
    }
    yard.logged_in("user", "alice@home.example", &[]);
    let words = [
        "delegate",
        "--to",
        "bob@home.example.identity",
        "--grant",
        "/projects/x=read,list",
        "--until",
        "2100-01-01",
    ];
    let more =
        ["--at", "node:files@site.example", "--out", "x.transfer", "--session", "alice@home.example.session"];
    let said = yard.good(&[&words[..], &more].concat());
    assert!(said.starts_with("x.transfer: for user:bob@home.example, transfer "), "{said}");
    yard.logged_in("user", "bob@home.example", &["--with", "x.transfer"]);
}

/// The file server's answer to bob's credentials.
fn at_the_server(yard: &Yard, bundles: &Bundles) -> Result<SessionGrant, CredentialRefusal> {
    let session = yard.session("bob@home.example");
    let statuses = client::endorse(&session, bundles).unwrap();
    let hello = Hello { statuses, ..session.hello() };
    let server: PrincipalName = "node:files@site.example".parse().unwrap();
    verify(&session.holder().leaf, &hello, bundles, &Revoked::default(), &server, now_unix_s())
}

/// The next notice that is not a sign of life.
fn next(notices: &Receiver<Notice>) -> Notice {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let notice = notices.recv_timeout(until.saturating_duration_since(Instant::now())).unwrap();
        if !matches!(notice.what, News::Alive(_)) {
            return notice;
        }
    }
}

#[test]
fn what_was_delegated_is_endorsed_and_when_it_is_taken_back_listeners_hear_of_it() {
    let yard = Yard::new(&[HOME, SITE]);
    delegated(&yard);
    let bundles = yard.bundles();
    let grant = at_the_server(&yard, &bundles).unwrap();
    assert_eq!((grant.subject.local(), grant.acts_as.local()), ("alice", "bob"));
    yard.counts(HOME, "endorsements", 1);
    let (sender, notices) = channel();
    yard.subscribe(sender);
    for _ in 0..2 {
        assert_eq!(next(&notices).what, News::Revoked(Vec::new()), "what there is, at once");
    }
    let refused = yard.bad(7, &["revoke", "x.transfer", "--session", "bob@home.example.session"]);
    assert!(refused.contains("refuses (not-yours)"), "{refused}");
    let said = yard.good(&["revoke", "x.transfer", "--session", "alice@home.example.session"]);
    assert_eq!(said, "taken back: x.transfer; epoch 1\n");
    let Notice { domain, what: News::Revoked(items) } = next(&notices) else { panic!("no news") };
    assert_eq!(domain.as_str(), HOME);
    let transfer = items.first().copied().unwrap();
    assert!(items.len() == 1 && grant.stands_on.contains(&(domain, transfer)), "{items:?}");
    let session = yard.session("bob@home.example");
    let why = client::endorse(&session, &bundles).unwrap_err().to_string();
    assert!(why.contains("refuses (revoked)"), "{why}");
}

#[test]
fn an_agent_that_was_killed_remembers_and_those_who_listen_hear_that_it_is_silent() {
    let mut yard = Yard::new(&[HOME]);
    yard.certify("user", "alice@home.example");
    yard.logged_in("user", "alice@home.example", &[]);
    let (sender, notices) = channel();
    yard.subscribe(sender);
    assert_eq!(next(&notices).what, News::Revoked(Vec::new()));
    yard.good(&["revoke", "user:alice@home.example", "--ola", "home.example/ola"]);
    let thumbprint = yard.session("alice@home.example").key().public().thumbprint();
    let revoked = News::Revoked(vec![Item::Key(thumbprint)]);
    assert_eq!(next(&notices).what, revoked);
    let address = yard.kill(HOME);
    assert_eq!(next(&notices).what, News::Silent);
    let away = yard.login("user", "alice@home.example", &[]);
    assert!(away.0 == 3 && away.2.contains("is not reached at") && away.2.contains("ola serve"), "{away:?}");
    assert_eq!(yard.start(HOME, &address), address);
    let told = loop {
        match next(&notices).what {
            News::Silent => {}
            told => break told,
        }
    };
    assert_eq!(told, revoked);
    let refused = yard.login("user", "alice@home.example", &[]);
    assert!(refused.0 == 7 && refused.2.contains("refuses (revoked)"), "{refused:?}");
    yard.counts(HOME, "revoked", 1);
}

#[test]
fn who_shows_something_wrong_gets_no_leaf_and_is_counted() {
    let yard = Yard::new(&[HOME, SITE]);
    yard.certify("user", "alice@home.example");
    yard.certify("user", "eve@site.example");
    // A key other than the identity's.
    std::fs::copy(yard.path("alice@home.example.key"), yard.path("kept")).unwrap();
    std::fs::copy(yard.path("eve@site.example.key"), yard.path("alice@home.example.key")).unwrap();
    let wrong = yard.login("user", "alice@home.example", &[]);
    assert!(wrong.0 == 7 && wrong.2.contains("refuses (wrong-holder)"), "{wrong:?}");
    std::fs::copy(yard.path("kept"), yard.path("alice@home.example.key")).unwrap();
    // Somebody else's identity.
    let words =
        ["login", "user:alice@home.example", "--key", "kept", "--identity", "eve@site.example.identity"];
    let other = yard.bad(2, &[&words[..], &["--trust", "trust"]].concat());
    assert!(other.contains("is the identity of user:eve@site.example"), "{other}");
    let long = yard.login("user", "alice@home.example", &["--for", "25h"]);
    assert!(long.0 == 7 && long.2.contains("refuses (too-long)"), "{long:?}");
    // An expired identity, and one that another domain's CA signed.
    let key = read_secret_key(&yard.path("kept")).unwrap().public();
    let name: PrincipalName = "user:alice@home.example".parse().unwrap();
    let over = authority::certify(&yard.path(HOME), (&name, &[]), key, (1, 2)).unwrap();
    std::fs::write(yard.path("alice@home.example.identity"), over.identity).unwrap();
    let over = yard.login("user", "alice@home.example", &[]);
    assert!(over.0 == 7 && over.2.contains("refuses (expired)"), "{over:?}");
    yard.good(&["ca", "init", HOME, "--out", "false", "--ola", "127.0.0.1:1"]);
    let forged = authority::certify(&yard.path("false"), (&name, &[]), key, (1, now_unix_s() + 99)).unwrap();
    std::fs::write(yard.path("alice@home.example.identity"), forged.identity).unwrap();
    let forged = yard.login("user", "alice@home.example", &[]);
    assert!(forged.0 == 7 && forged.2.contains("refuses (bad-signature)"), "{forged:?}");
    for refusal in ["wrong-holder", "too-long", "expired", "bad-signature"] {
        yard.counts(HOME, &format!("refused.{refusal}"), 1);
    }
    // An impostor at the agent's address.
    let address = yard.address(SITE);
    yard.good(&["ca", "bundle", "--ca", HOME, "--ola", &address]);
    yard.good(&["ca", "import", "home.example/trust/home.example.trust", "--trust", "trust"]);
    let stranger = yard.login("user", "alice@home.example", &[]);
    assert!(stranger.0 == 3 && stranger.2.contains("is not reached at"), "{stranger:?}");
}

#[test]
fn an_agent_takes_its_new_key_while_it_runs() {
    let yard = Yard::new(&[HOME]);
    yard.certify("user", "alice@home.example");
    let old = yard.bundles().get(&HOME.parse().unwrap()).unwrap().clone();
    yard.good(&["ola", "rotate", "--ca", HOME, "--stolen"]);
    yard.good(&["ca", "import", "home.example/trust/home.example.trust", "--trust", "trust"]);
    let before = yard.login("user", "alice@home.example", &[]);
    assert!(before.0 == 3 && before.2.contains("is not reached at"), "it has the old key yet: {before:?}");
    nix::sys::signal::kill(yard.pid(HOME), nix::sys::signal::Signal::SIGHUP).unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    while yard.login("user", "alice@home.example", &[]).0 != 0 {
        assert!(Instant::now() < until, "{:?}", yard.login("user", "alice@home.example", &[]));
    }
    let session = yard.session("alice@home.example");
    let refused = client::login(session.key(), &old, session.identity().clone(), 60).unwrap_err();
    assert!(refused.to_string().contains("is not reached at"), "{refused}");
}

#[test]
fn of_domains_that_are_made_at_once_in_one_directory_the_first_one_stays() {
    let yard = &Yard::new(&[]);
    for round in 0..10 {
        let dir = &round.to_string();
        let init = || yard.layer(&["ca", "init", HOME, "--out", dir, "--ola", "127.0.0.1:1"]);
        let ended: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(init)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (made, refused): (Vec<_>, Vec<_>) = ended.into_iter().partition(|ended| ended.0 == 0);
        assert_eq!(made.len(), 1, "round {round}: {made:?}, {refused:?}");
        let is_there = |ended: &support::Ended| ended.0 == 3 && ended.2.contains("ca.key: is there already");
        assert!(refused.iter().all(is_there), "round {round}: {refused:?}");
        // The key that lies there is the one that the bundle names.
        let (key, out) = (format!("{dir}.key"), format!("{dir}.identity"));
        let words =
            ["ca", "certify", "user:alice@home.example", "--ca", dir, "--new-key", &key, "--out", &out];
        yard.good(&words);
    }
}

#[test]
fn a_session_begins_where_it_is_private_and_ends_without_a_rest() {
    let yard = Yard::new(&[HOME]);
    yard.certify("user", "alice@home.example");
    let words = ["login", "user:alice@home.example", "--key", "alice@home.example.key", "--trust", "trust"];
    let login = [&words[..], &["--identity", "alice@home.example.identity"]].concat();
    let said = yard.good(&login);
    let dir = yard.path("run/bakeoff/user:alice@home.example");
    assert_eq!(said, format!("logged in as user:alice@home.example: {}\n", dir.display()));
    assert!(dir.join("key").exists());
    // The only session is the default.
    let wide =
        ["delegate", "--to", "alice@home.example.identity", "--grant", "/=all", "--until", "2100-01-01"];
    let past = [&wide[..5], &["--until", "2001-01-01", "--at", "*.home.example", "--out", "x"]].concat();
    assert!(yard.bad(2, &past).contains("no moment to come"));
    yard.good(&[&wide[..], &["--at", "*.home.example", "--out", "x"]].concat());
    let refused = yard.bad(
        2,
        &[
            "delegate",
            "--to",
            "x",
            "--grant",
            "/a/../b=read",
            "--until",
            "18:00",
            "--at",
            "*.a",
            "--out",
            "y",
        ],
    );
    assert!(refused.contains("no path from the root"), "{refused}");
    yard.good(&["logout"]);
    assert!(!dir.exists());
    let none = yard.bad(3, &["logout"]);
    assert!(none.contains("nobody is logged in there"), "{none}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
    let nowhere =
        command.current_dir(yard.path("")).env_remove("XDG_RUNTIME_DIR").args(login).output().unwrap();
    let said = String::from_utf8(nowhere.stderr).unwrap();
    assert!(nowhere.status.code() == Some(2) && said.contains("say --session DIR"), "{said}");
}

#[test]
fn a_session_is_meant_by_the_name_of_who_has_it() {
    let yard = Yard::new(&[HOME]);
    for (kind, name) in [("user", "alice@home.example"), ("node", "files@home.example")] {
        yard.certify(kind, name);
        let (whole, key, identity) =
            (format!("{kind}:{name}"), format!("{name}.key"), format!("{name}.identity"));
        let words = ["login", &whole, "--key", &key, "--identity", &identity, "--trust", "trust"];
        yard.good(&words);
        // The holder's own name is the default place, too.
        let said = yard.good(&[&words[..], &["--session", &whole]].concat());
        assert!(said.ends_with(&format!("run/bakeoff/{whole}\n")), "{said}");
    }
    assert!(yard.bad(2, &["logout"]).contains("2 sessions are below"), "whose?");
    let wish = ["--grant", "/=all", "--until", "2100-01-01", "--at", "*.home.example"];
    let delegate = ["delegate", "--to", "alice@home.example.identity", "--out", "x"];
    let delegate = [&delegate[..], &wish].concat();
    yard.good(&[&delegate[..], &["--session", "alice@home.example"]].concat());
    yard.good(&["revoke", "x", "--session", "user:alice@home.example"]);
    std::fs::write(yard.path("passphrase"), "open sesame\n").unwrap();
    let role = ["role", "create", "editor", "--out", "editor", "--passphrase-file", "passphrase"];
    let role = [&role[..], &wish[..2], &wish[4..]].concat();
    for words in [
        &["logout"][..],
        &delegate,
        &["revoke", "x"],
        &role,
        &["remotefs", "serve", "x", "--acl", "x", "--listen", "127.0.0.1:0"],
        &["remotefs", "mount", "127.0.0.1:1", "x", "--as-server", "node:files@home.example"],
    ] {
        let said = yard.bad(3, &[words, &["--session", "bob@home.example"]].concat());
        assert!(said.contains("run/bakeoff/user:bob@home.example: nobody is logged in there"), "{said}");
    }
    // An existing directory takes precedence, and so does a path.
    std::fs::create_dir(yard.path("bob@home.example")).unwrap();
    for at in ["bob@home.example", "./node:files@home.example"] {
        let said = yard.layer(&["logout", "--session", at]).2;
        assert!(said.contains(&format!("{at}: ")) && !said.contains("run/bakeoff"), "{said}");
    }
    yard.good(&["logout", "--session", "node:files@home.example"]);
    yard.good(&["logout", "--session", "alice@home.example"]);
    assert!(!yard.path("run/bakeoff/user:alice@home.example").exists());
}

#[test]
fn a_role_acts_for_its_owner_within_what_he_gave_it() {
    let yard = Yard::new(&[HOME]);
    yard.certify("user", "alice@home.example");
    yard.logged_in("user", "alice@home.example", &[]);
    std::fs::write(yard.path("right"), "open sesame\n").unwrap();
    std::fs::write(yard.path("wrong"), "open barley\n").unwrap();
    let words = [
        "role",
        "create",
        "editor",
        "--grant",
        "/projects=read,write",
        "--at",
        "*.site.example",
        "--out",
        "editor",
    ];
    let by = ["--passphrase-file", "right", "--session", "alice@home.example.session"];
    yard.good(&[&words[..], &by].concat());
    assert!(yard.bad(3, &[&words[..], &by].concat()).contains("is there already"));
    let login = |passphrase: &str| {
        let role =
            ["login", "role:editor.alice@home.example", "--role", "editor", "--session", "role.session"];
        yard.layer(&[&role[..], &["--trust", "trust", "--passphrase-file", passphrase]].concat())
    };
    let wrong = login("wrong");
    assert!(wrong.0 == 3 && wrong.2.contains("is not given out: the passphrase"), "{wrong:?}");
    assert_eq!(login("right").0, 0);
    let session = bakeoff_layers_agent::session::AgentSession::open(&yard.path("role.session")).unwrap();
    let bundles = yard.bundles();
    let hello = Hello { statuses: client::endorse(&session, &bundles).unwrap(), ..session.hello() };
    let server: PrincipalName = "node:files@site.example".parse().unwrap();
    let leaf = session.holder().leaf;
    let grant = verify(&leaf, &hello, &bundles, &Revoked::default(), &server, now_unix_s()).unwrap();
    assert_eq!(
        (grant.subject.to_string(), grant.acts_as.to_string()),
        ("user:alice@home.example".into(), "role:editor.alice@home.example".into())
    );
    // Without the transfer no access list grants the role anything of its owner's.
    let bare = Hello { chain: Vec::new(), statuses: Vec::new(), ..hello };
    let grant = verify(&leaf, &bare, &bundles, &Revoked::default(), &server, now_unix_s()).unwrap();
    assert_eq!(grant.subject.to_string(), "role:editor.alice@home.example");
    yard.good(&["revoke", "user:alice@home.example", "--ola", "home.example/ola"]);
    let owner = login("right");
    assert!(owner.0 == 7 && owner.2.contains("refuses (revoked)"), "a role falls with its owner: {owner:?}");
}

#[test]
fn keys_are_those_of_openssl_both_ways_and_it_takes_the_leaf() {
    let openssl = |yard: &Yard, words: &[&str]| {
        std::process::Command::new("openssl").current_dir(yard.path("")).args(words).output()
    };
    let yard = Yard::new(&[HOME]);
    if openssl(&yard, &["version"]).is_err() {
        assert!(
            std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(),
            "openssl is not installed (tests/prepare installs it)"
        );
        println!("SKIP keys_are_those_of_openssl_both_ways_and_it_takes_the_leaf: no openssl");
        return;
    }
    let run = |words: &[&str]| {
        let ended = openssl(&yard, words).unwrap();
        assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    };
    run(&["genpkey", "-algorithm", "ed25519", "-out", "alice@home.example.key"]);
    run(&["pkey", "-in", "alice@home.example.key", "-pubout", "-out", "alice.pub"]);
    let words = ["ca", "certify", "user:alice@home.example", "--ca", HOME, "--pub", "alice.pub"];
    yard.good(&[&words[..], &["--out", "alice@home.example.identity"]].concat());
    let session = yard.logged_in("user", "alice@home.example", &[]);
    // The session's own key, as it was written again.
    run(&["pkey", "-in", "alice@home.example.session/key", "-pubout", "-out", "again.pub"]);
    assert_eq!(
        std::fs::read(yard.path("again.pub")).unwrap(),
        std::fs::read(yard.path("alice.pub")).unwrap()
    );
    let bundles = yard.bundles();
    let root = bundles.each().next().unwrap().roots().first().unwrap().to_vec();
    for (name, der) in [("leaf", session.holder().leaf), ("root", root)] {
        std::fs::write(yard.path(name), der).unwrap();
        run(&["x509", "-inform", "DER", "-in", name, "-out", &format!("{name}.pem")]);
    }
    run(&["verify", "-purpose", "sslclient", "-CAfile", "root.pem", "leaf.pem"]);
}

#[test]
fn a_missing_key_says_what_makes_one() {
    let yard = Yard::new(&[]);
    let (alice, editor) = ("user:alice@home.example", "role:editor.alice@home.example");
    let login = ["login", alice, "--key", "alice.key", "--identity", "alice.identity", "--trust", "trust"];
    let role = ["login", editor, "--role", "editor", "--passphrase-file", "words", "--trust", "trust"];
    let pair = "bakeoff layer integrity keygen --key admin.key --pub admin.pub";
    let admins = format!("admin.pub: there is no such file; it is made with its secret key: {pair}");
    let secret = format!("admin.key: there is no such file; make one: {pair}");
    for (words, said) in [
        (
            &["store", "seal", ".", "--out", "vault", "--key", "store.key"][..],
            "store.key: there is no such file; make one: bakeoff layer store keygen --key store.key",
        ),
        (&["integrity", "seal", ".", "--key", "admin.key", "--out", "manifest"], &secret),
        (&["integrity", "verify", "--manifest", "manifest", "--pub", "admin.pub"], &admins),
        (
            &["ca", "certify", alice, "--pub", "alice.pub"],
            "openssl pkey -in alice.key -pubout -out alice.pub",
        ),
        (&["ca", "certify", alice, "--new-key", "alice.key"], "`bakeoff layer ca init` makes one"),
        (&["ca", "import", "home.trust", "--trust", "trust"], "home.trust: there is no such file; make one"),
        (&["ola", "serve", "ca/ola", "--listen", "127.0.0.1:0"], "`bakeoff layer ca init` makes one"),
        (
            &login,
            "alice.key: there is no such file; make one: openssl genpkey -algorithm ed25519 -out alice.key",
        ),
        (&role, "words: there is no such file; put the passphrase into its first line"),
        (&["revoke", "x.transfer"], "make one: bakeoff layer delegate --to IDENTITY --out x.transfer"),
    ] {
        let told = yard.bad(3, words);
        assert!(told.contains(said), "{words:?}: {told}");
    }
    yard.good(&["integrity", "keygen", "--key", "admin.key", "--pub", "admin.pub"]);
    let told = yard.bad(3, &["integrity", "verify", "--manifest", "manifest", "--pub", "admin.pub"]);
    assert!(told.contains("make manifest and signature: bakeoff layer integrity seal DIR"), "{told}");
}

#[test]
fn the_old_names_of_flags_for_keys_mean_the_same() {
    let yard = Yard::new(&[]);
    std::fs::create_dir(yard.path("tree")).unwrap();
    std::fs::write(yard.path("tree/file"), "text").unwrap();
    yard.good(&["store", "keygen", "--out", "old.key"]);
    yard.good(&["store", "seal", "tree", "--out", "vault", "--key-file", "old.key"]);
    yard.good(&["store", "verify", "vault", "--key", "old.key"]);
}
