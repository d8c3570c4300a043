//! Operations on an object: the units in which rights are granted.
//!
//! Measured side, pure. Operations are bits in certificates and words in lists and flags.

use bakeoff_layers_base::named;
use bakeoff_layers_base::named::Named;
use std::fmt;

named! {
    /// One thing that may be done.
    pub enum Operation {
        /// Read a file.
        Read "read",
        /// List a directory.
        List "list",
        /// Write to a file.
        Write "write",
        /// Make something.
        Create "create",
        /// Remove something, or give it another name.
        Remove "remove",
        /// Set attributes.
        Attributes "attributes",
        /// Change the access list.
        Acl "acl",
    }
}

impl Operation {
    /// Its bit in certificates, by its place.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operations(u8);

impl Operations {
    /// None.
    pub const NONE: Self = Self(0);
    /// Every one.
    pub const ALL: Self = Self(0x7f);

    /// A set of these.
    pub fn of(operations: &[Operation]) -> Self {
        Self(operations.iter().fold(0, |bits, operation| bits | operation.bit()))
    }

    /// From bits, if there is an operation for each.
    pub fn of_bits(bits: u64) -> Option<Self> {
        u8::try_from(bits).ok().filter(|bits| bits & !Self::ALL.0 == 0).map(Self)
    }

    /// Their bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From words like `read,list`, or `all`.
    ///
    /// # Errors
    /// The first unknown word.
    pub fn of_words(text: &str) -> Result<Self, &str> {
        let one = |word| match Operation::of_name(word) {
            Some(operation) => Ok(Self(operation.bit())),
            None if word == "all" => Ok(Self::ALL),
            None => Err(word),
        };
        text.split(',').map(one).try_fold(Self::NONE, |all, one| Ok(all.or(one?)))
    }

    /// Whether this one is among them.
    pub const fn has(self, operation: Operation) -> bool {
        self.0 & operation.bit() != 0
    }

    /// The union of both.
    pub const fn or(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The intersection of both.
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Whether the others have all of these.
    pub const fn is_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| self.has(*operation))
    }
}

impl fmt::Display for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => f.write_str("all"),
            Self::NONE => f.write_str("nothing"),
            some => f.write_str(&some.each().map(Operation::name).collect::<Vec<_>>().join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bits_are_the_same_sets() {
        for bits in 1..=0x7f {
            let some = Operations::of_bits(bits).unwrap();
            assert_eq!(Operations::of_words(&some.to_string()), Ok(some));
            assert_eq!(u64::from(some.each().fold(0, |all, one| all | one.bit())), bits);
        }
        assert_eq!((Operations::of_bits(0x80), Operations::of_bits(256)), (None, None));
        assert_eq!(Operations::of_words("read,,list"), Err(""));
        assert_eq!(Operations::of_words("read,Write"), Err("Write"));
    }
}
