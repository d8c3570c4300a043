//! A driver's connections by slot, with the tokens that tell late events from current ones.

use super::Slot;

/// Tokens leave the two highest bits to the driver.
const GENERATIONS: u32 = (1 << 30) - 1;

/// Connections by slot.
#[derive(Debug)]
pub(super) struct Links<L> {
    places: Vec<LinkEntry<L>>,
}

#[derive(Debug)]
struct LinkEntry<L> {
    generation: u32,
    link: Option<L>,
}

impl<L> Default for Links<L> {
    fn default() -> Self {
        Self { places: Vec::new() }
    }
}

impl<L> Links<L> {
    /// The connection in a slot, and its token.
    pub(super) fn get(&mut self, slot: Slot) -> Option<(u64, &mut L)> {
        let place = self.places.get_mut(slot as usize)?;
        Some((token(place.generation, slot), place.link.as_mut()?))
    }

    /// The connection with this token, unless it is closed already.
    pub(super) fn by_token(&mut self, wanted: u64) -> Option<(Slot, &mut L)> {
        let slot = wanted as u32;
        let (token, link) = self.get(slot)?;
        (token == wanted).then_some((slot, link))
    }

    /// Puts a connection into a slot, which gives it a token that none of the last billion there had.
    pub(super) fn put(&mut self, slot: Slot, link: L) -> (u64, &mut L) {
        let index = slot as usize;
        if index >= self.places.len() {
            self.places.resize_with(index + 1, || LinkEntry { generation: 0, link: None });
        }
        let place = &mut self.places[index];
        place.generation = (place.generation + 1) & GENERATIONS;
        (token(place.generation, slot), place.link.insert(link))
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<L> {
        self.places.get_mut(slot as usize)?.link.take()
    }
}

fn token(generation: u32, slot: Slot) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_finds_its_own_connection_only() {
        let mut links = Links::default();
        let (old, _) = links.put(5, "old");
        assert_eq!(links.by_token(old), Some((5, &mut "old")));
        assert_eq!(links.remove(5), Some("old"));
        assert_eq!(links.by_token(old), None);
        assert_eq!(links.remove(5), None);
        let (new, _) = links.put(5, "new");
        assert_eq!(links.by_token(old), None);
        assert_eq!(links.by_token(new), Some((5, &mut "new")));
        assert!(new >> 62 == 0);
    }
}
