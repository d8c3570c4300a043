//! Subjects in a network of their own. Needs root.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{Network, Product, Spec};
use bakeoff_sys::namespace::Namespace;
use std::net::{Ipv4Addr, TcpStream};
use support::{Yard, get, has, play};

fn network(test: &str, address: Ipv4Addr) -> Option<Network> {
    match Namespace::create() {
        Ok(namespace) => Some(Network { namespace, address }),
        Err(why) => {
            assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {why}");
            println!("SKIP {test}: cannot make a network namespace ({why}); run as root");
            None
        }
    }
}

#[test]
fn a_subject_and_all_its_processes_are_in_its_network() {
    let test = "a_subject_and_all_its_processes_are_in_its_network";
    let Some(network) = network(test, Ipv4Addr::LOCALHOST) else { return };
    let yard = Yard::new();
    let context = bakeoff_subject::Context { network: Some(network.clone()), ..yard.context("it") };
    let argv = [play().display().to_string(), "http".into(), "{port}".into(), "200".into()];
    let spec = Spec::Command { argv: argv.into(), ready: Some("/".into()), env: Vec::new(), tls: false };
    let running = bakeoff_subject::start(&spec, &context).unwrap();
    assert_eq!(running.address.ip(), network.address);
    assert!(TcpStream::connect(running.address).is_err(), "nobody listens outside");
    assert_eq!(network.namespace.run(|| get(&running, "/").0).unwrap(), 200);
    let inode = |path: String| std::fs::read_link(path).unwrap();
    let own = inode(network.namespace.path().display().to_string());
    for pid in running.processes() {
        assert_eq!(inode(format!("/proc/{pid}/ns/net")), own);
    }
}

#[test]
fn nginx_listens_on_the_address_of_its_network() {
    let test = "nginx_listens_on_the_address_of_its_network";
    if !has("nginx", test) {
        return;
    }
    let Some(network) = network(test, Ipv4Addr::new(127, 1, 2, 3)) else { return };
    let yard = Yard::new();
    let context = bakeoff_subject::Context { network: Some(network.clone()), ..yard.context("it") };
    let running = bakeoff_subject::start(
        &Spec::Product { product: Product::Nginx, config: None, tls: false },
        &context,
    )
    .unwrap();
    assert_eq!(network.namespace.run(|| get(&running, "/f")).unwrap(), (200, "hello".to_owned()));
    assert!(running.config.clone().unwrap().contains("listen 127.1.2.3:"));
    assert!(running.cpu().is_ok(), "control groups are reached from a network of its own");
}
