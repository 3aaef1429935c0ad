//! Digests of what launches' pointers lead to, on the stand-in for the driver: as the host has them, wherever
//! memory lies.

use std::sync::MutexGuard;

use prlx_driver::cuda::Library;
use prlx_driver::cuda::pointee_digest::{DigestStart, Digests, PTX, ParamsAndPlaces, PendingDigest};
use prlx_driver::digest::{joined, memory};
use prlx_driver::queue::Stream;
use prlx_trace::launch::Pointee;

use crate::turn;

/// A program with one context.
struct App {
    library: Library,
    digests: Digests,
    stream: Stream,
    _turn: MutexGuard<'static, ()>,
}

impl App {
    fn start(most: u64) -> App {
        let turn = turn::take();
        let library = Library::open().unwrap();
        let context = library.retain_primary_context(library.device(0).unwrap()).unwrap();
        library.set_current_context(context).unwrap();
        let digests = Digests::new(library, context, 0, PTX.as_bytes(), most).unwrap();
        App { library, digests, stream: library.create_stream().unwrap(), _turn: turn }
    }
    /// Memory with these bytes.
    fn holding(&self, bytes: &[u8]) -> u64 {
        let at = self.library.alloc(bytes.len()).unwrap();
        self.library.write(at, bytes).unwrap();
        at
    }
    fn begin(&self, params: &[u64]) -> PendingDigest {
        let bytes: Vec<u8> = params.iter().flat_map(|p| p.to_le_bytes()).collect();
        match self.digests.before(self.stream, &bytes, &[(0, bytes.len())]) {
            DigestStart::Started(begun) => *begun,
            DigestStart::NoPointers => panic!("nothing"),
            DigestStart::Full => panic!("full"),
            DigestStart::Refused(why) => panic!("{why}"),
        }
    }
    /// Digests a launch that does `work`.
    fn around(&self, params: &[u64], work: impl FnOnce()) -> Vec<Pointee> {
        let mut begun = self.begin(params);
        // The mock does the work of a stream when somebody waits for it.
        self.library.synchronize().unwrap();
        work();
        self.digests.after(&mut begun, self.stream);
        self.library.synchronize().unwrap();
        assert!(self.digests.done(&begun));
        self.digests.take(begun).remove(0)
    }
}

impl Drop for App {
    /// Releases the context, and with it everything that the test allocated, for the tests after it.
    fn drop(&mut self) {
        self.library.release_primary_context(self.library.device(0).unwrap()).unwrap();
    }
}

