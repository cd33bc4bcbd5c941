//! What was used lately, within a bound of bytes.

use std::{collections::HashMap, hash::Hash};

use crate::metrics::metrics;

/// Values by key; when they pass the bound, those not used for longest go first.
#[derive(Debug)]
pub struct Cache<K, V> {
    name: &'static str,
    entries: HashMap<K, Entry<V>>,
    max_bytes: usize,
    // INVARIANT: the sum of the entries' `bytes`, at most `max_bytes`.
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// An empty cache for at most `max_bytes`, whose look-ups are counted under `name`.
    #[must_use]
    pub fn new(name: &'static str, max_bytes: usize) -> Self {
        Self {
            name,
            entries: HashMap::new(),
            max_bytes,
            bytes: 0,
            uses: 0,
        }
    }

    /// The value kept under `key`.
    pub fn get(&mut self, key: &K) -> Option<V> {
        self.uses += 1;
        let entry = self.entries.get_mut(key);
        metrics().looked_up(self.name, entry.is_some());
        let entry = entry?;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    /// Keeps `value`, which takes `bytes`; one larger than the whole bound is not kept.
    pub fn put(&mut self, key: K, value: V, bytes: usize) {
        if bytes > self.max_bytes {
            return;
        }
        self.remove(&key);
        while self.bytes + bytes > self.max_bytes {
            // A scan: with a few hundred entries of megabytes each, order costs more than it saves.
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.remove(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        let used = self.uses;
        self.entries.insert(key, Entry { value, bytes, used });
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_unused_for_longest_goes_first() {
        let mut cache = Cache::new("test", 10);
        cache.put("a", 1, 5);
        cache.put("b", 2, 5);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("c", 3, 5);
        assert_eq!(cache.get(&"b"), None);
        assert_eq!((cache.get(&"a"), cache.get(&"c")), (Some(1), Some(3)));
    }

    #[test]
    fn what_is_larger_than_the_bound_is_not_kept() {
        let mut cache = Cache::new("test", 10);
        cache.put("a", 1, 4);
        cache.put("b", 2, 11);
        assert_eq!((cache.get(&"a"), cache.get(&"b")), (Some(1), None));
    }

    #[test]
    fn a_key_put_again_counts_once() {
        let mut cache = Cache::new("test", 10);
        cache.put("a", 1, 6);
        cache.put("a", 2, 6);
        cache.put("b", 3, 4);
        assert_eq!((cache.get(&"a"), cache.get(&"b")), (Some(2), Some(3)));
    }
}
