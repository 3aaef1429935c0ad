//! A map that keeps the entry which was used last apart: a warp runs many steps before the next one does.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// A map with an entry that is found without a look-up.
#[derive(Debug)]
pub struct Recent<K, V> {
    last: Option<(K, Box<V>)>,
    others: FxHashMap<K, Box<V>>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent { last: None, others: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash, V> Recent<K, V> {
    /// Takes an entry out.
    pub fn take(&mut self, key: K) -> Option<Box<V>> {
        match self.last.take_if(|last| last.0 == key) {
            Some((_, value)) => Some(value),
            None => self.others.remove(&key),
        }
    }
    /// Puts an entry in, of a key that has none or is the one that was used last. It is that one then.
    pub fn put(&mut self, key: K, value: Box<V>) {
        if let Some((other, before)) = self.last.replace((key, value))
            && other != key
        {
            self.others.insert(other, before);
        }
    }
    /// An entry, which may be new. It is the one that was used last.
    pub fn use_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        if self.last.as_ref().is_none_or(|last| last.0 != key) {
            let value = self.take(key).unwrap_or_default();
            self.put(key, value);
        }
        // It was put in above, if it was not there.
        let (_, value) = self.last.get_or_insert_with(|| (key, Box::default()));
        value
    }
    /// The entry of a key, wherever it is; which one was used last stays as it is.
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        match &mut self.last {
            Some((last, value)) if *last == key => Some(value),
            _ => self.others.get_mut(&key).map(|value| &mut **value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_wherever_they_are() {
        let mut map: Recent<u32, Vec<u32>> = Recent::default();
        map.put(1, Box::new(vec![1]));
        map.put(2, Box::new(vec![2]));
        map.get_mut(1).unwrap().push(3);
        assert_eq!(map.get_mut(2).map(|value| value.len()), Some(1));
        assert_eq!((map.take(2), map.take(2)), (Some(Box::new(vec![2])), None));
        map.put(2, Box::new(vec![4]));
        map.put(2, Box::new(vec![5]));
        map.use_or_default(1).push(6);
        assert!(map.use_or_default(4).is_empty());
        let all = [1, 2, 3, 4].map(|key| map.take(key).map(|value| *value));
        assert_eq!(all, [Some(vec![1, 3, 6]), Some(vec![5]), None, Some(Vec::new())]);
    }
}
