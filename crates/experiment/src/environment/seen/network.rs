//! Observed limits on connections.

use super::super::host::Host;

/// Limits and present use; `None` for what cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkState {
    /// Open files of the whole machine, and the most there may be.
    pub file_table: Option<(u64, u64)>,
    /// Sockets that wait for the end of TIME_WAIT.
    pub time_wait: Option<u64>,
    /// Most of them (`net.ipv4.tcp_max_tw_buckets`).
    pub time_wait_most: Option<u64>,
    /// Connections that may wait to be accepted (`net.core.somaxconn`).
    pub somaxconn: Option<u64>,
    /// Connections that may be half open (`net.ipv4.tcp_max_syn_backlog`).
    pub syn_backlog: Option<u64>,
    /// Whether the kernel answers with cookies when too many are half open.
    pub syn_cookies: Option<bool>,
    /// Tracked connections and the most there may be; `None` also if nothing is tracked.
    pub conntrack: Option<(u64, u64)>,
}

pub(super) fn read(host: &Host) -> NetworkState {
    let number = |path: &str| -> Option<u64> { host.text(path).ok()?.parse().ok() };
    let conntrack = |name: &str| number(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}"));
    NetworkState {
        file_table: host.text("/proc/sys/fs/file-nr").ok().and_then(|text| file_table(&text)),
        time_wait: host.text("/proc/net/sockstat").ok().and_then(|text| time_wait(&text)),
        time_wait_most: number("/proc/sys/net/ipv4/tcp_max_tw_buckets"),
        somaxconn: number("/proc/sys/net/core/somaxconn"),
        syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
        syn_cookies: number("/proc/sys/net/ipv4/tcp_syncookies").map(|mode| mode != 0),
        conntrack: conntrack("count").zip(conntrack("max")),
    }
}

/// `USED FREE MOST`; a free one is counted as used by old kernels.
fn file_table(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let (used, free, most) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((used.saturating_sub(free), most))
}

/// Of `TCP: inuse 5 orphan 0 tw 3 alloc 7 mem 1`.
fn time_wait(text: &str) -> Option<u64> {
    let mut words = text.lines().find_map(|line| line.strip_prefix("TCP:"))?.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::super::host::tests::machine;
    use super::*;

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let (_directory, host) = machine(&[
            ("/proc/sys/fs/file-nr", "1184\t0\t9223372036854775807\n"),
            (
                "/proc/net/sockstat",
                "sockets: used 9\nTCP: inuse 5 orphan 0 tw 31 alloc 7 mem 1\nUDP: inuse 1 mem 0\n",
            ),
            ("/proc/sys/net/ipv4/tcp_max_tw_buckets", "65536\n"),
            ("/proc/sys/net/core/somaxconn", "4096\n"),
            ("/proc/sys/net/ipv4/tcp_max_syn_backlog", "512\n"),
            ("/proc/sys/net/ipv4/tcp_syncookies", "1\n"),
            ("/proc/sys/net/netfilter/nf_conntrack_count", "7\n"),
            ("/proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
        ]);
        let expected = NetworkState {
            file_table: Some((1184, i64::MAX as u64)),
            time_wait: Some(31),
            time_wait_most: Some(65536),
            somaxconn: Some(4096),
            syn_backlog: Some(512),
            syn_cookies: Some(true),
            conntrack: Some((7, 262_144)),
        };
        assert_eq!(read(&host), expected);
        assert_eq!(read(&machine(&[]).1), NetworkState::default());
    }
}
