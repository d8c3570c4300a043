//! Enums whose variants have names: counters, gaps, refusals, words of a language.
//!
//! Measured side, pure. A name stands once, beside its variant.

/// An enum without fields, as [`named!`](crate::named!) makes it.
pub trait Named: Copy + 'static {
    /// All variants, in their order.
    const ALL: &'static [Self];

    /// The place in that order, from 0.
    fn place(self) -> usize;

    /// The name.
    fn name(self) -> &'static str;

    /// The variant of this name.
    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }
}

/// An enum without fields: each variant with its name behind it.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $see:vis enum $Enum:ident { $($(#[$of:meta])* $variant:ident $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $see enum $Enum { $($(#[$of])* $variant,)+ }

        impl $Enum {
            /// All of them, in their order.
            $see const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name.
            $see const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl $crate::named::Named for $Enum {
            const ALL: &'static [Self] = &Self::ALL;

            fn place(self) -> usize {
                self as usize
            }

            fn name(self) -> &'static str {
                self.name()
            }
        }
    };
}

/// An enum of errors: each variant with its name and its sentence behind it. One that only hands on another's
/// error stands before them.
#[macro_export]
macro_rules! refusals {
    (
        $(#[$about:meta])* $see:vis enum $Enum:ident {
            $($(#[$of:meta])+ $inner:ident($other:ty),)?
            $($variant:ident $(($($field:ty),+))? $({$($fields:tt)+})? $name:literal $sentence:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, thiserror::Error)]
        #[allow(missing_docs, reason = "the sentence says what a field is")]
        $see enum $Enum {
            $(
                $(#[$of])+
                #[error(transparent)]
                $inner(#[from] $other),
            )?
            $(
                #[doc = $sentence]
                #[error($sentence)]
                $variant $(($($field),+))? $({$($fields)+})?,
            )+
        }

        impl $Enum {
            /// The name under which it is counted.
            $see const fn name(&self) -> &'static str {
                match self {
                    $(Self::$inner(other) => other.name(),)?
                    $(Self::$variant { .. } => $name,)+
                }
            }
        }
    };
}
