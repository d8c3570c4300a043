//! Parser of the guest's console.
//!
//! Measuring side, cold, pure.

use crate::records::{BootRow, Cannot, GuestFact};

/// The console of one boot, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) rows: Vec<BootRow>,
    pub(crate) cannot: Vec<Cannot>,
    pub(crate) facts: Vec<GuestFact>,
    /// Whether it said that everything was counted.
    pub(crate) ended: bool,
    pub(crate) panicked: bool,
}

/// Reads a console. What is no line of ours, such as the kernel's own, is passed over.
pub(crate) fn read(console: &str) -> Said {
    let mut said = Said::default();
    for line in console.lines().map(|line| line.trim_end_matches('\r')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["R", name, count, min, median, max] => {
                let numbers = (count.parse().ok(), min.parse().ok(), median.parse().ok(), max.parse().ok());
                let (Some(count), Some(min), Some(median), Some(max)) = numbers else { continue };
                said.rows.push(BootRow { name: name.to_owned(), count, min, median, max });
            }
            ["E", name, ref why @ ..] => {
                said.cannot.push(Cannot { name: name.to_owned(), why: why.join(" ") });
            }
            ["#", "end"] => said.ended = true,
            ["#", name, ref value @ ..] => {
                let value = value.join(" ").trim_end_matches('\0').to_owned();
                said.facts.push(GuestFact { name: name.to_owned(), value });
            }
            _ => said.panicked |= line.contains("Kernel panic"),
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_passed_over() {
        let console = "[    0.1] Linux\r\nR stat 1000 10.0 11.5 12.0\r\nE udp EPERM not permitted\r\n\
                       # nginx system_u:system_r:httpd_t:s0\0\r\n# end\r\nR stat x 1 2 3\r\n";
        let said = read(console);
        assert_eq!(said.rows.len(), 1);
        assert_eq!((said.rows[0].count, said.rows[0].median), (1000, 11.5));
        assert_eq!(said.cannot[0].why, "EPERM not permitted");
        assert_eq!(said.facts[0].value, "system_u:system_r:httpd_t:s0");
        assert!(said.ended && !said.panicked);
        assert!(read("[ 1.0] Kernel panic - not syncing: no init").panicked);
    }
}
