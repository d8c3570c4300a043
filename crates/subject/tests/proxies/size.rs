//! Capacity of proxies: many requests at once, more objects than there is room, one object larger than memory.

use crate::origin::request;
use crate::stage::{MEGABYTE, PATIENCE, Stage, has, spec, start, until};
use crate::support::Yard;
use bakeoff_subject::{Product, ProxyMode, ProxySpec, Running, StoreReading};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// As many as wait at an origin that thinks for seconds: it answers none before all have come.
#[test]
fn two_thousand_requests_wait_at_the_origin() {
    const ALL: usize = 2_000;
    bakeoff_sys::rlimit::raise_open_files(8_192).unwrap();
    for product in Product::fronts() {
        if !has(product, "two_thousand_requests_wait_at_the_origin") {
            continue;
        }
        let listener = origin();
        let spec = ProxySpec { origin: listener.local_addr().unwrap(), ..spec(product, ProxyMode::Reverse) };
        let yard = Yard::new();
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        let origin = std::thread::spawn(move || {
            let waiting: Vec<TcpStream> = std::iter::from_fn(|| asking(&listener)).take(ALL).collect();
            for mut stream in waiting {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        });
        let clients: Vec<TcpStream> = (0..ALL).map(|number| begin(&running, number)).collect();
        for mut stream in clients {
            let mut reply = [0; 12];
            stream.read_exact(&mut reply).unwrap_or_else(|error| panic!("{product:?}: {error}"));
            assert_eq!(String::from_utf8_lossy(&reply), "HTTP/1.1 200", "{product:?}");
        }
        origin.join().unwrap();
    }
}

/// Its queue has room for all: a connection that the kernel turns away is tried again after seconds, then minutes.
fn origin() -> TcpListener {
    let listener = bakeoff_sys::net::listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
    listener.set_nonblocking(false).unwrap();
    listener
}

/// The next connection with a request on it; one without is a probe, and is closed.
fn asking(listener: &TcpListener) -> Option<TcpStream> {
    loop {
        let stream = listener.accept().unwrap().0;
        if request(&mut BufReader::new(&stream)).is_some() {
            return Some(stream);
        }
    }
}

fn begin(running: &Running, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /{number} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream
}

/// Twice the store's size, in objects of 100 KB: the gauge comes to the capacity and stays there.
#[test]
fn a_full_store_reads_full() {
    for product in Product::caches() {
        if !has(product, "a_full_store_reads_full") {
            continue;
        }
        let small = spec(product, ProxyMode::Reverse);
        let disk_bytes = small.disk_bytes.map(|_| 32 * MEGABYTE);
        let stage = Stage::set(&ProxySpec { memory_bytes: 16 * MEGABYTE, disk_bytes, ..small });
        for number in 0..stage.spec.store_bytes() * 2 / 100_000 {
            assert_eq!(stage.get(&format!("/keep/100000/{number}")).body_bytes, 100_000, "{product:?}");
        }
        let tenth = stage.reading().capacity_bytes / 10;
        let is_full = |reading: StoreReading| reading.used_bytes >= reading.capacity_bytes - tenth;
        until("the gauge reads full", || is_full(stage.reading()));
        // htcacheclean may be a minute away.
        if product != Product::Apache {
            until("no more than is allowed", || {
                stage.reading().used_bytes <= stage.reading().capacity_bytes + tenth
            });
        }
        let reading = stage.reading();
        assert!(product != Product::Varnish || reading.evictions > Some(0), "{reading:?}");
        println!("{}: {reading:?}", product.label());
    }
}

/// Far more than any memory set aside here. Takes seconds of both cores for each product.
#[test]
#[ignore = "moves 30 GB"]
fn five_gigabytes_pass_through_each() {
    const ALL: u64 = 5 << 30;
    for product in Product::caches() {
        if !has(product, "five_gigabytes_pass_through_each") {
            continue;
        }
        let stage = Stage::set(&spec(product, ProxyMode::Reverse));
        let begin = Instant::now();
        let mut stream = TcpStream::connect(stage.running.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /keep/{ALL}/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut reader = BufReader::with_capacity(1 << 20, stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        let got = std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        assert_eq!(got, ALL, "{product:?}");
        println!("{}: {:?}, {:?}", product.label(), begin.elapsed(), stage.reading());
    }
}
