//! Words of a run: the letters between the numbers of paths and ids, and letters for other names of the run.
//!
//! Drawn from a number that both ends know, so that no cache tells a run by them. Cold; what is made is hot.

use crate::SplitMix64;

/// Purposes of the random letters. Changing one changes the names of each run.
const OBJECTS: u64 = 0x0B1E;
const MESSAGES: u64 = 0x3E55;
/// Letters of a word in a path: enough that no other path has them by chance.
const LETTERS: usize = 4;

/// The words of names of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// Before each number of a path.
    pub(super) path: [String; 4],
    /// Before each number of an id.
    pub(super) id: [String; 4],
}

impl Words {
    /// Those of a run without a number.
    pub(super) fn plain() -> Self {
        Self {
            path: ["/w", "/s", "/t", "/_"].map(str::to_owned),
            id: ["w", ".s", ".t", ".n"].map(str::to_owned),
        }
    }

    /// Those of the run with this number.
    pub(super) fn drawn(number: u64) -> Self {
        let mut random = SplitMix64::for_purpose(number, OBJECTS);
        let words = [(); 4].map(|()| word(&mut random, LETTERS));
        let [first, rest @ ..] = &words;
        let [second, third, fourth] = rest.clone().map(|word| format!(".{word}"));
        Self { id: [first.clone(), second, third, fourth], path: words.map(|word| format!("/{word}")) }
    }
}

/// Draws words for the messages of the run with this number, each of so many letters.
pub(super) fn of_messages(number: u64) -> impl FnMut(usize) -> String {
    let mut random = SplitMix64::for_purpose(number, MESSAGES);
    move |letters| word(&mut random, letters)
}

fn word(random: &mut SplitMix64, letters: usize) -> String {
    (0..letters).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}