fn bytes(n: usize) -> Vec<u8> {
    (0..n as u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect()
}

#[test]
fn the_device_digests_as_the_host() {
    let app = App::start(1 << 30);
    let whole = bytes(200_000);
    // The end of an allocation is the end of what is read.
    let at = app.holding(&whole);
    for from in [0, 1, 4, 8, 12, 16, 100_008, 199_960, 199_975, 199_976, 199_983, 199_984, 199_992, 199_999] {
        let found = app.around(&[at + from], || ());
        let rest = &whole[from as usize..];
        let (bytes, digest) = (rest.len() as u64, Some(memory(rest)));
        let want = Pointee { offset: 0, bytes, digested: bytes, before: digest, after: digest };
        assert_eq!(found, [want], "from {from}");
    }
}

#[test]
fn what_a_launch_changes_is_seen() {
    let app = App::start(1 << 30);
    let (a, b) = (app.holding(&bytes(4096)), app.holding(&bytes(100)));
    // Two pointers into one allocation share it; one to the same place has the same; numbers and addresses of
    // nothing are no pointers.
    let found =
        app.around(&[a + 1000, 7, a, b, 0x1234_5678_9abc, a], || app.library.write(a + 999, &[77]).unwrap());
    let mut changed = bytes(4096);
    changed[999] = 77;
    let want = |offset, from: usize, to: usize| Pointee {
        offset,
        bytes: (to - from) as u64,
        digested: (to - from) as u64,
        before: Some(memory(&bytes(4096)[from..to])),
        after: Some(memory(&changed[from..to])),
    };
    let other = Some(memory(&bytes(100)));
    let other = Pointee { offset: 24, bytes: 100, digested: 100, before: other, after: other };
    assert_eq!(found, [want(0, 1000, 4096), want(16, 0, 1000), other, want(40, 0, 1000)]);
    assert_ne!(found[1].before, found[1].after);
}

#[test]
fn only_so_much_is_digested() {
    let app = App::start(1000);
    let (a, b) = (app.holding(&bytes(5000)), app.holding(&bytes(300)));
    let found = app.around(&[a, b], || ());
    let digested = |n: usize| Some(memory(&bytes(5000)[..n]));
    assert_eq!(
        [(found[0].bytes, found[0].digested), (found[1].bytes, found[1].digested)],
        [(5000, 700), (300, 300)]
    );
    assert_eq!([found[0].after, found[1].after], [digested(700), digested(300)]);
    // More pointers than one launch takes.
    let many: Vec<u64> = (0..600).map(|i| a + i * 8).collect();
    let found = app.around(&many, || ());
    assert_eq!(found.iter().filter(|p| p.before.is_some() && p.after.is_some()).count(), 512);
    assert!(found[512..].iter().all(|p| (p.bytes > 0, p.digested, p.before) == (true, 0, None)));
}

#[test]
fn many_pointers_are_digested_by_several_kernels() {
    let app = App::start(1 << 30);
    let mut whole = bytes(4096);
    let at = app.holding(&whole);
    let many: Vec<u64> = (0..70).map(|i| at + i * 40).collect();
    let found = app.around(&many, || app.library.write(at + 66 * 40 + 3, &[77]).unwrap());
    let digest = |whole: &[u8], i: usize| {
        Some(memory(&whole[i * 40..if i == 69 { whole.len() } else { (i + 1) * 40 }]))
    };
    let before: Vec<_> = (0..70).map(|i| digest(&whole, i)).collect();
    whole[66 * 40 + 3] = 77;
    let after: Vec<_> = (0..70).map(|i| digest(&whole, i)).collect();
    assert_eq!(found.iter().map(|p| p.before).collect::<Vec<_>>(), before);
    assert_eq!(found.iter().map(|p| p.after).collect::<Vec<_>>(), after);
}

#[test]
fn several_launches_share_a_digest() {
    let app = App::start(4096);
    let whole = bytes(4096);
    let (at, other) = (app.holding(&whole), app.holding(&bytes(40_000)));
    let launches = [vec![at + 1000, 7], vec![], vec![at, at + 3000], vec![at + 1000], vec![other]];
    let params: Vec<Vec<u8>> =
        launches.iter().map(|l| l.iter().flat_map(|p: &u64| p.to_le_bytes()).collect()).collect();
    let places: Vec<[(usize, usize); 1]> = params.iter().map(|bytes| [(0, bytes.len())]).collect();
    let several: Vec<ParamsAndPlaces<'_>> =
        params.iter().zip(&places).map(|(bytes, places)| (&bytes[..], &places[..])).collect();
    let digest = || {
        let DigestStart::Started(begun) = app.digests.after_several(app.stream, &several) else {
            panic!("not started")
        };
        app.library.synchronize().unwrap();
        app.digests.take(*begun)
    };
    let found = digest();
    let part = |from: usize, to: usize| memory(&whole[from..to]);
    let [begin, middle, end] = [part(0, 1000), part(1000, 3000), part(3000, 4096)];
    let want = |offset, bytes, parts: &[u64]| Pointee {
        offset,
        bytes,
        digested: bytes,
        before: None,
        after: parts.iter().copied().reduce(joined),
    };
    let to_end = want(0, 3096, &[middle, end]);
    let both = vec![want(0, 3000, &[begin, middle]), want(8, 1096, &[end])];
    assert_eq!(found[..4], [vec![to_end], vec![], both, vec![to_end]]);
    // All of them share what five launches may read.
    let cut = found[4][0];
    assert_eq!((cut.bytes, cut.digested), (40_000, 5 * 4096 - 4096));
    assert_eq!(cut.after, Some(memory(&bytes(40_000)[..4 * 4096])));
    // What changes is seen by all that lead there.
    app.library.write(at + 2999, &[whole[2999] ^ 1]).unwrap();
    let now = digest();
    let changed: Vec<Vec<bool>> = now
        .iter()
        .zip(&found)
        .map(|(now, then)| now.iter().zip(then).map(|(p, q)| p.after != q.after).collect())
        .collect();
    assert_eq!(changed, [vec![true], vec![], vec![true, false], vec![true], vec![false]]);
    // Freed memory is not read.
    app.library.free(other).unwrap();
    assert_eq!(digest()[4], []);
}

#[test]
fn words_across_parameters_are_no_pointers() {
    let app = App::start(1000);
    let at = app.holding(&bytes(8)).to_le_bytes();
    let none = |places: &[(usize, usize)]| {
        matches!(app.digests.before(app.stream, &at, places), DigestStart::NoPointers)
    };
    assert!(none(&[(0, 4), (4, 4)]) && none(&[]));
    assert!(!none(&[(0, 8)]));
    // Freed memory belongs to no allocation.
    app.library.synchronize().unwrap();
    app.library.free(u64::from_le_bytes(at)).unwrap();
    assert!(none(&[(0, 8)]));
}

#[test]
fn there_is_an_end_to_room_and_it_comes_back() {
    let app = App::start(1000);
    let at = app.holding(&bytes(64));
    let mut all: Vec<PendingDigest> = (0..1024).map(|_| app.begin(&[at])).collect();
    let full = || app.digests.before(app.stream, &at.to_le_bytes(), &[(0, 8)]);
    assert!(matches!(full(), DigestStart::Full));
    for begun in &mut all {
        app.digests.after(begun, app.stream);
    }
    app.library.synchronize().unwrap();
    for begun in all {
        assert!(app.digests.done(&begun));
        assert_eq!(app.digests.take(begun)[0][0].after, Some(memory(&bytes(64))));
    }
    drop(app.around(&[at], || ()));
}
